import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agentProblems } from '#core/offered-agent';
import { OFFER_LIMITS } from '#core/offered-files';
import { taskProblems } from '#core/offered-task';
import { AgentOfferSchema, TaskOfferSchema, type AgentOffer, type TaskOffer } from '#contracts/publish-offer';
import { compileAgent } from '#local/publish/compile-agent';
import { compileTask } from '#local/publish/compile-task';
import { openPublishFixture, type PublishFixture } from './publish-fixture.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

let fixture: PublishFixture;
let task: TaskOffer;
let agent: AgentOffer;

const AGENT: Readonly<Record<string, string>> = {
  'walker/agent.json': JSON.stringify({
    id: 'walker',
    version: '1.0.0',
    harness: 'walker',
    description: 'Walks.',
    executor: 'sandbox',
    runtime: { node: '20' },
    recordings: true,
    launch: 'launch.ts',
    parser: 'parser.ts',
  }),
  'walker/launch.ts': 'console.log(1);',
  'walker/parser.ts': 'export const parse = () => undefined;',
  'walker/demo__hello.json': JSON.stringify({ version: 1, task: 'demo/hello', steps: [{ run: 'true' }] }),
};

beforeAll(async () => {
  fixture = await openPublishFixture();
  task = TaskOfferSchema.parse(strip(await compileTask(await fixture.writeTask(), fixture.deps)));
  await fixture.write(AGENT);
  const compiled = await compileAgent(`${fixture.folder}/walker`, fixture.deps).catch((error: unknown) => {
    throw new Error(`the agent of this test is not right: ${String(error)}`);
  });
  agent = AgentOfferSchema.parse(strip(compiled));
});
afterAll(async () => {
  await fixture.close();
});

function strip<T extends { readonly uploads: unknown }>({ uploads: _, ...offer }: T): Omit<T, 'uploads'> {
  return offer;
}

type Path = readonly (string | number)[];

/** Places of every value of a document that is no list or object. */
function leavesOf(value: unknown, at: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([key, item]) =>
    leavesOf(item, [...at, Array.isArray(value) ? Number(key) : key]),
  );
}

function changed(value: unknown, [key, ...rest]: Path, to: unknown): unknown {
  if (key === undefined) return to;
  if (Array.isArray(value)) return value.map((item: unknown, at) => (at === key ? changed(item, rest, to) : item));
  return { ...(value as object), [key]: changed((value as Record<string, unknown>)[String(key)], rest, to) };
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[String(key)], value);
}

const anotherValue = (value: unknown): fc.Arbitrary<unknown> =>
  typeof value === 'boolean'
    ? fc.constant(!value)
    : typeof value === 'number'
      ? fc.integer({ min: 0, max: 1_000_000 }).filter((other) => other !== value)
      : fc
          .oneof(
            fc.string(),
            fc.constantFrom('../../x', '/etc/passwd', 'a/../b', '', '\u0000', `sha256:${'0'.repeat(64)}`),
            fc.constant(sha256('other')),
          )
          .filter((other) => other !== value);

/** A size says nothing of itself: content of that hash has one size, and no other is ever found. */
const isSize = (path: Path): boolean => path.at(-1) === 'sizeBytes';

describe('what a publisher offers', () => {
  it('is taken as it was compiled', () => {
    expect(taskProblems(task, sha256)).toEqual([]);
    expect(agentProblems(agent.agent, sha256)).toEqual([]);
    expect(task.source.length).toBeGreaterThan(5);
    expect(Object.keys(agent.agent.recordings)).toEqual(['demo/hello']);
  });

  it('cannot be changed anywhere in a task without being refused', () => {
    const leaves = leavesOf(task).filter((path) => !isSize(path));
    expect(leaves.length).toBeGreaterThan(50);
    const cases = fc
      .constantFrom(...leaves)
      .chain((path) => fc.tuple(fc.constant(path), anotherValue(valueAt(task, path))));
    fc.assert(
      fc.property(cases, ([path, value]) => {
        const parsed = TaskOfferSchema.safeParse(changed(task, path, value));
        return !parsed.success || taskProblems(parsed.data, sha256).length > 0;
      }),
      { numRuns: 800 },
    );
  });

  it('cannot be changed anywhere in an agent without being refused', () => {
    const leaves = leavesOf(agent).filter((path) => !isSize(path));
    expect(leaves.length).toBeGreaterThan(15);
    const cases = fc
      .constantFrom(...leaves)
      .chain((path) => fc.tuple(fc.constant(path), anotherValue(valueAt(agent, path))));
    fc.assert(
      fc.property(cases, ([path, value]) => {
        const parsed = AgentOfferSchema.safeParse(changed(agent, path, value));
        return !parsed.success || agentProblems(parsed.data.agent, sha256).length > 0;
      }),
      { numRuns: 1000 },
    );
  });

  it('leaves nothing out that lies in a published folder, and adds nothing', () => {
    const places = (offer: TaskOffer): readonly string[] => taskProblems(offer, sha256).map(({ path }) => path);
    const without = { ...task, source: task.source.filter(({ path }) => path !== 'input/b/x.txt') };
    expect(places(without)).toContain('body.task.variants[1].input[0]');
    const more = { ...task, source: [...task.source, { path: 'input/b/more', kind: 'file', value: 'x' } as const] };
    expect(places(more)).toContain(`body.source[${String(task.source.length)}]`);
    expect(places({ ...task, source: [...task.source, ...task.source] })).toContain(
      `body.source[${String(task.source.length)}].path`,
    );
  });

  it('never has a reference or a solution where agents’ files lie', () => {
    const references = task.references.variants.map(({ name, reference }) => ({
      name,
      reference: reference.map((file) => ({ ...file, key: file.key.replace('/reference/', '/input/') })),
    }));
    const moved = { ...task, references: { ...task.references, variants: references } };
    expect(taskProblems(moved, sha256).map(({ path }) => path)).toContain(
      'body.references.variants[0].reference[0].key',
    );
    const [first] = task.solutions.variants;
    const [file] = first?.solution ?? [];
    const key = file?.key.replace(/^solutions\//u, 'tasks/') ?? '';
    const open = changed(task, ['solutions', 'variants', 0, 'solution', 0, 'key'], key);
    expect(taskProblems(TaskOfferSchema.parse(open), sha256).map(({ path }) => path)).toContain(
      'body.solutions.variants[0].solution[0].key',
    );
  });

  it('has no name that an upload form would replace', () => {
    const named = changed(task, ['task', 'variants', 0, 'input', 0, 'key'], 'tasks/demo/hello/x/input/${filename}');
    expect(taskProblems(TaskOfferSchema.parse(named), sha256)).toContainEqual({
      path: 'body.task.variants[0].input[0].key',
      message: 'holds ${filename}, which upload forms replace: rename it',
    });
  });

  it('is bounded in files and bytes', () => {
    const large = changed(task, ['task', 'variants', 0, 'input', 0, 'sizeBytes'], OFFER_LIMITS.fileBytes + 1);
    expect(taskProblems(TaskOfferSchema.parse(large), sha256).map(({ path }) => path)).toContain(
      'body.task.variants[0].input[0].sizeBytes',
    );
    const code = changed(task, ['task', 'module', 'sizeBytes'], OFFER_LIMITS.moduleBytes + 1);
    expect(taskProblems(TaskOfferSchema.parse(code), sha256)).toMatchObject([{ path: 'body.task.module.sizeBytes' }]);
    const [input] = task.task.variants[0]?.input ?? [];
    const many = Array.from({ length: OFFER_LIMITS.files + 1 }, () => input);
    const crowded = changed(task, ['task', 'variants', 0, 'input'], many);
    expect(taskProblems(TaskOfferSchema.parse(crowded), sha256).map(({ path }) => path)).toContain('body');
  });
});
