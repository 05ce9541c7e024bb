import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StopReport } from '#contracts/guest';
import { powerShellArgv, type Printed } from './windows.ts';
import { endAccountScript, lookAtAccountScript, parseAccountLook } from './windows-account.ts';

/** Runs a script on Windows as whoever runs this. Never throws: what could not be started has printed nothing. */
type RunPowerShell = (script: string) => Promise<Printed>;

interface EndAccountOptions {
  /** What survives until then is the agent's doing, if enough rounds have met it. */
  readonly limitSeconds: number;
  /** No round begins after so long, whatever is known by then. */
  readonly mostSeconds: number;
  readonly pauseSeconds: number;
  readonly run: RunPowerShell;
}

/** Looks in a row that must find nothing: something may be born behind the first one's back. */
const QUIET_LOOKS = 2;
/** Rounds of ending that something must outlive before it is said to survive: on a slow machine the first may still be at work. */
const FAIR_ROUNDS = 3;
const NAMED_SURVIVORS = 20;
/** One script; a whole machine is listed in a few seconds. */
const SCRIPT_SECONDS = 20;
const OUTPUT_LIMIT_CHARACTERS = 4 * 1024 * 1024;

const DEFAULTS: EndAccountOptions = { limitSeconds: 45, mostSeconds: 70, pauseSeconds: 0.5, run: runPowerShell };
/** With the scripts of a last round. */
export const LONGEST_END_SECONDS = DEFAULTS.mostSeconds + 2 * SCRIPT_SECONDS;

type Look = { readonly left: readonly string[] } | { readonly failure: string };

interface Known {
  /** Looks in a row, up to now, that saw nothing. */
  readonly quiet: number;
  /** Looks in all that saw something. */
  readonly met: number;
  /** What the last look saw that did not fail. */
  readonly left: readonly string[];
  readonly failure: string | null;
}

/**
 * Ends all of a local account of Windows, again and again until two looks in a row see nothing of it: no process, no scheduled
 * task, and no way to log on. To be run as SYSTEM, whose looks nobody below an administrator can deceive. Where nobody could
 * look, or the machine was too slow to look often enough, the report is unsure.
 */
export async function endAccount(account: string, options: Partial<EndAccountOptions> = {}): Promise<StopReport> {
  const { limitSeconds, mostSeconds, pauseSeconds, run } = { ...DEFAULTS, ...options };
  const begunAt = Date.now();
  let known: Known = { quiet: 0, met: 0, left: [], failure: null };
  for (;;) {
    await run(endAccountScript(account));
    known = after(known, await lookAt(account, run));
    if (known.quiet >= QUIET_LOOKS) return { confirmedDead: true, survivors: 0 };
    const elapsedSeconds = (Date.now() - begunAt) / 1000;
    const survives = known.left.length > 0 && known.met >= FAIR_ROUNDS;
    if (survives && elapsedSeconds >= limitSeconds) return reportOf(known);
    if (elapsedSeconds >= mostSeconds)
      return survives ? reportOf(known) : { ...reportOf(known), unsure: doubtOf(known) };
    await sleep(pauseSeconds * 1000);
  }
}

function after({ quiet, met, left }: Known, look: Look): Known {
  if ('failure' in look) return { quiet: 0, met, left, failure: look.failure };
  const isQuiet = look.left.length === 0;
  return { quiet: isQuiet ? quiet + 1 : 0, met: isQuiet ? met : met + 1, left: look.left, failure: null };
}

function reportOf({ left }: Known): StopReport {
  return { confirmedDead: false, survivors: left.length, left: left.slice(0, NAMED_SURVIVORS) };
}

function doubtOf({ failure, met }: Known): string {
  if (failure !== null) return `the last look failed: ${failure}`;
  return `the time was over after ${String(met)} looks that saw something, and no ${String(QUIET_LOOKS)} in a row that did not`;
}

async function lookAt(account: string, run: RunPowerShell): Promise<Look> {
  try {
    return { left: parseAccountLook(await run(lookAtAccountScript(account))) };
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

async function runPowerShell(script: string): Promise<Printed> {
  const [program = '', ...args] = powerShellArgv();
  const child = spawn(program, args, { stdio: 'pipe', windowsHide: true, timeout: SCRIPT_SECONDS * 1000 });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      if (printed[name].length < OUTPUT_LIMIT_CHARACTERS) printed[name] += text;
    });
  child.stdin.on('error', () => undefined).end(script);
  const status = await new Promise<number | null>((resolve) => {
    child.once('error', () => resolve(null));
    child.once('close', (code) => resolve(code));
  });
  return { status, ...printed };
}
