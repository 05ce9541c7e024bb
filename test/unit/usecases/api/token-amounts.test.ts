import { describe, expect, it } from 'vitest';
import { objectKeys } from '#core/keys';
import type { TrajectoryDraft } from '#core/trajectory-types';
import { UnitDetailSchema } from '#contracts/api-schemas';
import { ATTEMPT, runTo, UNIT } from '#test/builders/attempt-run';
import { API_POLICY, call } from '#test/builders/api-call';
import { World } from '#test/builders/world';

const AMOUNT = '0.8125';
const priced = { prompt_tokens: 10, completion_tokens: 3, cost_usd: Number(AMOUNT) };
const unpriced = { prompt_tokens: 10, completion_tokens: 3 };

/** A closed attempt, in a folder of its sweep's own as on AWS, whose agent's trajectory is as given. */
async function closed(metrics: object, finalMetrics?: TrajectoryDraft['finalMetrics']): Promise<World> {
  const world = new World({ policy: API_POLICY });
  const steps = [{ source: 'agent', message: 'Done.', metrics }];
  world.modules.behave['parse'] = () => ({ value: { steps, ...(finalMetrics === undefined ? {} : { finalMetrics }) } });
  await runTo(world, 'closeUnit', { treeDir: 'first' });
  for (const [file, content] of world.runTree.files)
    await world.artifacts.put({ bucket: 'artifacts', key: `runs/${file}` }, content);
  return world;
}

/** Files that a caller is linked to, with what they hold. */
async function linked(world: World, role: 'admin' | 'viewer' | 'finance'): Promise<ReadonlyMap<string, string>> {
  const { attemptList } = UnitDetailSchema.parse(await call(world, 'getUnit', { role, id: UNIT }));
  const [attempt] = attemptList;
  const contents = new Map<string, string>();
  for (const { path } of attempt?.files ?? []) {
    const ref = { bucket: 'artifacts', key: objectKeys.run(attempt?.runDir ?? '', path) } as const;
    contents.set(path, new TextDecoder().decode(await world.artifacts.get(ref)));
  }
  return contents;
}

const holding = (files: ReadonlyMap<string, string>): readonly string[] =>
  [...files].filter(([, content]) => content.includes(AMOUNT)).map(([path]) => path);

describe('an agent that names what its tokens cost', () => {
  it.each([
    ['in its steps', priced, undefined],
    ['in total', unpriced, { total_cost_usd: Number(AMOUNT) }],
    ['in its steps, and a total of nothing', priced, { total_cost_usd: 0 }],
  ])('%s: is in no file that a viewer is linked to', async (_, metrics, totals) => {
    const world = await closed(metrics, totals);
    expect(holding(await linked(world, 'admin'))).toEqual(['cost.json', 'run.json', 'trajectory.json']);
    const seen = await linked(world, 'viewer');
    expect([...seen.keys()]).toEqual(expect.arrayContaining(['eval_result.json', 'events.jsonl', 'record.json']));
    expect(holding(seen)).toEqual([]);
  });

  it('and whose attempt has no cost in its row: the record says so', async () => {
    const world = await closed(priced);
    await world.changeAttempt(ATTEMPT, { cost: null });
    expect(holding(await linked(world, 'viewer'))).toEqual([]);
  });

  it('may have done so where neither says anything of tokens', async () => {
    const world = await closed(unpriced);
    const runDir = (await world.attempt(ATTEMPT)).runDir ?? '';
    const ref = { bucket: 'artifacts', key: objectKeys.run(runDir, 'record.json') } as const;
    const { cost: _, ...record } = JSON.parse(new TextDecoder().decode(await world.artifacts.get(ref))) as {
      cost: unknown;
    };
    await world.artifacts.put(ref, JSON.stringify(record));
    await world.changeAttempt(ATTEMPT, { cost: null });
    const seen = [...(await linked(world, 'viewer')).keys()];
    expect(seen).not.toContain('run.json');
    expect(seen).toContain('events.jsonl');
  });
});

it('an agent that names no price has its run and trajectory shown to everybody', async () => {
  const seen = await linked(await closed(unpriced), 'viewer');
  expect([...seen.keys()]).toEqual(expect.arrayContaining(['run.json', 'trajectory.json']));
});
