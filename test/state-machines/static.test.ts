import { afterEach, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import { until } from '#test/unit/guest/guest-kit';
import { StaticWorld } from './static-world.ts';

const MINUTE = 60_000;
let world: StaticWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function outcomesOf(of: StaticWorld): Promise<readonly object[]> {
  return (await of.units()).map((unit) => ({ class: unit.class, score: unit.score, attempts: unit.attempts }));
}

/** Lets hours pass in which the reaper has its rounds, until nothing is left or six are over. */
async function settle(of: StaticWorld): Promise<readonly string[]> {
  for (let hour = 0; hour < 6 && (await of.leftovers()).length > 0; hour += 1) await of.clock.elapse(60 * MINUTE);
  return await of.leftovers();
}

/** Waits, in real time, until an agent is known to run on the machine. */
async function untilAgentRuns(of: StaticWorld): Promise<void> {
  await until(async () => (await of.attempts()).some(({ agentStartedAt }) => agentStartedAt !== null), 60);
}

const ANSWER = `content of input/base/code.txt by ${String(process.getuid?.())}`;

it('a unit runs on a machine that was given, through the function that calls guests alone, and leaves nothing behind', async () => {
  world = await StaticWorld.open();
  await (
    await world.start('quick')
  ).done;
  expect(await outcomesOf(world)).toEqual([{ class: 'scored', score: 1, attempts: 1 }]);
  expect(world.answers()).toEqual([ANSWER]);
  expect(world.passedOn).toBeGreaterThan(20);
  expect(world.log.events).not.toContain('job.lost-event');
  const [attempt] = await world.attempts();
  expect(attempt?.sandbox).toMatchObject({ provider: 'static', channel: 'cua', endpoint: world.endpoint });
  expect(await settle(world)).toEqual([]);
}, 180_000);

it('a second unit waits for the machine before it has a slot, and then runs on it', async () => {
  world = await StaticWorld.open();
  await (
    await world.start('quick', { trials: 2 })
  ).done;
  const done = { class: 'scored', score: 1, attempts: 1 };
  expect(await outcomesOf(world)).toEqual([done, done]);
  expect(world.answers()).toEqual([ANSWER, ANSWER]);
  const [first, second] = await world.attempts();
  expect(first?.closedAt).not.toBeNull();
  expect(String(second?.grantedAt) >= String(first?.stageEndedAt['release'])).toBe(true);
  expect((await world.units()).map(({ seat }) => seat)).toEqual(
    [1, 2].map(() => ({ name: `static ${world?.endpoint ?? ''}`, limit: 1 })),
  );
  expect(await settle(world)).toEqual([]);
}, 180_000);

it('a unit whose machine somebody else holds asks again until it is free', async () => {
  world = await StaticWorld.open();
  const { store, endpoint } = world;
  const [other, heldAt] = ['sbx-00000000000000000000', '2026-01-01T00:00:00.000Z'];
  const body = { endpoint, sandboxId: other, attemptId: 'other.1' };
  const attachment = { ...body, state: 'pending', expiresAt: heldAt, knobs: {}, folder: null, sandbox: null };
  await store.write([
    { put: { ...rowKeys.staticAttachment(other), body: attachment }, when: 'absent' },
    { put: { ...rowKeys.staticLock(endpoint), body: { ...body, heldAt } }, when: 'absent' },
  ]);
  const { done } = await world.start('quick');
  // The attempt of another stage's sweep is nobody's here: the reaper ends it at its second sighting.
  await done;
  const refused = world.log.lines.filter(({ fields }) => JSON.stringify(fields).includes('CapacityUnavailableError'));
  expect(refused.length).toBeGreaterThan(0);
  expect(JSON.stringify(refused[0]?.fields)).toContain('is held by attempt other.1 (since 2026-01-01T00:00:00.000Z)');
  // Chance decides how long the repeats of one attempt last; where they end first, the next one has the machine.
  const [outcome] = await outcomesOf(world);
  expect(outcome).toMatchObject({ class: 'scored', score: 1 });
  expect((await world.attempts()).length).toBeLessThanOrEqual(3);
  const verdicts = (await world.attempts()).slice(0, -1).map(({ verdict }) => verdict?.['blame']);
  expect(verdicts.filter((blame) => blame !== 'platform')).toEqual([]);
  expect(await settle(world)).toEqual([]);
}, 180_000);

it('a machine that stops answering while a unit is staged is lost by the platform, and the next attempt waits until it answers', async () => {
  let staged = 0;
  world = await StaticWorld.open(async (name, call) => {
    const answer = await call();
    if (name !== 'stage-unit') return answer;
    staged += 1;
    if (staged > 1) return answer;
    await world?.silence();
    world?.clock.setTimer(30 * MINUTE, () => void world?.answerAgain(), { background: true });
    return answer;
  });
  await (
    await world.start('quick')
  ).done;
  expect(await outcomesOf(world)).toEqual([{ class: 'scored', score: 1, attempts: 2 }]);
  const [lost] = await world.attempts();
  expect(lost?.error).toMatchObject({ name: 'SandboxLostError', state: 'StageUnit' });
  expect(lost?.verdict).toMatchObject({ blame: 'platform' });
  expect(await settle(world)).toEqual([]);
}, 180_000);

it('a machine that stops answering under its agent is held until it answers again, and the agent is dead then', async () => {
  world = await StaticWorld.open();
  const { done } = await world.start('endless');
  await untilAgentRuns(world);
  await world.silence();
  await done;
  const [lost] = await world.attempts();
  expect(lost?.error).toMatchObject({ name: 'SandboxLostError', state: 'RunAgent' });
  expect(await outcomesOf(world)).toEqual([{ class: 'forfeited', score: null, attempts: 1 }]);
  expect(await world.holds()).toHaveLength(2);
  expect(await world.foldersThere()).toHaveLength(1);
  await world.answerAgain();
  expect(await settle(world)).toEqual([]);
}, 180_000);

it.each(['reap-sandboxes', 'expire-sandbox'])(
  'a machine whose attempt has nobody left but %s is freed once its time is over',
  async (alive) => {
    let isDead = false;
    world = await StaticWorld.open(async (name, call) => {
      if (!isDead || name === alive) return await call();
      throw Object.assign(new Error(`${name} is dead`), { name: 'Lambda.ServiceException' });
    });
    const { done } = await world.start('endless');
    await untilAgentRuns(world);
    isDead = true;
    const [attempt] = await world.attempts();
    await world.clock.elapse(Date.parse(attempt?.expiresAt ?? '') - world.clock.now().getTime() + 30 * MINUTE);
    expect([await world.holds(), await world.foldersThere()]).toEqual([[], []]);
    isDead = false;
    await done;
    expect(await settle(world)).toEqual([]);
  },
  180_000,
);

it('a machine that the settings do not list is refused by the plan, by its address, and nothing is asked of it', async () => {
  world = await StaticWorld.open();
  const { done } = await world.start('quick', { snapshots: { '*': world.snapshot('http://10.9.9.9:5000') } });
  await done;
  await expect(world.host.invoke('plan-sweep', { sweepId: 'first', run: 1 })).rejects.toMatchObject({
    name: 'SandboxRefusedError',
    message: expect.stringMatching(
      /snapshot "cpu-free-ubuntu": provider static cannot give endpoint "http:\/\/10\.9\.9\.9:5000" \(allowed: .*sandboxes\.staticHosts in the settings, which lists 127\.0\.0\.1:\d+; add the machine there and deploy\)/u,
    ) as string,
  });
  expect(await world.units()).toEqual([]);
  expect(world.passedOn).toBe(0);
}, 60_000);
