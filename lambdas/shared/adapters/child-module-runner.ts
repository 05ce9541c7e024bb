import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { Duplex, type Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { ModuleCall, ModuleReport, ModuleRunner, ServiceStart, SessionCalls } from '#ports/module-runner';
import {
  CHILD_ENVIRONMENT,
  childCommand,
  killTree,
  makeChildFolder,
  probeIsolation,
  removeChildFolder,
  type ChildFolder,
  type ChildIsolation,
} from './child-launch.ts';
import { CappedOutput } from './child-output.ts';
import { RequestDesk } from './child-requests.ts';
import { endOf, unavailable, type Exit } from './child-report.ts';
import { Conversation, type Verdict } from './child-conversation.ts';

export interface ChildModuleRunnerOptions {
  /** `child-entry.ts`, bundled into one self-contained `.mjs`. */
  readonly childEntry: string;
  /** The Node to run; default the host's own. */
  readonly node?: { readonly path: string; readonly version: string };
  /** Default: the strongest that works here. */
  readonly isolation?: ChildIsolation;
}

/** A module runner over child processes; `isolation` says how far its children are walled off on this host. */
export interface ChildModuleRunner extends ModuleRunner {
  isolation(): Promise<ChildIsolation>;
}

const DEFAULT_RESULT_LIMIT_KIB = 1024;
/** After a verdict a child gets this long to end by itself, so that its last output is kept. */
const GRACE_MILLISECONDS = 1000;

/** Node answers this signal with a debugger on loopback; a child of the same user could ask for it and read its host's memory. */
const DEBUGGER_SIGNAL = 'SIGUSR1';
const ignoreDebugger = (): void => undefined;

/** Runs published modules in child processes, one per call. From the first on, this process opens no debugger when signalled. */
export function createChildModuleRunner(options: ChildModuleRunnerOptions): ChildModuleRunner {
  const node = options.node ?? { path: process.execPath, version: process.versions.node };
  let probed: Promise<ChildIsolation> | undefined;
  const isolation = (): Promise<ChildIsolation> => {
    probed ??=
      options.isolation === undefined ? probeIsolation(node.path, node.version) : Promise.resolve(options.isolation);
    return probed;
  };
  return {
    isolation,
    run: async (call, session, startService) => {
      const startedAt = performance.now();
      let folder: ChildFolder | undefined;
      if (!process.listeners(DEBUGGER_SIGNAL).includes(ignoreDebugger)) process.on(DEBUGGER_SIGNAL, ignoreDebugger);
      try {
        folder = await makeChildFolder(options.childEntry, call.modulePath);
        const { command, args } = childCommand({
          isolation: await isolation(),
          node: node.path,
          nodeVersion: node.version,
          folder: folder.root + (process.platform === 'win32' ? '\\' : '/'),
          memoryMiB: call.limits.memoryMiB,
          timeoutSeconds: call.limits.timeoutSeconds,
          script: [folder.entry],
        });
        const child = spawn(command, args, {
          cwd: folder.workFolder,
          env: CHILD_ENVIRONMENT,
          detached: true,
          windowsHide: true,
          stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
        });
        const module = pathToFileURL(folder.module).href;
        return await attend(child, { call, session, startService, module, startedAt });
      } catch (error) {
        return unavailable(error, secondsSince(startedAt));
      } finally {
        if (folder !== undefined) await removeChildFolder(folder);
      }
    },
  };
}

interface Attendance {
  readonly call: ModuleCall;
  readonly session: SessionCalls | undefined;
  readonly startService: ServiceStart | undefined;
  readonly module: string;
  readonly startedAt: number;
}

async function attend(child: ChildProcess, attendance: Attendance): Promise<ModuleReport> {
  const { call, session, startService, module, startedAt } = attendance;
  const { stdout, stderr, pipe } = streamsOf(child);
  const limitBytes = call.limits.outputLimitKiB * 1024;
  const outputs = { stdout: new CappedOutput(stdout, limitBytes), stderr: new CappedOutput(stderr, limitBytes) };
  const desk = new RequestDesk(call.folders, session, startService);
  const nonce = randomBytes(32).toString('hex');
  const conversation = new Conversation(pipe, desk, {
    nonce,
    resultLimitBytes: (call.limits.resultLimitKiB ?? DEFAULT_RESULT_LIMIT_KIB) * 1024,
  });
  const exited = exitOf(child, () => conversation.stopServing());
  conversation.start({
    module,
    phase: call.phase,
    input: call.input,
    folders: Object.keys(call.folders),
    hasSession: session !== undefined,
    hasServices: startService !== undefined,
  });
  let hasTimedOut = false;
  const wall = setTimeout(() => {
    hasTimedOut = true;
    killChild(child);
  }, call.limits.timeoutSeconds * 1000);
  const verdict = await Promise.race([conversation.verdict, exited.then(() => conversation.settled())]);
  const exit = await endChild(child, exited, verdict);
  clearTimeout(wall);
  return {
    ...endOf({
      verdict,
      exit,
      hasTimedOut,
      timeoutSeconds: call.limits.timeoutSeconds,
      memoryMiB: call.limits.memoryMiB,
      stderrTail: outputs.stderr.tail(),
    }),
    hostFault: desk.fault,
    stdout: outputs.stdout.text(),
    stderr: outputs.stderr.text(),
    stdoutBytes: outputs.stdout.bytes,
    stderrBytes: outputs.stderr.bytes,
    durationSeconds: secondsSince(startedAt),
  };
}

/** Waits for the end of a child that has answered, then ends whatever is left of its tree. */
async function endChild(child: ChildProcess, exited: Promise<Exit>, verdict: Verdict): Promise<Exit> {
  const grace = setTimeout(() => killChild(child), verdict.kind === 'broken' ? 0 : GRACE_MILLISECONDS);
  const exit = await exited;
  clearTimeout(grace);
  return exit;
}

function streamsOf(child: ChildProcess): {
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly pipe: Duplex;
} {
  const { stdout, stderr } = child;
  const pipe = child.stdio[3];
  if (stdout === null || stderr === null || !(pipe instanceof Duplex)) {
    throw new Error('the child was started without its streams');
  }
  return { stdout, stderr, pipe };
}

/** Resolves when the child has ended and its output is drained; its group is killed as soon as it has ended. */
function exitOf(child: ChildProcess, onExit: () => void): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, spawnError: error.message }));
    child.once('exit', () => {
      killChild(child);
      onExit();
    });
    child.once('close', (code, signal) => resolve({ code, signal, spawnError: null }));
  });
}

function killChild(child: ChildProcess): void {
  if (child.pid !== undefined) killTree(child.pid);
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000;
}
