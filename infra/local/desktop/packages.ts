import { existsSync, readFileSync } from 'node:fs';
import { findProgram } from './installation.ts';
import { BROWSER_PACKAGE, BROWSERS, FONT, programsNeeded } from './programs.ts';
import type { FoundPython } from './python.ts';
import { runTold, SetUpError } from './run-told.ts';

export interface MissingPackages {
  readonly needed: readonly string[];
  /** What this distribution does not offer, and what to do about it. */
  readonly note: string | null;
}

/** Packages whose programs are not here. A browser is asked for only where it is a package that runs in a sandbox. */
export function missingPackages(python: FoundPython | null): MissingPackages {
  const missing = programsNeeded().filter(({ program }) => findProgram([program]) === null);
  const needed = new Set(missing.map((each) => each.package));
  if (!existsSync(FONT.file)) needed.add(FONT.package);
  if (python === null) ['python3', 'python3-venv'].forEach((name) => needed.add(name));
  else if (!python.canMakeEnvironments && python.folder === null) needed.add(venvPackageOf(python));
  let note: string | null = null;
  if (findProgram(BROWSERS) === null) {
    if (!isUbuntu()) needed.add(BROWSER_PACKAGE);
    else
      note =
        'no web browser: this distribution has chromium only as a snap, which does not start in a sandbox. Install the .deb of Google Chrome (https://www.google.com/chrome) for tasks that need one';
  }
  return { needed: [...needed].sort(), note };
}

function venvPackageOf({ version }: FoundPython): string {
  return `python${version.split('.').slice(0, 2).join('.')}-venv`;
}

/** Ubuntu's package of this name only fetches a snap. */
function isUbuntu(): boolean {
  try {
    return /^ID=ubuntu$/m.test(readFileSync('/etc/os-release', 'utf8'));
  } catch {
    return false;
  }
}

/** @throws SetUpError with the command for somebody who may. */
export async function installPackages(names: readonly string[]): Promise<void> {
  const command = `apt-get install -y --no-install-recommends ${names.join(' ')}`;
  if (findProgram(['apt-get']) === null)
    throw new SetUpError(
      `this is neither Debian nor Ubuntu. Install what these packages hold with your own package manager and run this again: ${names.join(' ')}`,
    );
  if (process.getuid?.() !== 0)
    throw new SetUpError(`packages are missing. Run this, and then this set-up again:\n  sudo ${command}`);
  const install = (): Promise<void> => apt(['install', '-y', '-qq', '--no-install-recommends', ...names]);
  try {
    await install();
  } catch {
    // The lists of a fresh machine are empty or old.
    await apt(['update', '-qq']);
    await install();
  }
}

function apt(args: readonly string[]): Promise<void> {
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  return runTold('apt-get', ['-o', 'DPkg::Lock::Timeout=300', ...args], { timeoutSeconds: 1200, env });
}
