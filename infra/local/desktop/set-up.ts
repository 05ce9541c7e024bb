import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { takeSessionLock } from '#local/session-lock';
import {
  findDesktop,
  installationFolder,
  lockSha256,
  noteFileOf,
  pythonOf,
  REQUIREMENTS_LOCK,
  SERVER_VERSION,
  type ReadyNote,
} from './installation.ts';
import { installPackages, missingPackages } from './packages.ts';
import { findPython, type FoundPython } from './python.ts';
import { runTold, SetUpError } from './run-told.ts';

/** One step of the set-up, as it went or as it would go. */
export interface SetUpStep {
  readonly name: 'packages' | 'python' | 'environment' | 'check';
  readonly state: 'done' | 'was there' | 'would do';
  readonly detail: string;
  readonly seconds: number;
}

export interface SetUpReport {
  readonly folder: string;
  readonly server: string;
  readonly steps: readonly SetUpStep[];
  /** What works less well than it could, and what to do about it. */
  readonly notes: readonly string[];
}

export interface SetUpOptions {
  /** Where to; by default where sandboxes look for it. */
  readonly folder?: string;
  readonly isDry: boolean;
  /** Told before each step and of each step's end. */
  readonly tell: (line: string) => void;
  /** Starts a desktop for real. @throws SetUpError saying what did not work. */
  readonly check: (folder: string) => Promise<string>;
}

type StepResult = readonly [SetUpStep['state'], string];

/**
 * Installs what desktop sandboxes need and tries it out: packages, Python, the server in an environment of its own. Each
 * step that is done already is left alone, so a set-up that was broken off is simply run again.
 * @throws SetUpError saying what to do.
 */
export async function setUpDesktop(options: SetUpOptions): Promise<SetUpReport> {
  if (process.platform !== 'linux')
    throw new SetUpError(`desktop sandboxes need Linux; this is ${process.platform}. Run this on Debian or Ubuntu.`);
  const folder = options.folder ?? installationFolder();
  const steps: SetUpStep[] = [];
  const step = async (name: SetUpStep['name'], work: () => Promise<StepResult>): Promise<void> => {
    const begunAt = performance.now();
    const [state, detail] = await work();
    const seconds = (performance.now() - begunAt) / 1000;
    steps.push({ name, state, detail, seconds });
    options.tell(`${name.padEnd(11)} ${state.padEnd(9)} ${detail} (${seconds.toFixed(1)} s)`);
  };
  const unlock = options.isDry ? () => undefined : lockFolder(folder);
  try {
    const notes: string[] = [];
    let python = await findPython();
    await step('packages', () => packagesStep(options, python, notes));
    await step('python', async () => {
      if (python?.canMakeEnvironments !== true) python = await findPython();
      return pythonResult(python, options.isDry);
    });
    await step('environment', () => environmentStep(folder, python, options));
    await step('check', () => checkStep(folder, options));
    return { folder, server: SERVER_VERSION, steps, notes };
  } finally {
    unlock();
  }
}

async function packagesStep(
  { isDry, tell }: SetUpOptions,
  python: FoundPython | null,
  notes: string[],
): Promise<StepResult> {
  const { needed, note } = missingPackages(python);
  if (note !== null) notes.push(note);
  if (needed.length === 0) return ['was there', 'every program is on PATH'];
  if (isDry) return ['would do', `apt-get install ${needed.join(' ')}`];
  tell(`packages    installing ${needed.join(' ')}`);
  await installPackages(needed);
  return ['done', needed.join(' ')];
}

function pythonResult(python: FoundPython | null, isDry: boolean): StepResult {
  if (python !== null) {
    const how = python.isOlderThanDeclared ? ', installed with --ignore-requires-python' : '';
    return ['was there', `${python.program} (${python.version}${how})`];
  }
  if (isDry) return ['would do', 'look again once the packages are there'];
  throw new SetUpError(
    'no Python 3.11, 3.12 or 3.13 was found. Install one, for example with: apt-get install python3.12 python3.12-venv, or: pyenv install 3.12',
  );
}

async function environmentStep(
  folder: string,
  python: FoundPython | null,
  { isDry, tell }: SetUpOptions,
): Promise<StepResult> {
  const found = findDesktop(folder, 'installed');
  if (found.isThere) return ['was there', `${folder} (cua-computer-server ${found.installation.server})`];
  if (isDry) return ['would do', `install cua-computer-server ${SERVER_VERSION} into ${folder}`];
  if (python === null) throw new SetUpError('there is no Python to install with');
  if (!python.canMakeEnvironments)
    throw new SetUpError(
      `${python.program} cannot make environments: its module venv or ensurepip is missing. Install python3-venv, or another Python`,
    );
  tell(`environment installing cua-computer-server ${SERVER_VERSION} into ${folder}`);
  const venv = path.join(folder, 'venv');
  for (const stage of ['ready', 'installed'] as const) rmSync(noteFileOf(folder, stage), { force: true });
  await runTold(python.program, ['-m', 'venv', '--clear', venv], { timeoutSeconds: 300 });
  const isOld = python.isOlderThanDeclared ? ['--ignore-requires-python'] : [];
  const pip = ['-I', '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-input', ...isOld];
  const exactly = ['--require-hashes', '--no-deps', '--only-binary', ':all:', '-r', REQUIREMENTS_LOCK];
  await runTold(pythonOf(folder), [...pip, ...exactly], { timeoutSeconds: 1200 });
  writeNote(folder, python);
  return ['done', `${folder} (cua-computer-server ${SERVER_VERSION}, Python ${python.version})`];
}

async function checkStep(folder: string, { isDry, check }: SetUpOptions): Promise<StepResult> {
  if (isDry) return ['would do', 'start a desktop and look at its screen'];
  const ready = noteFileOf(folder, 'ready');
  try {
    const seen = await check(folder);
    copyFileSync(noteFileOf(folder, 'installed'), ready);
    return ['done', seen];
  } catch (error) {
    rmSync(ready, { force: true });
    throw error;
  }
}

function writeNote(folder: string, python: FoundPython): void {
  const note: ReadyNote = {
    server: SERVER_VERSION,
    lockSha256: lockSha256(),
    pythonVersion: python.version,
    pythonFolder: python.folder,
  };
  writeFileSync(noteFileOf(folder, 'installed'), `${JSON.stringify(note, null, 2)}\n`);
}

/** Readable by walled-in agents, writable by none of them. */
function lockFolder(folder: string): () => void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw new SetUpError(`${folder} cannot be made: ${(error as Error).message}. Make it writable and run this again`);
  }
  try {
    return takeSessionLock(path.join(folder, 'lock'));
  } catch (error) {
    if ((error as Error).name !== 'SessionBusyError') throw error;
    throw new SetUpError('another set-up is running; wait for it and run this again');
  }
}
