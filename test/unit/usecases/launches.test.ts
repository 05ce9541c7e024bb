import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { RecordSchema } from '#contracts/record-schema';
import { objectKeys, rowKeys } from '#core/keys';
import { EMPTY_COUNTERS, LaunchBrakeRowSchema, SlotCountersSchema, SweepRowSchema } from '#core/rows';
import type { LaunchLog, SandboxOffer } from '#ports/sandbox-provider';
import { admitUnit } from '#usecases/admit-unit';
import { closeAttempt } from '#usecases/close-attempt';
import { grantSlots } from '#usecases/grant-slots';
import { provisionSandbox } from '#usecases/provision-sandbox';
import { reapSandboxes } from '#usecases/reap-sandboxes';
import { recordUnit } from '#usecases/record-unit';
import { releaseSandbox } from '#usecases/release-sandbox';
import { abandonUnit } from '#usecases/steps/abandon';
import { openLaunchLog } from '#usecases/steps/launch-log';
import { teardownRows } from '#usecases/steps/teardown';
import { ATTEMPT, failure, ids, runTo, UNIT } from '#test/builders/attempt-run';
import { billedMachine } from '#test/builders/costs';
import { World, type WorldOptions } from '#test/builders/world';

const POOL = 'm7i.large us-east-1a';
const MINUTE = 60_000;
const log = async (world: World, attemptId = ATTEMPT): Promise<LaunchLog> =>
  await openLaunchLog(world.ports, { attemptId, provider: 'noop' });
const brakeOf = async (world: World) =>
  LaunchBrakeRowSchema.parse((await world.store.get(rowKeys.launchBrake('noop')))?.body).factor;
const heldVCpus = async (world: World) =>
  SlotCountersSchema.parse((await world.store.get(rowKeys.slotCounters()))?.body ?? EMPTY_COUNTERS).vCpusByProvider;

describe('the log of launches', () => {
  it('is written before the launch is sent, and read again by the call that repeats it', async () => {
    const world = new World();
    expect((await log(world)).last).toBeNull();
    await (await log(world)).note({ launchTry: 2, pool: POOL });
    expect((await log(world)).last).toMatchObject({ launchTry: 2, pool: POOL, refused: false });
    await (await log(world)).refused(POOL, 'capacity');
    expect((await log(world)).last).toMatchObject({ launchTry: 2, pool: POOL, refused: true });
    expect((await log(world, 'another.1')).last).toBeNull();
  });

  it('row 9: names pools without capacity to every attempt for ten minutes, and no longer', async () => {
    const world = new World();
    await (await log(world)).refused(POOL, 'capacity');
    expect((await log(world, 'another.1')).coolingPools).toEqual([POOL]);
    await world.clock.advance(10 * MINUTE);
    expect((await log(world, 'another.1')).coolingPools).toEqual([]);
    expect(world.log.events).toContain('launch.refused');
  });

  it('row 10: halves the launches of a provider whose quota refused one, once a minute, until it holds no more', async () => {
    const world = new World();
    await (await log(world)).refused(POOL, 'quota');
    await (await log(world, 'another.1')).refused(POOL, 'quota');
    expect(await brakeOf(world)).toBe(0.5);
    await world.clock.advance(MINUTE + 1);
    await (await log(world)).refused(POOL, 'quota');
    expect(await brakeOf(world)).toBe(0.25);
    expect((await log(world)).coolingPools).toEqual([]);
    for (let minute = 0; minute < 9; minute += 1) {
      await world.clock.advance(MINUTE + 1);
      await (await log(world)).refused(POOL, 'quota');
    }
    expect(await brakeOf(world)).toBe(1 / 64);
    await world.clock.advance(10 * MINUTE);
    await (await log(world)).refused(POOL, 'quota');
    expect(await brakeOf(world)).toBe(0.5);
  });

  it('row 10: lets grant-slots launch one machine a minute where it braked it most, in however many passes', async () => {
    const world = new World();
    const { items } = await world.plan({ trials: 3 });
    for (const { sweepId, run, unitId } of items)
      await admitUnit({ sweepId, run, unitId, attempt: 1, token: unitId }, world.ports);
    const body = { provider: 'noop', factor: 1 / 64, until: '2026-01-01T00:10:00.000Z' };
    await world.store.write([{ put: { ...rowKeys.launchBrake('noop'), body }, when: 'any' }]);
    await grantSlots({}, world.ports);
    await grantSlots({ sweepId: 'first' }, world.ports);
    expect(world.tokens.answers.size).toBe(1);
    await world.clock.advance(MINUTE);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(2);
    await world.clock.advance(9 * MINUTE);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(3);
  });
});

/** A provider that notes its launch, and then is cut off or refused. */
async function cutOff(refusal: 'capacity' | null, options: WorldOptions = {}): Promise<World> {
  const world = new World(options);
  await runTo(world, 'admit');
  world.machines.acquire = async (_spec, launches) => {
    await launches?.note({ launchTry: 1, pool: POOL });
    if (refusal !== null) await launches?.refused(POOL, refusal);
    throw new ExamHallError('ProvisionFailedError', 'the answer never came');
  };
  await expect(provisionSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ProvisionFailedError' });
  return world;
}
const isLeft = async (world: World) =>
  (await teardownRows(world.ports, ATTEMPT)).filter(({ end }) => end === null).map(({ kind }) => kind);

describe('row 12: a launch that may have happened', () => {
  it('is not taken for nothing before its machine had five minutes to show itself', async () => {
    const world = await cutOff(null);
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
    expect((await isLeft(world)).toSorted()).toEqual(['intent', 'schedule']);
    expect(world.timers.pending.size).toBe(1);
    await world.clock.advance(5 * MINUTE);
    await releaseSandbox(ids, world.ports);
    expect(await isLeft(world)).toEqual([]);
    expect(await world.keysIn('launches')).toEqual([]);
  });

  it('is over at once when the provider said that it launched nothing', async () => {
    const world = await cutOff('capacity');
    await releaseSandbox(ids, world.ports);
    expect(await isLeft(world)).toEqual([]);
    expect(world.timers.pending.size).toBe(0);
  });
});

describe('the slot of an attempt', () => {
  it('is given back only when its machine is seen gone, whatever became of the attempt', async () => {
    const world = new World();
    await runTo(world, 'collect');
    const before = await heldVCpus(world);
    world.machines.stubborn.set(world.machines.held[0]?.sandboxId ?? '', 2);
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({ name: 'ReleaseFailedError' });
    await closeAttempt({ ...ids, error: failure('StagingFailedError', 'StageUnit') }, world.ports);
    expect(await world.keysIn('slots')).toEqual([ATTEMPT]);
    await admitUnit({ sweepId: 'first', run: 1, unitId: UNIT, attempt: 2, token: 'second' }, world.ports);
    await grantSlots({}, world.ports);
    expect(await world.keysIn('slots')).toEqual([ATTEMPT, `${UNIT}.2`]);
    await reapSandboxes({}, world.ports);
    expect(await world.keysIn('slots')).toEqual([ATTEMPT, `${UNIT}.2`]);
    await reapSandboxes({}, world.ports);
    expect(await world.keysIn('slots')).toEqual([`${UNIT}.2`]);
    expect(await heldVCpus(world)).toEqual(before);
  });

  it('is not held by what is left when its machine is gone, but the unit is, and the ledger knows of it', async () => {
    const world = new World();
    await runTo(world, 'collect');
    const volume = { kind: 'volume', resourceId: 'vol-1' } as const;
    const release = world.machines.release.bind(world.machines);
    let isThere = true;
    world.machines.release = async (...asked) => {
      const report = await release(...asked);
      return [...report, { ...volume, fate: isThere ? 'left' : 'gone' }];
    };
    await expect(releaseSandbox(ids, world.ports)).rejects.toMatchObject({
      message: expect.stringContaining('volume vol-1') as string,
    });
    await closeAttempt({ ...ids, error: failure('StagingFailedError', 'StageUnit') }, world.ports);
    expect(await world.keysIn('slots')).toEqual([]);
    expect((await isLeft(world)).toSorted()).toEqual(['schedule', 'volume']);
    isThere = false;
    await reapSandboxes({}, world.ports);
    expect(await isLeft(world)).toEqual([]);
    const rows = await teardownRows(world.ports, ATTEMPT);
    expect(rows.find(({ kind }) => kind === 'volume')).toMatchObject({ resourceId: 'vol-1', end: 'gone' });
  });
});

describe('what a provider offers', () => {
  const wishes: unknown[] = [];
  const offer = (changes: Partial<SandboxOffer> = {}): NonNullable<WorldOptions['machines']> => ({
    name: 'aws',
    offer: (wish) => {
      wishes.push(wish);
      const machines = ['m5.large', 'm6i.xlarge'].map((machineType) => billedMachine({ machineType }));
      return { machines, vCpus: 4, seats: null, ...changes };
    },
  });
  const snapshots = {
    '*': { provider: 'aws', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} },
  } as const;
  const sweepOf = async (world: World) => SweepRowSchema.parse((await world.store.get(rowKeys.sweep('first')))?.body);

  it('prices a sweep by the dearest machine it may get, so that a budget holds before anything is launched', async () => {
    const world = new World({ region: 'us-east-1', machines: offer() });
    await world.plan({ snapshots, limits: { budgetUsd: 1000 } });
    const { largestAttemptUsd } = await sweepOf(world);
    const cheaper = new World({
      region: 'us-east-1',
      machines: offer({ machines: [billedMachine({ machineType: 'm5.large' })] }),
    });
    await cheaper.plan({ snapshots, limits: { budgetUsd: 1000 } });
    expect(largestAttemptUsd).toBeGreaterThan((await sweepOf(cheaper)).largestAttemptUsd ?? Infinity);
    expect(wishes[0]).toMatchObject({ image: 'ale-ubuntu22', machineType: 'e2-standard-4', vCpus: 4 });
    expect((await world.unit(UNIT)).vCpus).toBe(4);
  });

  it('has no price when one of its machines has none', async () => {
    const machines = [billedMachine({ machineType: 'm5.large' }), billedMachine({ machineType: 'x99.large' })];
    const world = new World({ region: 'us-east-1', machines: offer({ machines }) });
    await world.plan({ snapshots, limits: { budgetUsd: 1000 } });
    expect((await sweepOf(world)).largestAttemptUsd).toBeNull();
  });

  it('bounds how many sandboxes of a licensed image run at once, over all sweeps', async () => {
    const world = new World({ machines: offer({ seats: 2 }) });
    const { items } = await world.plan({ snapshots, trials: 3 });
    for (const { sweepId, run, unitId } of items)
      await admitUnit({ sweepId, run, unitId, attempt: 1, token: unitId }, world.ports);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.size).toBe(2);
  });
});

describe('a machine that never became ready', () => {
  const shown = { consoleOutput: 'Kernel panic', screenshot: new Uint8Array([255, 216]) };
  const stored = async (world: World): Promise<readonly (string | undefined)[]> => {
    const keys = [objectKeys.bootConsole(ATTEMPT), objectKeys.bootScreenshot(ATTEMPT)];
    const infos = await Promise.all(keys.map((key) => world.artifacts.head({ bucket: 'artifacts', key })));
    return infos.flatMap((info) => (info === undefined ? [] : [info.key]));
  };
  /** As when the state gave up waiting. */
  async function given(step: 'provision' | 'await', machines: NonNullable<WorldOptions['machines']>): Promise<World> {
    const world = new World({ machines });
    await runTo(world, step);
    await world.changeAttempt(ATTEMPT, { stageStartedAt: { provision: 'x', await: 'x' }, stageEndedAt: {} });
    if (step === 'await') await world.changeAttempt(ATTEMPT, { stageEndedAt: { await: 'x' } });
    await releaseSandbox(ids, world.ports);
    expect(world.machines.held).toEqual([]);
    return world;
  }

  it('leaves its console and its screen when it is released', async () => {
    const world = await given('provision', { bootEvidence: async () => shown });
    expect(await stored(world)).toEqual([objectKeys.bootConsole(ATTEMPT), objectKeys.bootScreenshot(ATTEMPT)]);
  });

  it('leaves them too when its unit is abandoned, whoever does that', async () => {
    const world = new World({ machines: { bootEvidence: async () => shown } });
    await runTo(world, 'provision');
    await world.changeAttempt(ATTEMPT, { stageStartedAt: { provision: 'x', await: 'x' }, stageEndedAt: {} });
    await abandonUnit(world.ports, { sweepId: 'first', unitId: UNIT, run: 1 }, 'the execution was stopped');
    expect(world.machines.held).toEqual([]);
    expect(await stored(world)).toEqual([objectKeys.bootConsole(ATTEMPT), objectKeys.bootScreenshot(ATTEMPT)]);
  });

  it('is recorded with what it showed, by name and hash', async () => {
    const world = await given('provision', { bootEvidence: async () => shown });
    const at = world.clock.now().toISOString();
    await world.changeAttempt(ATTEMPT, { stageStartedAt: { provision: at, await: at } });
    await recordUnit({ ...ids, error: failure('States.Timeout', 'AwaitSandbox') }, world.ports);
    const { runDir } = await world.attempt(ATTEMPT);
    const { files } = RecordSchema.parse(world.runTree.json(`${String(runDir)}/record.json`));
    const sha256 = createHash('sha256').update(shown.consoleOutput).digest('hex');
    expect(files).toContainEqual({ path: 'boot/console.txt', sizeBytes: shown.consoleOutput.length, sha256 });
    expect(files.map(({ path }) => path)).toContain('boot/screenshot.jpg');
  });

  it('is released whether or not it shows anything', async () => {
    const world = await given('provision', { bootEvidence: async () => Promise.reject(new Error('not now')) });
    expect(await stored(world)).toEqual([]);
    expect(world.log.events).toContain('sandbox.boot-evidence');
  });

  it('is the only one that is asked', async () => {
    expect(await stored(await given('await', { bootEvidence: async () => shown }))).toEqual([]);
  });
});
