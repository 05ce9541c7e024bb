import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** The Node of deployed functions, as a package without scripts. */
const VERSION = '24.22.3';
const PACKAGE = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
const TIMEOUT_MS = 600_000;

const cache = process.env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
/** In the user's cache, so that no checkout depends on it. */
const folder = path.join(cache, 'examhall', `node-${VERSION}`);
const program = path.join(folder, 'node_modules', PACKAGE, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
const readyFile = path.join(folder, 'ready');

/** Node 24 for tier `node24`. */
export const node24 = {
  version: VERSION,
  program,
  /** What is missing, or null. */
  lacking: (): string | null => (existsSync(readyFile) && existsSync(program) ? null : `no ${folder}`),
  /** @throws Error when npm has no such package for this computer, or what it brings does not run here. */
  install: (): void => {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${PACKAGE}@${VERSION}`];
    const options = { cwd: folder, timeout: TIMEOUT_MS, shell: process.platform === 'win32' };
    const installed = spawnSync('npm', args, { ...options, stdio: ['ignore', 2, 2] });
    if (installed.status !== 0) throw new Error(`npm could not install ${PACKAGE}@${VERSION}; its message is above.`);
    const answer = spawnSync(program, ['--version'], { encoding: 'utf8', timeout: 20_000 });
    if (answer.stdout.trim() !== `v${VERSION}`) {
      throw new Error(`${program} does not run here: ${answer.error?.message ?? answer.stderr}`);
    }
    writeFileSync(readyFile, '');
  },
} as const;
