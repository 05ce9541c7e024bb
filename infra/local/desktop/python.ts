import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A Python that the server can be installed with. */
export interface FoundPython {
  readonly program: string;
  readonly version: string;
  /** The folder it lives in, when that is none of the system's own. */
  readonly folder: string | null;
  readonly canMakeEnvironments: boolean;
  /** 3.11 works, though the server says that it wants 3.12. */
  readonly isOlderThanDeclared: boolean;
}

const ASK = `
import json, os, sys
def has(name):
    try:
        __import__(name)
        return True
    except ImportError:
        return False
print(json.dumps({"program": os.path.realpath(sys.executable), "version": list(sys.version_info[:3]),
  "prefix": os.path.realpath(sys.base_prefix), "venv": has("venv") and has("ensurepip"), "ssl": has("ssl"),
  "is64": sys.maxsize > 2**32}))`;

interface Answer {
  readonly program: string;
  readonly version: readonly [number, number, number];
  readonly prefix: string;
  readonly venv: boolean;
  readonly ssl: boolean;
  readonly is64: boolean;
}

/** The best Python here: 3.12, 3.13, those of pyenv, and only then 3.11. Null when there is none. */
export async function findPython(): Promise<FoundPython | null> {
  const names = ['python3.12', 'python3.13', ...pyenvPythons(), 'python3', '/usr/bin/python3', 'python3.11'];
  const found: FoundPython[] = [];
  for (const name of names) {
    const python = await ask(name);
    if (python === null) continue;
    if (!python.isOlderThanDeclared) return python;
    found.push(python);
  }
  return found[0] ?? null;
}

function pyenvPythons(): string[] {
  const versions = path.join(process.env['PYENV_ROOT'] ?? path.join(os.homedir(), '.pyenv'), 'versions');
  const minors = ['3.12.', '3.13.'];
  const names = namesIn(versions);
  return minors
    .flatMap((minor) => names.filter((name) => name.startsWith(minor)).sort((a, b) => patchOf(b) - patchOf(a)))
    .map((name) => path.join(versions, name, 'bin/python'));
}

function patchOf(version: string): number {
  return Number(/^3\.\d+\.(\d+)/.exec(version)?.[1] ?? 0);
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Null for one that does not run, is of another version, or lies where no agent may be shown it. */
async function ask(program: string): Promise<FoundPython | null> {
  const answer = await answerOf(program);
  if (answer === null || !answer.ssl || !answer.is64) return null;
  const [major, minor] = answer.version;
  if (major !== 3 || minor < 11 || minor > 13) return null;
  const folder = answer.prefix === '/usr' || answer.prefix.startsWith('/usr/') ? null : answer.prefix;
  if (folder !== null && !isOnlyPython(folder) && process.getuid?.() === 0) return null;
  return {
    program: answer.program,
    version: answer.version.join('.'),
    folder,
    canMakeEnvironments: answer.venv,
    isOlderThanDeclared: minor === 11,
  };
}

/** True for a folder that holds one version of Python and nothing else: it can be shown to agents whole. */
export function isOnlyPython(folder: string): boolean {
  return /\/(?:versions|python)\/[^/]*3\.\d+[^/]*$/.test(folder);
}

async function answerOf(program: string): Promise<Answer | null> {
  try {
    const { stdout } = await run(program, ['-I', '-c', ASK], { timeout: 20_000 });
    return JSON.parse(stdout) as Answer;
  } catch {
    return null;
  }
}
