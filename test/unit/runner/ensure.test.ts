import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ensure = path.resolve('infra/cli/ensure.mjs');
let root: string;

/** Stands in for npm: notes that it ran, then installs what the lock file says, as npm leaves it. */
const fakeNpm = `
const fs = require('node:fs');
fs.appendFileSync('runs', process.argv.slice(2).join(' ') + '\\n');
if (fs.existsSync('refuse')) { console.error('npm error refused'); process.exit(7); }
const lock = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'));
fs.rmSync('node_modules', { recursive: true, force: true });
setTimeout(() => {
  for (const place of Object.keys(lock.packages)) {
    if (place === '') continue;
    fs.mkdirSync(place, { recursive: true });
    fs.writeFileSync(place + '/package.json', '{}');
  }
  fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify(lock));
  console.warn('npm warn install-scripts 1 package has install scripts');
}, 300);
`;

function writeLock(version: string): void {
  const packages = {
    '': {},
    'node_modules/a': { version, integrity: `i${version}` },
    'node_modules/b': { optional: true },
  };
  writeFileSync(path.join(root, 'package-lock.json'), JSON.stringify({ packages }));
}

interface Ended {
  code: number | null;
  stderr: string;
  stdout: string;
}

function run(script: string): Promise<Ended> {
  const source = `const ensure = await import(${JSON.stringify(ensure)});\nconst root = ${JSON.stringify(root)};\n${script}`;
  const env = { ...process.env, npm_execpath: path.join(root, 'npm-cli.js') };
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { env, timeout: 25_000 });
  const ended: Ended = { code: null, stderr: '', stdout: '' };
  child.stderr.on('data', (text: Buffer) => (ended.stderr += text.toString()));
  child.stdout.on('data', (text: Buffer) => (ended.stdout += text.toString()));
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...ended, code })));
}

const install = 'await ensure.ensureInstalled(root).catch(ensure.exitWith);';
const runs = (): number =>
  existsSync(path.join(root, 'runs')) ? readFileSync(path.join(root, 'runs'), 'utf8').split('\n').length - 1 : 0;

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'examhall-ensure-'));
  writeFileSync(path.join(root, 'package.json'), JSON.stringify({ dependencies: { a: '1.0.0' } }));
  writeFileSync(path.join(root, 'npm-cli.js'), fakeNpm);
  writeLock('1.0.0');
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('a fresh clone', () => {
  it('is installed once, says why on stderr, and is left alone after that', async () => {
    const first = await run(install);
    expect(first).toMatchObject({ code: 0, stdout: '' });
    expect(first.stderr).toContain('installing packages: node_modules is missing\n');
    expect(readFileSync(path.join(root, 'runs'), 'utf8')).toContain('ci --include=dev');
    expect(await run(install)).toEqual({ code: 0, stderr: '', stdout: '' });
    expect(runs()).toBe(1);
  });

  it('gets its command linked for npx', async () => {
    await run(install);
    expect(readlinkSync(path.join(root, 'node_modules/.bin/examhall'))).toBe('../../infra/cli/examhall.mjs');
  });

  it('is installed by one of several processes that start at once', async () => {
    const all = await Promise.all([run(install), run(install), run(install)]);
    expect(all.map((one) => one.code)).toEqual([0, 0, 0]);
    expect(runs()).toBe(1);
    expect(existsSync(path.join(root, '.cache/install.lock'))).toBe(false);
  });

  it('is installed although a process died while it was installing', async () => {
    const dead = await run('process.stdout.write(String(process.pid));');
    mkdirSync(path.join(root, '.cache/install.lock'), { recursive: true });
    writeFileSync(path.join(root, '.cache/install.lock/pid'), dead.stdout);
    expect((await run(install)).code).toBe(0);
    expect(runs()).toBe(1);
    expect(existsSync(path.join(root, '.cache/install.lock.dead'))).toBe(false);
  });
});

describe('an installed checkout', () => {
  it('is installed again when the lock file has moved on', async () => {
    await run(install);
    writeLock('2.0.0');
    const second = await run(install);
    expect(second.stderr).toContain('node_modules/a is 1.0.0, the lock file says 2.0.0');
    expect(runs()).toBe(2);
  });

  it('is installed again when a package was removed by hand', async () => {
    await run(install);
    rmSync(path.join(root, 'node_modules/a'), { recursive: true });
    expect((await run(install)).stderr).toContain('package a is missing');
  });

  it('is not installed again when npm itself did it', async () => {
    await run(install);
    rmSync(path.join(root, 'node_modules/.examhall-stamp'));
    expect(await run(install)).toEqual({ code: 0, stderr: '', stdout: '' });
    expect(runs()).toBe(1);
  });
});

describe('what cannot be put right is said in one line', () => {
  it('npm fails', async () => {
    writeFileSync(path.join(root, 'refuse'), '');
    const ended = await run(install);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('npm error refused');
    expect(ended.stderr).toContain('error: npm ci ended with exit code 7');
    expect(existsSync(path.join(root, '.cache/install.lock'))).toBe(false);
  });

  it.each(['18.20.8', '20.18.3', '16.0.0'])('Node %s is too old', async (version) => {
    const ended = await run(`try { ensure.checkNode('${version}'); } catch (error) { ensure.exitWith(error); }`);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe(
      `error: Node ${version} is too old: Exam Hall needs Node 20.19 or later. Install a newer Node and run this again.\n`,
    );
  });

  it.each(['20.19.0', '20.20.2', '22.0.0', '24.1.0'])('Node %s is not', async (version) => {
    expect((await run(`ensure.checkNode('${version}');`)).code).toBe(0);
  });
});
