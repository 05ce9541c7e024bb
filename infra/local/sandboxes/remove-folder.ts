import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Takes off whatever is mounted at or below a folder, innermost first. */
export async function unmountBelow(folder: string): Promise<void> {
  for (const target of mountsBelow(folder)) await run('umount', ['-l', '--', target]);
}

/** Mount points at or below a folder, innermost first. */
export function mountsBelow(folder: string, mountInfo = readMountInfo()): string[] {
  return mountInfo
    .split('\n')
    .map((line) => decodeOctal(line.split(' ')[4] ?? ''))
    .filter((target) => target === folder || target.startsWith(`${folder}/`))
    .reverse();
}

/**
 * Removes a folder an agent has filled: trees deeper than any path may be, folders without permissions. Links are removed,
 * never followed, and other file systems are left alone. Look afterwards whether it is gone.
 */
export async function removeFolder(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  await run('rm', ['-rf', '--one-file-system', '--', folder]);
  if (!existsSync(folder)) return;
  // Not root: folders may be closed to us that are ours.
  await run('chmod', ['-R', 'u+rwX', '--', folder]);
  await run('rm', ['-rf', '--', folder]);
}

function readMountInfo(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

function decodeOctal(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}

function run(program: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'ignore', env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' } });
    child.once('error', () => resolve());
    child.once('close', () => resolve());
  });
}
