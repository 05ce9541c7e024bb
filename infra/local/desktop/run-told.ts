import { spawn } from 'node:child_process';

/** Something the person at the keyboard can put right; the message says how. */
export class SetUpError extends Error {
  override readonly name = 'SetUpError';
}

const TAIL_CHARACTERS = 3000;

/**
 * Runs a program quietly; when it fails, the end of what it printed is the message.
 * @throws SetUpError.
 */
export async function runTold(
  program: string,
  args: readonly string[],
  options: { readonly timeoutSeconds: number; readonly env?: NodeJS.ProcessEnv },
): Promise<void> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    signal: AbortSignal.timeout(options.timeoutSeconds * 1000),
    killSignal: 'SIGKILL',
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (printed = (printed + text).slice(-TAIL_CHARACTERS)));
  }
  const trouble = await new Promise<string | null>((resolve) => {
    child.once('error', (error) =>
      resolve(error.name === 'AbortError' ? `took longer than ${options.timeoutSeconds} s` : error.message),
    );
    child.once('close', (code, signal) =>
      resolve(code === 0 ? null : `ended with ${signal ?? `exit code ${String(code)}`}`),
    );
  });
  if (trouble === null) return;
  const said = printed.trim() === '' ? '' : `; it said:\n${printed.trim()}`;
  throw new SetUpError(`${[program, ...args].join(' ')} ${trouble}${said}`);
}
