import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, problemAt } from '#core/located';
import type { Experiment } from '#core/experiment';

/** Codes that say that the path is wrong; a full or read-only disk is told by who writes. */
const WRONG_PATH: Readonly<Record<string, string>> = {
  ENOTDIR: 'is a file, or lies below one',
  EEXIST: 'is a file, or lies below one',
  ENOENT: 'lies where no folder can be made',
  EACCES: 'may not be written by this account',
  EPERM: 'may not be written by this account',
  ELOOP: 'is a loop of symbolic links',
  ENAMETOOLONG: 'is too long',
};

/**
 * Makes the folder of the experiment's runs, one folder at a time: Node's recursive mkdir never returns below /proc.
 * @throws ConfigError
 */
export function makeOutputFolder({ file, outputRoot, name }: Experiment): void {
  const folder = path.join(outputRoot, name);
  try {
    makeFolders(folder);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const why = WRONG_PATH[code];
    if (why === undefined) return;
    const problem = problemAt(
      { file, line: 1, column: 1 },
      {
        what: `the output folder ${why} (${code})`,
        got: JSON.stringify(folder),
        allowed: 'a folder that this account may make and write',
        action: 'correct "output.root", or "name"',
      },
    );
    throw new ConfigError([problem]);
  }
}

function makeFolders(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = path.dirname(folder);
  if (parent !== folder) makeFolders(parent);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another run may have made it in this moment.
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
