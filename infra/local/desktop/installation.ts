import { createHash } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BROWSERS, programsNeeded } from './programs.ts';

/** The one release of cua-computer-server that is run; README.md says what was read in it. */
export const SERVER_VERSION = '0.3.46';
export const REQUIREMENTS_LOCK = path.join(import.meta.dirname, 'requirements.lock');
export const SETUP_COMMAND = 'examhall setup desktop';

/** How far a set-up has come: the server is installed; a desktop has started with it. */
export type SetUpStage = 'installed' | 'ready';

/** What a set-up wrote down about itself at a stage. */
export interface ReadyNote {
  readonly server: string;
  /** Hash of the requirements it was made from. */
  readonly lockSha256: string;
  readonly pythonVersion: string;
  /** Folder of the Python it runs on, when that is none of the system's own. */
  readonly pythonFolder: string | null;
}

/** A desktop that can be started here. */
export interface DesktopInstallation extends ReadyNote {
  readonly folder: string;
  readonly python: string;
  /** Program of a web browser; null where none was found. */
  readonly browser: string | null;
}

export type FoundDesktop =
  | { readonly isThere: true; readonly installation: DesktopInstallation }
  | { readonly isThere: false; readonly reason: string };

/** Where the server is installed: for root where walled-in agents can be shown it, else in the user's own folder. */
export function installationFolder(): string {
  const base =
    process.getuid?.() === 0
      ? '/opt/examhall/desktop'
      : path.join(process.env['XDG_DATA_HOME'] ?? path.join(os.homedir(), '.local/share'), 'examhall/desktop');
  return path.join(base, `${SERVER_VERSION}-${lockSha256().slice(0, 8)}`);
}

export function lockSha256(): string {
  return createHash('sha256').update(readFileSync(REQUIREMENTS_LOCK)).digest('hex');
}

export function pythonOf(folder: string): string {
  return path.join(folder, 'venv/bin/python');
}

export function noteFileOf(folder: string, stage: SetUpStage): string {
  return path.join(folder, `${stage}.json`);
}

/** What the last set-up left, or what is lacking. Quick: starts nothing. */
export function findDesktop(folder: string = installationFolder(), stage: SetUpStage = 'ready'): FoundDesktop {
  const isLacking = (reason: string): FoundDesktop => ({ isThere: false, reason });
  if (process.platform !== 'linux') return isLacking(`desktop sandboxes need Linux; this is ${process.platform}`);
  const note = readNote(noteFileOf(folder, stage));
  if (note === undefined) return isLacking(`${folder} holds no finished set-up`);
  if (note.lockSha256 !== lockSha256()) return isLacking(`${folder} was made from other requirements`);
  const python = pythonOf(folder);
  if (!isProgram(python)) return isLacking(`${python} does not run: the Python it was made with is gone`);
  const missing = programsNeeded().filter(({ program }) => findProgram([program]) === null);
  if (missing.length > 0) return isLacking(`not on PATH: ${missing.map(({ program }) => program).join(', ')}`);
  return { isThere: true, installation: { ...note, folder, python, browser: findProgram(BROWSERS) } };
}

/** Path of the first of these programs that PATH has. */
export function findProgram(names: readonly string[]): string | null {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  for (const name of names) {
    const found = [...folders, '/usr/sbin', '/sbin'].map((each) => path.join(each, name)).find(isProgram);
    if (found !== undefined) return found;
  }
  return null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function readNote(file: string): ReadyNote | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ReadyNote;
  } catch {
    return undefined;
  }
}
