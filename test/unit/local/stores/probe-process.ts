import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PROBE = fileURLToPath(new URL('./probe.ts', import.meta.url));
const NODE = [process.execPath, '--import', 'tsx', PROBE];

/** Runs an endless action, kills it with SIGKILL after so many lines and a little more, and gives the last line. */
export async function killWhileRunning(
  action: string,
  folder: string,
  lines: number,
  extraMs: number,
): Promise<string> {
  const [command = '', ...args] = NODE;
  const child = spawn(command, [...args, action, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let [last, seen] = ['', 0];
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    seen += 1;
    if (seen === lines) setTimeout(() => child.kill('SIGKILL'), extraMs);
  }
  const [, signal] = (await exited) as [number | null, string | null];
  if (signal !== 'SIGKILL') throw new Error(`the probe ended by itself after ${seen} lines`);
  return last;
}

/** Starts an action, waits for its first line, and gives a wait for its end. */
export async function startProbe(action: string, folder: string): Promise<() => Promise<void>> {
  const [command = '', ...args] = NODE;
  const child = spawn(command, [...args, action, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await once(createInterface({ input: child.stdout }), 'line');
  return async () => {
    await exited;
  };
}

/** Runs an action of a probe to its end under a mount of its own, which vanishes with the process, and gives its JSON lines. */
export function runUnderMount(mount: string, action: string, folder: string, probe = PROBE): unknown[] {
  const script = `${mount} && shift && exec "$@"`;
  const args = ['-m', 'sh', '-c', script, 'sh', folder, ...NODE.slice(0, -1), probe, action, folder];
  const result = spawnSync('unshare', args, { encoding: 'utf8', timeout: 60_000 });
  if (result.status !== 0) throw new Error(`the probe failed with ${result.status}: ${result.stderr}`);
  return result.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}
