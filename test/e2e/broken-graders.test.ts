import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { verifyRunFolder } from '#local/verify-run-folder';
import { endAllCli, examhall } from './cli-process.ts';
import { taskModule, testGround, writeExperiment, writeTask } from './experiment-files.ts';
import { leftoversOf, NOTHING } from './leftovers.ts';
import { later, MIXED_SWEEP, sweep, type SweptExperiment } from './swept-experiment.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

const ground = testGround();
const swept = later<SweptExperiment>();

interface Broken {
  readonly task: string;
  readonly body: string;
  readonly says: RegExp;
  /** Limit of the grading; default 4. */
  readonly seconds?: number;
}

/** `evaluate` in every way that gives no grade. */
const BROKEN: readonly Broken[] = [
  { task: 'e2e/hangs', body: `while (true);`, says: /time/iu },
  { task: 'e2e/waits', body: `await new Promise(() => setInterval(() => undefined, 1000)); return 1;`, says: /time/iu },
  { task: 'e2e/throws', body: `throw new RangeError('no such column');`, says: /RangeError: no such column/u },
  { task: 'e2e/exits', body: `(globalThis as any).process.exit(0);`, says: /exit/iu },
  {
    task: 'e2e/allocates',
    body: `const all: unknown[] = []; while (true) all.push(new Array(1e6).fill(all.length));`,
    seconds: 60,
    says: /memory/iu,
  },
  {
    task: 'e2e/prints',
    body: `const block = 'x'.repeat(1 << 20); for (let n = 0; n < 1024; n += 1) console.log(block); return Number.NaN;`,
    says: /returned nan/u,
  },
  { task: 'e2e/nan', body: `return Number.NaN;`, says: /nan/u },
  { task: 'e2e/above', body: `return 1.7;`, says: /returned 1\.7/u },
  { task: 'e2e/below', body: `return -0.2;`, says: /returned -0\.2/u },
  { task: 'e2e/truth', body: `return true as any;`, says: /returned true/u },
  { task: 'e2e/list', body: `return [1] as any;`, says: /returned \[1\]/u },
  { task: 'e2e/text', body: `return '1' as any;`, says: /returned "1"/u },
  { task: 'e2e/nothing', body: `return undefined as any;`, says: /returned nothing|returned undefined/u },
];

const GOOD: readonly (Omit<Broken, 'says'> & { readonly score: number })[] = [
  { task: 'e2e/number', body: `return 0.25;`, score: 0.25 },
  { task: 'e2e/details', body: `return { score: 0.5, why: 'half of it' };`, score: 0.5 },
];

const SETUP_THROWS = `${taskModule(['base'], 'return 1;')}
export async function start() {
  throw new Error('the input is not what start expects');
}
`;

beforeAll(async () => {
  for (const { task, body, seconds = 4 } of [...BROKEN, ...GOOD])
    writeTask(ground, task, {
      module: taskModule(['base'], `  ${body}`),
      gradingSeconds: seconds,
      snapshot: 'nothing',
    });
  writeTask(ground, 'e2e/setup', { module: SETUP_THROWS, snapshot: 'nothing' });
  const tasks = [...BROKEN, ...GOOD, { task: 'e2e/setup' }].map(({ task }) => [task, [0]] as const);
  const providers = { nothing: 'process' };
  const text = { name: 'graders', agents: ['nop'], tasks, providers, more: 'max_attempts: 3\n' };
  swept.set(await sweep(ground, text, MIXED_SWEEP));
});

afterAll(async () => {
  await endAllCli();
  ground.remove();
});

describe('a task whose evaluate', () => {
  it.each(BROKEN)('is broken leaves its unit ungraded and is named: $task', ({ task, says }) => {
    const { unit, record } = swept.get();
    expect(unit('nop', task)).toMatchObject({ class: 'task_fault', score: null, attempts: 1 });
    const { grade, verdict } = record('nop', task);
    expect(grade).toMatchObject({ kind: 'ungraded', blame: 'task' });
    expect(grade?.message).toMatch(says);
    expect(verdict).toMatchObject({ blame: 'task', retry: false });
  });

  it.each(GOOD)('returns a score has a grade: $task', ({ task, score }) => {
    expect(swept.get().unit('nop', task)).toMatchObject({ class: 'scored', status: 'completed', score });
  });
});

describe('a task whose start throws', () => {
  it('is not given to an agent; the unit is the fault of the task', () => {
    const { unit, record } = swept.get();
    expect(unit('nop', 'e2e/setup')).toMatchObject({ class: 'task_fault', score: null, attempts: 1 });
    const { error, verdict, outcome } = record('nop', 'e2e/setup');
    expect(outcome).toBeNull();
    expect(error).toMatchObject({ name: 'TaskSetupError' });
    expect(error?.message).toContain('the input is not what start expects');
    expect(verdict).toMatchObject({ blame: 'task', retry: false });
  });
});

describe('a sweep with broken tasks', () => {
  it('goes on to its end and exits 1', () => {
    expect(swept.get().run.executionStatus).toBe('SUCCEEDED');
    expect(swept.get().end.code).toBe(1);
  });

  it('has a good record of every unit, and leaves nothing running', async () => {
    const { run, folder, treeRoot } = swept.get();
    expect(run.units).toHaveLength(BROKEN.length + GOOD.length + 1);
    for (const { task } of run.units) expect(await verifyRunFolder(folder('nop', task)), task).toEqual([]);
    expect(leftoversOf(ground.folder, treeRoot, [])).toEqual(NOTHING);
  });
});

describe('a task that cannot be published', () => {
  const cases = [
    {
      what: 'load throws',
      task: 'e2e/load-throws',
      change: (folder: string) =>
        ground.write(
          `${folder}/task.ts`,
          `export function load() {\n  throw new Error('no variants today');\n}\nexport const evaluate = () => 1;\n`,
        ),
      says: ['e2e/load-throws/task.ts', 'no variants today'],
    },
    {
      what: 'the card is no JSON',
      task: 'e2e/card-broken',
      change: (folder: string) => ground.write(`${folder}/task_card.json`, `{"vm": {"snapshot": "cpu-free-ubuntu",}}`),
      says: ['e2e/card-broken/task_card.json:1:', 'not valid JSON', 'allowed: JSON'],
    },
  ];

  it.each(cases)('stops the run before anything starts, with the file: $what', async ({ task, change, says }) => {
    writeTask(ground, task);
    writeTask(ground, 'e2e/good');
    change(`tasks/${task}`);
    const name = task.replace('/', '-');
    const file = writeExperiment(ground, {
      name,
      agents: ['nop'],
      tasks: [
        ['e2e/good', [0]],
        [task, [0]],
      ],
    });
    const end = await examhall(['run', file, ...ground.folderArgs]);
    expect(end.code, end.stderr).toBe(2);
    for (const text of says) expect(end.stderr).toContain(text);
    expect(end.stderr).not.toMatch(/^\s+at /mu);
  });
});
