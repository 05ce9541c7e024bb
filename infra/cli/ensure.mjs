/**
 * Makes a fresh clone runnable: right Node, installed packages. Plain Node without dependencies, because it runs before there are any.
 *
 * As a command: `node infra/cli/ensure.mjs <script.ts> [args]` installs what is missing and then runs the TypeScript file
 * in this same process, so that signals, exit code and `kill -9` mean what they say.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const repositoryRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

const minimumNode = [20, 19];
const lockWaitSeconds = 900;

/** Something the person at the keyboard can put right; printed without a stack. */
export class SetupError extends Error {
  name = 'SetupError';
}

/** @throws {SetupError} when this Node is older than the toolchain supports. */
export function checkNode(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [needMajor, needMinor] = minimumNode;
  if (major > needMajor || (major === needMajor && minor >= needMinor)) return;
  throw new SetupError(
    `Node ${version} is too old: Exam Hall needs Node ${minimumNode.join('.')} or later. Install a newer Node and run this again.`,
  );
}

function readJson(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function stampOf(root) {
  const lock = fs.readFileSync(path.join(root, 'package-lock.json'));
  return createHash('sha256').update(lock).update(`${process.platform}-${process.arch}`).digest('hex');
}

/** First package that the lock file names and `node_modules` lacks, as npm's own inventory of the last install tells it. */
function findMismatch(lock, installed) {
  for (const [location, wanted] of Object.entries(lock.packages ?? {})) {
    if (location === '' || wanted.link) continue;
    const found = installed.packages?.[location];
    if (!found) {
      if (wanted.optional || wanted.devOptional) continue;
      return `${location} is missing`;
    }
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) {
      return `${location} is ${found.version}, the lock file says ${wanted.version}`;
    }
  }
  return undefined;
}

/** Why an install is needed, or undefined when `node_modules` is what package-lock.json describes. */
export function whyInstall(root = repositoryRoot) {
  const modules = path.join(root, 'node_modules');
  if (!fs.existsSync(modules)) return 'node_modules is missing';
  const manifest = readJson(path.join(root, 'package.json')) ?? {};
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
    if (!fs.existsSync(path.join(modules, name, 'package.json'))) return `package ${name} is missing`;
  }
  const stampFile = path.join(modules, '.examhall-stamp');
  if (fs.existsSync(stampFile) && fs.readFileSync(stampFile, 'utf8').trim() === stampOf(root)) return undefined;
  const installed = readJson(path.join(modules, '.package-lock.json'));
  if (!installed) return 'the last install did not finish';
  return findMismatch(readJson(path.join(root, 'package-lock.json')) ?? {}, installed);
}

/** Notes what is installed and gives `npx examhall` its command; a read-only checkout only loses speed by it. */
export function markInstalled(root = repositoryRoot) {
  const modules = path.join(root, 'node_modules');
  try {
    fs.writeFileSync(path.join(modules, '.examhall-stamp'), `${stampOf(root)}\n`);
    const link = path.join(modules, '.bin', 'examhall');
    if (fs.lstatSync(link, { throwIfNoEntry: false })) return;
    fs.mkdirSync(path.dirname(link), { recursive: true });
    fs.symlinkSync(path.join('..', '..', 'infra', 'cli', 'examhall.mjs'), link);
  } catch (error) {
    if (!['EROFS', 'EACCES', 'EPERM', 'EEXIST'].includes(error.code)) throw error;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The process that holds the lock directory, or 'nobody' when it died; a lock without a pid gets ten seconds to write one. */
function lockHolder(directory) {
  try {
    const pid = Number(fs.readFileSync(path.join(directory, 'pid'), 'utf8'));
    return Number.isInteger(pid) && isAlive(pid) ? pid : 'nobody';
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    const made = fs.statSync(directory, { throwIfNoEntry: false })?.mtimeMs;
    return made !== undefined && Date.now() - made > 10_000 ? 'nobody' : 'unknown';
  }
}

/** Sets a dead holder's lock aside. The name is fixed and the folder not empty, so two waiters cannot both succeed. */
function setAsideDeadLock(directory) {
  fs.writeFileSync(path.join(directory, 'dead'), '');
  try {
    fs.renameSync(directory, `${directory}.dead`);
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) throw error;
  }
}

async function withInstallLock(root, action) {
  const directory = path.join(root, '.cache', 'install.lock');
  fs.mkdirSync(path.dirname(directory), { recursive: true });
  const until = Date.now() + lockWaitSeconds * 1000;
  for (let told = false; ; await sleep(200)) {
    try {
      fs.mkdirSync(directory);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    const holder = lockHolder(directory);
    if (holder === 'nobody') setAsideDeadLock(directory);
    if (Date.now() > until) {
      throw new SetupError(
        `Process ${holder} has been installing for ${lockWaitSeconds} s. If it is not, remove ${directory} and run this again.`,
      );
    }
    if (!told && typeof holder === 'number') {
      process.stderr.write(`waiting for process ${holder}, which is installing packages\n`);
      told = true;
    }
  }
  try {
    fs.writeFileSync(path.join(directory, 'pid'), String(process.pid));
    return await action();
  } finally {
    fs.rmSync(`${directory}.dead`, { recursive: true, force: true });
    fs.rmSync(directory, { recursive: true, force: true });
  }
}

function npmCommand() {
  const running = process.env.npm_execpath;
  if (running && /npm-cli\.[cm]?js$/.test(running)) return [process.execPath, [running]];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm', []];
}

function runNpmCi(root) {
  const [command, first] = npmCommand();
  const args = [...first, 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell: command.endsWith('.cmd') });
    child.on('error', (error) =>
      reject(
        new SetupError(
          `npm could not be started (${error.message}). Install npm, which comes with Node, and try again.`,
        ),
      ),
    );
    child.on('exit', (code, signal) => {
      if (code === 0) return resolve();
      reject(
        new SetupError(
          `npm ci ended with ${signal ?? `exit code ${code}`}; its message is above. Put it right and try again.`,
        ),
      );
    });
  });
}

/** Installs from the lock file unless that is already done. Safe to call from several processes at once. */
export async function ensureInstalled(root = repositoryRoot) {
  checkNode();
  if (whyInstall(root) === undefined) return markUnlessMarked(root);
  await withInstallLock(root, async () => {
    const reason = whyInstall(root);
    if (reason === undefined) return;
    process.stderr.write(`installing packages: ${reason}\n`);
    await runNpmCi(root);
    markInstalled(root);
    const still = whyInstall(root);
    if (still !== undefined) {
      throw new SetupError(`npm ci finished, but ${still}. Remove node_modules and run this again.`);
    }
  });
}

function markUnlessMarked(root) {
  if (!fs.existsSync(path.join(root, 'node_modules', '.bin', 'examhall'))) return markInstalled(root);
  const stamp = path.join(root, 'node_modules', '.examhall-stamp');
  if (!fs.existsSync(stamp) || fs.readFileSync(stamp, 'utf8').trim() !== stampOf(root)) markInstalled(root);
}

/** Installs, then runs a TypeScript file in this process; the file sees its own path in argv[1] and `args` after it. */
export async function runTypeScript(file, args) {
  const absolute = path.resolve(file);
  await ensureInstalled();
  if (!fs.existsSync(absolute)) throw new SetupError(`${absolute} does not exist; this checkout is not complete.`);
  const { register } = await import('tsx/esm/api');
  register();
  process.argv = [process.argv[0], absolute, ...args];
  await import(pathToFileURL(absolute).href);
}

/** Ends the process with one line for what a person can put right, and with the stack for a bug. */
export function exitWith(error) {
  process.stderr.write(error instanceof SetupError ? `error: ${error.message}\n` : `${error?.stack ?? error}\n`);
  process.exit(1);
}

async function main([script, ...args]) {
  if (script === '--installed') return markInstalled();
  if (!script) throw new SetupError('no script given; use: node infra/cli/ensure.mjs <script.ts> [args]');
  await runTypeScript(script, args);
}

if (process.argv[1] && fs.realpathSync(process.argv[1]) === fs.realpathSync(fileURLToPath(import.meta.url))) {
  main(process.argv.slice(2)).catch(exitWith);
}
