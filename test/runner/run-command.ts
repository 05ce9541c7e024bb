import { spawn } from 'node:child_process';

export interface CommandResult {
  exitCode: number | null;
  output: string;
  seconds: number;
  hasTimedOut: boolean;
}

const running = new Set<number>();

function killGroup(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Ends every command that still runs, with all it started. */
export function stopAll(): void {
  for (const pid of running) killGroup(pid);
}

/** Runs Node with `args` in its own process group; after it ends, or its time is up, nothing of the group is left. */
export async function runNode(
  args: readonly string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; timeoutSeconds: number },
): Promise<CommandResult> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, {
    cwd: options.cwd,
    env: options.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { pid } = child;
  if (pid !== undefined) running.add(pid);
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    if (pid !== undefined) killGroup(pid);
  }, options.timeoutSeconds * 1000);
  const exitCode = await new Promise<number | null>((resolve) => {
    child.on('error', (error) => {
      chunks.push(Buffer.from(`${error.message}\n`));
      resolve(null);
    });
    child.on('exit', (code) => {
      if (pid !== undefined) killGroup(pid);
      child.on('close', () => resolve(code));
    });
  });
  clearTimeout(timer);
  if (pid !== undefined) running.delete(pid);
  const output = Buffer.concat(chunks).toString('utf8');
  return { exitCode, output, seconds: (performance.now() - startedAt) / 1000, hasTimedOut };
}
