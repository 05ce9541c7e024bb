import { readFileSync } from 'node:fs';
import path from 'node:path';

/** Below it lie the accounts of a machine: a range that begins there is a mistake, and nobody's to kill. */
const FIRST_SUBORDINATE = 65_536;

/** Whether a user is one that an account may take for processes of its own, as `/etc/subuid` says. Safe with no such file. */
export function isSubordinateOf(uid: number, etc = '/etc'): (other: number) => boolean {
  const named = linesOf(path.join(etc, 'passwd')).find((line) => line.split(':')[2] === String(uid));
  const owners = new Set([String(uid), named?.split(':')[0]]);
  const ranges = linesOf(path.join(etc, 'subuid')).flatMap((line) => {
    const [owner, first, count] = line.split(':');
    return owners.has(owner) ? [{ first: Number(first), end: Number(first) + Number(count) }] : [];
  });
  return (other) => other >= FIRST_SUBORDINATE && ranges.some(({ first, end }) => other >= first && other < end);
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
