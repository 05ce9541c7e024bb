import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const REPOSITORY = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const MAIN = path.join(REPOSITORY, 'infra/cli/main.ts');
const TSX = pathToFileURL(path.join(REPOSITORY, 'node_modules/tsx/dist/loader.mjs')).href;

/** How a process of the command line ended. */
export interface CliEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CliOptions {
  readonly cwd?: string;
  /** A file to start instead of `main.ts`; JavaScript without the loader. */
  readonly main?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The Node to run it with; default this one. */
  readonly node?: string;
  /** A command that runs it somewhere else, such as in another network. */
  readonly within?: readonly string[];
  /** The process is killed after this; default 120. */
  readonly timeoutSeconds?: number;
}

export interface RunningCli {
  readonly pid: number;
  readonly ended: Promise<CliEnd>;
  /** Kills it, and nothing it has started. */
  kill(): void;
  /** Resolves when the text has appeared on standard error; rejects when the process ends before. */
  printed(text: string): Promise<void>;
  /** The first line on standard output; rejects when the process ends before. */
  firstLine(): Promise<string>;
}

const running = new Set<RunningCli>();

/** Starts `examhall <args>` as a process of its own, with an environment of only what a shell gives. */
export function startExamhall(args: readonly string[], options: CliOptions = {}): RunningCli {
  const main = options.main ?? MAIN;
  const start = main.endsWith('.ts') ? ['--import', TSX, main] : [main];
  const [program = '', ...rest] = [...(options.within ?? []), options.node ?? process.execPath, ...start, ...args];
  const child = spawn(program, rest, {
    cwd: options.cwd ?? REPOSITORY,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '/', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text.stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (text.stderr += chunk));
  const kill = (): void => void child.kill('SIGKILL');
  const timer = setTimeout(kill, (options.timeoutSeconds ?? 120) * 1000);
  const ended = new Promise<CliEnd>((resolve) => {
    child.once('close', (code) => {
      clearTimeout(timer);
      running.delete(started);
      resolve({ code, ...text });
    });
  });
  const printed = (wanted: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (text.stderr.includes(wanted)) resolve();
      };
      child.stderr.on('data', look);
      child.once('close', () =>
        reject(new Error(`it ended without printing ${JSON.stringify(wanted)}: ${text.stderr}`)),
      );
      look();
    });
  const firstLine = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const end = text.stdout.indexOf('\n');
        if (end >= 0) resolve(text.stdout.slice(0, end));
      };
      child.stdout.on('data', look);
      child.once('close', () => reject(new Error(`it ended without a line: ${text.stderr}`)));
      look();
    });
  const started: RunningCli = { pid: child.pid ?? -1, ended, kill, printed, firstLine };
  running.add(started);
  return started;
}

/** Runs `examhall <args>` to its end. */
export async function examhall(args: readonly string[], options?: CliOptions): Promise<CliEnd> {
  return await startExamhall(args, options).ended;
}

/** For `afterAll`: ends what a failed test has left running, each by its pid. */
export async function endAllCli(): Promise<void> {
  const left = [...running];
  for (const each of left) each.kill();
  await Promise.all(left.map(({ ended }) => ended));
}
