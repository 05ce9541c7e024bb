import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { endAllCli, examhall } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';
import { recordOf, runOutput, unitOf, type RunOutput } from './json-output.ts';
import { leftoversOf, NOTHING } from './leftovers.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const treeRoot = path.join(ground.folder, 'out', 'hostile-output');
const outside = path.join(ground.folder, 'outside');
const swept = { run: undefined as RunOutput | undefined };

interface NotCollected {
  readonly root: string;
  readonly path: string;
  readonly kind: string;
  readonly sizeBytes: number;
  readonly target: string | null;
  readonly skipped: string | null;
}

/** Names that are right, and the answer among them. */
const MESS = `import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
const out = process.env.TASK_OUTPUT;
fs.mkdirSync(out, { recursive: true });
process.chdir(out);
fs.copyFileSync(process.env.TASK_INPUT + '/word.txt', 'answer.txt');
for (const name of ['grüße 日本.txt', 'two  spaces ', 'line\\nfeed', '-rf', 'back\\\\slash', '...', 'CON', '%2e%2e', 'quote"\\'', 'record.json', '\\u202egnp.exe'])
  fs.writeFileSync(name, 'fine: ' + name);
fs.writeFileSync(Buffer.from([0x62, 0x61, 0x64, 0xff, 0xfe]), 'invalid UTF-8');
fs.mkdirSync(Buffer.from([0x62, 0x61, 0x64, 0xfe, 0xff]));
fs.writeFileSync(Buffer.from([0x62, 0x61, 0x64, 0xfe, 0xff, 0x2f, 0x78]), 'in a folder whose name looks like that of a file');
fs.writeFileSync(Buffer.alloc(200, 0xff), 'a name that is longer as text');
fs.symlinkSync('/etc/passwd', 'link-to-passwd');
fs.symlinkSync(${JSON.stringify(path.join(ground.folder, 'outside/secret.txt'))}, 'link-outside');
fs.symlinkSync('..', 'link-up');
fs.symlinkSync('nowhere', 'link-dangling');
fs.symlinkSync('link-loop-b', 'link-loop-a');
fs.symlinkSync('link-loop-a', 'link-loop-b');
execFileSync('mkfifo', ['pipe']);
await new Promise((resolve) => net.createServer().listen('socket', resolve));
try { execFileSync('mknod', ['device', 'c', '0', '0'], { stdio: 'ignore' }); } catch { fs.writeFileSync('no-device', ''); }
fs.writeFileSync('unreadable', 'x');
fs.chmodSync('unreadable', 0);
fs.mkdirSync('closed');
fs.writeFileSync('closed/inside', 'x');
fs.chmodSync('closed', 0);
const sparse = fs.openSync('sparse', 'w');
fs.ftruncateSync(sparse, 5 * 1024 ** 3);
fs.mkdirSync('deep');
process.chdir('deep');
for (let level = 0; level < 30; level += 1) {
  const name = 'd'.repeat(200);
  fs.mkdirSync(name);
  process.chdir(name);
  if (level === 18) fs.writeFileSync('halfway', 'deeper than most disks go');
}
fs.writeFileSync('bottom', 'x');
process.exit(0);`;

const MANY = `import fs from 'node:fs';
const out = process.env.TASK_OUTPUT;
fs.mkdirSync(out + '/many', { recursive: true });
fs.copyFileSync(process.env.TASK_INPUT + '/word.txt', out + '/answer.txt');
for (let count = 0; count < 1500; count += 1) fs.writeFileSync(out + '/many/' + count, '');`;

const REPLACED = `import fs from 'node:fs';
for (const folder of [process.env.TASK_OUTPUT, process.env.EXAMHALL_WORK]) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.symlinkSync(${JSON.stringify(path.join(ground.folder, 'outside'))}, folder);
}`;

function folderOf(agent: string): string {
  const { run } = swept;
  if (run === undefined) throw new Error('the sweep did not run');
  return path.join(treeRoot, unitOf(run, agent, 'e2e/word').runDir ?? '?');
}

function notCollected(agent: string): readonly NotCollected[] {
  const file = path.join(folderOf(agent), 'origin_log/not_collected.json');
  return JSON.parse(readFileSync(file, 'utf8')) as readonly NotCollected[];
}

beforeAll(async () => {
  mkdirSync(outside);
  ground.write('outside/secret.txt', 'a secret outside');
  writeTask(ground, 'e2e/word');
  writeAgent(ground, 'mess', MESS);
  writeAgent(ground, 'many', MANY);
  writeAgent(ground, 'replaced', REPLACED);
  const file = writeExperiment(ground, {
    name: 'hostile-output',
    agents: ['mess', 'replaced', 'many'],
    tasks: [['e2e/word', [0]]],
  });
  swept.run = runOutput(await examhall(['run', file, ...ground.folderArgs, '--json'], { timeoutSeconds: 280 }));
});

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

describe('an output folder full of hostile names and kinds of file', () => {
  it('is graded by what is right in it', () => {
    const run = swept.run ?? ({} as RunOutput);
    expect(unitOf(run, 'mess', 'e2e/word')).toMatchObject({
      class: 'scored',
      status: 'completed',
      score: 1,
      attempts: 1,
    });
  });

  it('is kept under names that are safe and tell the name it had', () => {
    const kept = readdirSync(path.join(folderOf('mess'), 'output'));
    for (const name of ['answer.txt', 'grüße 日本.txt', 'two  spaces ', '-rf', '...']) expect(kept).toContain(name);
    const contents = kept
      .filter((name) => statSync(path.join(folderOf('mess'), 'output', name)).isFile())
      .map((name) => readFileSync(path.join(folderOf('mess'), 'output', name), 'utf8'));
    for (const name of ['grüße 日本.txt', 'two  spaces ', 'line\nfeed', '-rf', 'back\\slash', '...', 'record.json'])
      expect(contents).toContain(`fine: ${name}`);
    expect(contents).toContain('invalid UTF-8');
    expect(contents).toContain('a name that is longer as text');
    expect(contents).toContain('deeper than most disks go');
    for (const name of kept) expect(name).not.toMatch(/[\n\\]|^\.{1,2}$/u);
  });

  it('lists what was left and why', () => {
    const left = new Map(notCollected('mess').map((entry) => [entry.path, entry]));
    expect(left.get('link-to-passwd')).toMatchObject({ root: 'output/', kind: 'link', target: '/etc/passwd' });
    expect(left.get('link-outside')).toMatchObject({ kind: 'link', target: path.join(outside, 'secret.txt') });
    expect(left.get('link-up')).toMatchObject({ kind: 'link', target: '..' });
    expect(left.get('link-dangling')).toMatchObject({ kind: 'link', target: 'nowhere' });
    expect(left.get('link-loop-a')).toMatchObject({ kind: 'link', target: 'link-loop-b' });
    expect(left.get('pipe')).toMatchObject({ kind: 'other', skipped: 'not-regular' });
    expect(left.get('socket')).toMatchObject({ kind: 'other', skipped: 'not-regular' });
    expect(left.get('sparse')).toMatchObject({ skipped: 'too-large', sizeBytes: 5 * 1024 ** 3 });
    const deep = [...left.keys()].filter((name) => name.startsWith('deep/'));
    expect(deep.length).toBeGreaterThan(0);
  });

  it('holds nothing from behind its links', () => {
    const everything = readdirSync(folderOf('mess'), { recursive: true, withFileTypes: true });
    expect(everything.length).toBeGreaterThan(10);
    for (const entry of everything) {
      expect(entry.isSymbolicLink(), entry.name).toBe(false);
      if (!entry.isFile()) continue;
      const content = readFileSync(path.join(entry.parentPath, entry.name), 'latin1');
      expect(content, entry.name).not.toContain('a secret outside');
      expect(content, entry.name).not.toContain('root:x:0:0');
    }
  });
});

describe('a folder of many tiny files', () => {
  it('is collected whole below the limit of files', () => {
    const run = swept.run ?? ({} as RunOutput);
    expect(unitOf(run, 'many', 'e2e/word')).toMatchObject({ class: 'scored', status: 'completed', score: 1 });
    expect(readdirSync(path.join(folderOf('many'), 'output/many'))).toHaveLength(1500);
  });
});

describe('an output and a working folder that were replaced by links', () => {
  it('are not followed: the unit is graded on nothing', () => {
    const run = swept.run ?? ({} as RunOutput);
    expect(unitOf(run, 'replaced', 'e2e/word')).toMatchObject({ class: 'scored', score: 0, attempts: 1 });
    const names = readdirSync(folderOf('replaced'), { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => name.includes('secret'))).toEqual([]);
  });
});

describe('after hostile outputs', () => {
  it('every record verifies and blames nobody', async () => {
    for (const agent of ['mess', 'many', 'replaced']) {
      expect(await verifyRunFolder(folderOf(agent)), agent).toEqual([]);
      const run = swept.run ?? ({} as RunOutput);
      expect(recordOf(run, unitOf(run, agent, 'e2e/word')).verdict).toMatchObject({ signatureId: 'graded' });
    }
  });

  it('nothing outside the run folders was touched or left', () => {
    expect(readdirSync(outside)).toEqual(['secret.txt']);
    expect(existsSync(path.join(treeRoot, 'answer.txt'))).toBe(false);
    expect(readdirSync(treeRoot).sort()).toEqual(['.examhall', 'many', 'mess', 'replaced', 'report.html']);
    expect(leftoversOf(ground.folder, treeRoot, [])).toEqual(NOTHING);
  });
});
