import { readFile, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** A file's text, or why there is none. */
export type TextReading = { readonly text: string } | { readonly fault: TextFault };

export interface TextFault {
  /** There is no regular file of that name. */
  readonly isAbsent: boolean;
  /** Continues "the agent file ...". */
  readonly what: string;
}

const largestBytes = 4 * 1024 * 1024;

/** Reads a regular file of at most 4 MiB as UTF-8. Devices, pipes and folders are never opened. */
export async function readText(file: string): Promise<TextReading> {
  try {
    const status = await stat(file);
    if (status.isDirectory()) return fault('is a folder', true);
    if (!status.isFile()) return fault('is not a regular file', true);
    if (status.size > largestBytes) return fault(`is larger than ${largestBytes} bytes (${status.size})`);
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)) };
  } catch (error) {
    if (isCode(error, 'ERR_ENCODING_INVALID_ENCODED_DATA')) return fault('is not UTF-8 text');
    return fault(readFault(error), isCode(error, 'ENOENT') || isCode(error, 'ENOTDIR'));
  }
}

/** `~` and absolute paths are honoured; others lie below `base`. */
export function resolvePath(text: string, base: string, home: string): string {
  const expanded = text === '~' || text.startsWith('~/') ? path.join(home, text.slice(1)) : text;
  return path.resolve(base, expanded);
}

/** `~name`, the home of somebody else, which is not looked up. */
export function isOtherHome(text: string): boolean {
  return /^~[^/]/.test(text);
}

/** The home folder a `~` stands for. */
export function homeFolder(env: Readonly<Record<string, string | undefined>>): string {
  const home = env['HOME'] ?? '';
  return home === '' ? os.homedir() : home;
}

/** How a path is printed: below the current folder without it, else in full. */
export function displayFile(file: string, cwd: string): string {
  const relative = path.relative(cwd, file);
  return relative === '' || relative.startsWith('..') || path.isAbsolute(relative) ? file : relative;
}

function fault(what: string, isAbsent = false): TextReading {
  return { fault: { isAbsent, what } };
}

/** Why a file cannot be read; continues "the agent file ...". */
export function readFault(error: unknown): string {
  if (isCode(error, 'ENOENT') || isCode(error, 'ENOTDIR')) return 'does not exist';
  if (isCode(error, 'EACCES') || isCode(error, 'EPERM')) return 'may not be read (permission denied)';
  if (isCode(error, 'ELOOP')) return 'is a loop of symbolic links';
  if (isCode(error, 'ENAMETOOLONG')) return 'has a name that is too long';
  return `cannot be read (${error instanceof Error ? error.message : String(error)})`;
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
