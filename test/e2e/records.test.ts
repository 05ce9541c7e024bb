import { cpSync, existsSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { endAllCli, examhall, startExamhall } from './cli-process.ts';
import { testGround, writeAgent, writeExperiment, writeTask } from './experiment-files.ts';
import { runOutput } from './json-output.ts';
import { later, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const swept = later<SweptExperiment>();
const TASK = 'e2e/word';
const root = path.join(ground.folder, 'out');
const ORACLE = 'kept__oracle__unknown-model__e2e__word__v0';

function copyOf(folder: string): string {
  const copy = path.join(ground.folder, 'copy');
  rmSync(copy, { recursive: true, force: true });
  cpSync(folder, copy, { recursive: true });
  return copy;
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(path.join(folder, name)).isFile())
    .sort();
}

beforeAll(async () => {
  writeTask(ground, TASK);
  writeAgent(ground, 'failing', `console.log('no'); process.exit(4);`);
  swept.set(await sweep(ground, { name: 'kept', agents: ['oracle', 'failing'], tasks: [[TASK, [0]]] }));
});

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

describe('examhall verify', () => {
  it('says that a record is good, by its folder and by its file', async () => {
    const folder = swept.get().folder('oracle', TASK);
    const end = await examhall(['verify', folder, path.join(swept.get().folder('failing', TASK), 'record.json')]);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    expect(end.stdout).toBe(`${folder}: good\n${swept.get().folder('failing', TASK)}: good\n`);
  });

  it('names the one file in which a byte was flipped, whichever it is', async () => {
    const copy = copyOf(swept.get().folder('oracle', TASK));
    const files = filesOf(copy);
    const kinds = [
      'record.json',
      'run.json',
      'eval_result.json',
      'events.jsonl',
      'trajectory.json',
      'output/answer.txt',
    ];
    expect(files).toEqual(expect.arrayContaining([...kinds, 'origin_log/oracle/transcript.jsonl']));
    for (const file of files) {
      const bytes = readFileSync(path.join(copy, file));
      if (bytes.length === 0) continue;
      const flipped = Buffer.from(bytes);
      const place = Math.floor(bytes.length / 2);
      flipped[place] = (flipped[place] ?? 0) ^ 1;
      writeFileSync(path.join(copy, file), flipped);
      const problems = await verifyRunFolder(copy);
      expect([...new Set(problems.map((problem) => problem.path))], file).toEqual([file]);
      writeFileSync(path.join(copy, file), bytes);
    }
    expect(await verifyRunFolder(copy)).toEqual([]);
  });

  it('names what was flipped, removed and added, and exits 1', async () => {
    const copy = copyOf(swept.get().folder('oracle', TASK));
    writeFileSync(path.join(copy, 'output/answer.txt'), 'THE word of base\n');
    rmSync(path.join(copy, 'eval_result.json'));
    writeFileSync(path.join(copy, 'output/more.txt'), '');
    const end = await examhall(['verify', copy, '--json']);
    expect(end).toMatchObject({ code: 1, stderr: '' });
    const { good, problems } = JSON.parse(end.stdout) as {
      readonly good: boolean;
      readonly problems: readonly { readonly path: string; readonly kind: string }[];
    };
    expect(good).toBe(false);
    const found = problems.map(({ path: file, kind }) => `${kind} ${file}`);
    expect(found).toEqual(
      expect.arrayContaining(['changed output/answer.txt', 'missing eval_result.json', 'added output/more.txt']),
    );
    const text = await examhall(['verify', copy]);
    expect(text.code).toBe(1);
    expect(text.stdout).toContain(`${copy}/output/more.txt: added: `);
    expect(text.stdout).not.toContain('\u001b');
  });
});

describe('examhall show', () => {
  it.each([
    ['an attempt', `${ORACLE}.1`],
    ['a part that only it has', 'oracle__unknown'],
  ])('shows a unit by %s', async (_, wanted) => {
    const end = await examhall(['show', wanted, '--root', root]);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const lines = end.stdout.split('\n');
    expect(lines[0]).toBe(ORACLE);
    expect(end.stdout).toContain('scored, completed, score 1');
    expect(end.stdout).toMatch(/^attempt 1 {2}granted \S+Z {2}closed \S+Z$/mu);
    expect(end.stdout).toMatch(/^ {2}made \w+ \S+: gone \S+Z$/mu);
    const record = /^ {2}record: {2}(\S+)$/mu.exec(end.stdout)?.[1] ?? '?';
    expect(existsSync(record), record).toBe(true);
  });

  it('shows a unit as JSON', async () => {
    const end = await examhall(['show', 'failing', '--root', root, '--json']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    const shown = JSON.parse(end.stdout) as { readonly unit: object; readonly attempts: readonly object[] };
    expect(shown.unit).toMatchObject({ agentId: 'failing', status: 'failed', class: 'scored', score: 0 });
    expect(shown.attempts).toHaveLength(1);
  });

  it('lists the units that a part fits, and says what to do when none or many do', async () => {
    const many = await examhall(['show', 'e2e__word', '--root', root]);
    expect(many).toMatchObject({ code: 2, stdout: '' });
    expect(many.stderr).toContain('2 units match "e2e__word"; give more of the id:\n');
    expect(many.stderr).toContain(`  ${ORACLE}\n`);
    const none = await examhall(['show', 'codex', '--root', root]);
    expect(none).toMatchObject({ code: 2, stdout: '' });
    expect(none.stderr).toContain(`no unit matches "codex" below ${root}`);
  });
});

describe('report.html', () => {
  const html = (): string => readFileSync(swept.get().run.report, 'utf8');

  it('links to records that exist, and to nothing outside the tree', () => {
    const links = [...html().matchAll(/\bhref="([^"#]+)"/gu)].map(([, link]) => link ?? '');
    expect(links.length).toBeGreaterThanOrEqual(2);
    for (const link of links) {
      expect(link).not.toMatch(/^(?:[a-z]+:|\/)/u);
      expect(existsSync(path.join(swept.get().treeRoot, decodeURIComponent(link))), link).toBe(true);
    }
  });

  it('loads nothing from elsewhere', () => {
    expect(html()).not.toMatch(/<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=/u);
    expect(html()).not.toMatch(/url\(|@import/u);
  });

  it('counts every unit of the plan in one class', () => {
    const text = html()
      .replaceAll(/<[^>]+>/gu, ' ')
      .replaceAll(/\s+/gu, ' ');
    const [, sum = '', planned] = /((?:\d+ [a-z ]+\+ )+\d+ [a-z ]+)= (\d+) planned/u.exec(text) ?? [];
    const counts = sum.split('+').map((part) => /^\s*(\d+) ([a-z ]+?)\s*$/u.exec(part)?.slice(1) ?? []);
    expect(counts.map(([, name]) => name)).toEqual(['scored', 'forfeited', 'lost', 'task fault', 'not run', 'open']);
    expect(counts.map(([count]) => Number(count))).toEqual([2, 0, 0, 0, 0, 0]);
    expect(Number(planned)).toBe(swept.get().run.units.length);
  });
});

describe('two runs of one experiment at once', () => {
  it('are not: the second is told the process of the first, and the first goes on', async () => {
    writeAgent(ground, 'waits', 'setTimeout(() => process.exit(0), 2500);');
    const file = writeExperiment(ground, { name: 'busy', agents: ['waits'], tasks: [[TASK, [0]]] });
    const first = startExamhall(['run', file, ...ground.folderArgs, '--json']);
    const lock = path.join(root, 'busy/.examhall/lock.json');
    for (let waited = 0; waited < 1000 && !existsSync(lock); waited += 1)
      await new Promise((resolve) => setTimeout(resolve, 20));
    const second = await examhall(['run', file, ...ground.folderArgs]);
    expect(second).toMatchObject({ code: 2, stdout: '' });
    expect(second.stderr).toContain(`process ${String(first.pid)} is running this experiment`);
    const end = await first.ended;
    expect(end.code, end.stderr).toBe(0);
    expect(runOutput(end).units).toMatchObject([{ status: 'completed', attempts: 1 }]);
    expect(existsSync(lock)).toBe(false);
  });
});
