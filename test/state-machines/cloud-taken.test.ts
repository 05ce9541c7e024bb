import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import { TeardownRowSchema } from '#core/rows';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import { apiEvent, routeNamed } from '#test/builders/api-call';
import { tier } from '#test/runner/tier';
import type { AgentScript } from './cloud-agents.ts';
import { untilAgentRuns } from './cloud-scenario-run.ts';
import { CloudWorld } from './cloud-world.ts';

const HOUR = 3_600_000;
const LONG_AFTER_LAUNCH = 10 * 60_000;
const STAGE_TAG = 'examhall:stage';
const GO = 'tmp/go';
/** Begins, and answers once it is told to. */
const WAITING: AgentScript = {
  source: `
    import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    while (!existsSync('/${GO}')) await sleep(50);
    mkdirSync(process.env.TASK_OUTPUT, { recursive: true });
    writeFileSync(process.env.TASK_OUTPUT + '/answer.txt', 'its answer');
  `,
};

/** Somebody takes the tag that makes a machine ours, and leaves its parts theirs or not. */
function take({ machines }: CloudWorld['cloud'], instanceId: string, withParts: boolean): void {
  const parts = [...machines.volumes.values(), ...machines.interfaces.values()].filter(
    (part) => part.instanceId === instanceId,
  );
  for (const each of [machines.all.get(instanceId), ...(withParts ? parts : [])]) each?.tags.delete(STAGE_TAG);
}

async function letGo(world: CloudWorld, instanceId: string): Promise<void> {
  await writeFile(path.join(await world.cloud.guests.diskOf(instanceId), GO), '');
}

/** When, of an attempt's life, its machine is taken. EC2 may not know the tags of a new one yet, so its being new is a case of its own. */
type When = 'under its agent' | 'under its agent, right after its launch' | 'before its output is collected';

/** Takes the machine of a world's first attempt, once. */
class Thief {
  world: CloudWorld | null = null;
  taken = '';
  readonly #withParts: boolean;

  constructor(withParts: boolean) {
    this.#withParts = withParts;
  }

  take(): string {
    const [first] = this.world?.cloud.machines.all.keys() ?? [];
    if (this.world === null || first === undefined) throw new Error('there is nothing to take');
    if (this.taken === '') take(this.world.cloud, first, this.#withParts);
    return (this.taken = first);
  }
}

/** One unit whose first machine is taken, to its end, and the reaper's rounds until long after the machine's time is over. */
async function through(when: When, withParts: boolean) {
  const thief = new Thief(withParts);
  const isBeforeCollect = when === 'before its output is collected';
  const world = await CloudWorld.open({
    invocation: async (name, call) => {
      if (isBeforeCollect && name === 'collect-output') thief.take();
      return await call();
    },
  });
  thief.world = world;
  const { sweepId, run } = await world.request(WAITING);
  const { done } = world.host.startSweep(sweepId, run);
  const first = await untilAgentRuns(world, 1);
  if (first === undefined) throw new Error('the agent never ran');
  if (when === 'under its agent') {
    world.cloud.commands.letTimePass();
    await world.clock.elapse(LONG_AFTER_LAUNCH);
  }
  if (!isBeforeCollect) thief.take();
  if (when !== 'under its agent') await letGo(world, first);
  const second = isBeforeCollect ? undefined : await untilAgentRuns(world, 2);
  if (second !== undefined) await letGo(world, second);
  await done;
  for (let hour = 0; hour < 8; hour += 1) await world.clock.elapse(HOUR);
  return { world, taken: thief.taken };
}

async function listed(world: CloudWorld): Promise<readonly SandboxEntry[]> {
  const found: SandboxEntry[] = [];
  const route = routeNamed('listSandboxes');
  let cursor: string | null = null;
  do {
    const event = apiEvent(route, cursor === null ? {} : { query: { cursor } });
    const { body } = (await world.host.invoke(route.function, event)) as { readonly body: string };
    const page = JSON.parse(body) as { readonly items: readonly SandboxEntry[]; readonly cursor: string | null };
    found.push(...page.items);
    cursor = page.cursor;
  } while (cursor !== null);
  return found;
}

async function ledger(world: CloudWorld) {
  const { unitId } = await world.unit();
  const { rows } = await world.store.query({ pk: rowKeys.teardown(`${unitId}.1`, '', '').pk, limit: 100 });
  return rows.map(({ body }) => TeardownRowSchema.parse(body));
}

const again = { unit: { class: 'scored', score: 1 }, blames: ['platform', 'agent'] };
const lost = { unit: { class: 'lost', score: null }, blames: ['platform'] };

tier('isolation')('a machine whose tag of the stage somebody takes', () => {
  it.each([
    ['under its agent', false, again],
    ['under its agent', true, again],
    ['under its agent, right after its launch', false, again],
    ['before its output is collected', false, lost],
  ] as const)(
    '%s (its parts too: %j) ends its attempt, blames no agent, is ended by nobody, and is told as detached',
    async (when, withParts, expected) => {
      const { world, taken } = await through(when, withParts);
      const { machines } = world.cloud;
      const why: unknown = expect.stringContaining('found without the tag that makes it ours');
      const attempts = await world.attempts();

      expect(await world.unit()).toMatchObject({ ...expected.unit, attempts: expected.blames.length });
      expect(attempts.map(({ verdict }) => verdict?.['blame'])).toEqual(expected.blames);
      for (const { closedAt } of attempts) expect(closedAt).not.toBeNull();

      expect(machines.all.get(taken)).toMatchObject({ state: 'running', endingAt: null });
      const told = world.cloud.callsOf('TerminateInstances').filter(({ body }) => body.includes(taken));
      if (when === 'under its agent') {
        expect(attempts[0]?.evidence).toContain('found without the tag that makes it ours');
        expect(told).toEqual([]);
      }
      const parts = [...machines.volumes.keys(), ...machines.interfaces.keys()];
      expect(parts).toHaveLength(2);
      expect((await world.leftovers()).toSorted()).toEqual([taken, ...parts].toSorted());

      const rows = await ledger(world);
      expect(rows.map(({ kind, end }) => [kind, end]).toSorted()).toEqual([
        ['intent', 'detached'],
        ['interface', 'detached'],
        ['machine', 'detached'],
        ['schedule', 'gone'],
        ['volume', 'detached'],
      ]);
      for (const row of rows) expect(row.why, row.kind).toEqual(row.end === 'gone' ? null : why);
      expect(await listed(world)).toMatchObject([
        { sandboxId: taken, state: 'ready', owner: 'detached', reaper: 'keep', why },
      ]);
      await world.close();
    },
    180_000,
  );
});
