import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { gradeId } from '#core/ids';
import { objectKeys, rowKeys } from '#core/keys';
import { admitUnit } from '#usecases/admit-unit';
import { closeAttempt } from '#usecases/close-attempt';
import { closeUnit } from '#usecases/close-unit';
import { grantSlots } from '#usecases/grant-slots';
import { recordUnit } from '#usecases/record-unit';
import { releaseSandbox } from '#usecases/release-sandbox';
import { ATTEMPT, failure, ids, runSteps, runTo, UNIT } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

const LIST_KEY = objectKeys.list(ATTEMPT, 'stage');
const STAGE_KEY = objectKeys.gradeStage(gradeId(ATTEMPT, 1));

/** A report of what was collected that names one file. */
function manifestNaming(key: string): string {
  const sha256 = 'a'.repeat(64);
  const entry = { path: 'a', kind: 'file', sizeBytes: 1, sha256, key, target: null, skipped: null };
  const roots = [{ keyPrefix: 'output/', missing: false, entries: [entry] }];
  return JSON.stringify({ version: 1, jobId: 'j', roots });
}

const close = async (world: World, name: string | null, state = 'StageUnit') => {
  return await closeAttempt({ ...ids, error: name === null ? null : failure(name, state) }, world.ports);
};
const closing = (world: World, error: ReturnType<typeof failure> | null = null) => {
  return { sweepId: 'first', run: 1, unitId: UNIT, error, token: world.newToken() };
};
const empty = async (world: World): Promise<void> => {
  for (const { pk } of [
    rowKeys.slot(''),
    rowKeys.openAttempt(''),
    rowKeys.closeWait(''),
    rowKeys.admitWait('first', ''),
  ])
    expect([pk, await world.keysIn(pk)]).toEqual([pk, []]);
};

describe('close-attempt', () => {
  it('gives another attempt for a platform fault, up to the cap', async () => {
    const world = new World();
    await runTo(world, 'provision', { limits: { maxAttempts: 2 } });
    await releaseSandbox(ids, world.ports);
    expect(await close(world, 'StagingFailedError')).toEqual({ retry: true, nextAttempt: 2 });
    expect(await world.keysIn('slots')).toEqual([]);
    await admitUnit({ sweepId: 'first', run: 1, unitId: UNIT, attempt: 2, token: 'second' }, world.ports);
    await grantSlots({}, world.ports);
    const second = { ...ids, attemptId: `${UNIT}.2`, error: failure('StagingFailedError', 'StageUnit') };
    expect(await closeAttempt(second, world.ports)).toEqual({ retry: false, nextAttempt: 3 });
    expect(await world.unit(UNIT)).toMatchObject({ attempts: 2, class: 'open' });
  });

  it.each([
    ['stage', [LIST_KEY]],
    ['run', [LIST_KEY]],
    ['stageGrade', [LIST_KEY, STAGE_KEY]],
    ['runGrader', [LIST_KEY, STAGE_KEY]],
  ] as const)('leaves no signed URL in a store after an attempt that got as far as %s', async (stage, keys) => {
    const world = new World();
    const there = async (): Promise<readonly string[]> => {
      const infos = await Promise.all(
        [LIST_KEY, STAGE_KEY].map((key) => world.artifacts.head({ bucket: 'artifacts', key })),
      );
      return infos.flatMap((info) => (info === undefined ? [] : [info.key]));
    };
    await runTo(world, stage);
    expect(await there()).toEqual(keys);
    await close(world, 'ChannelUnavailableError');
    await close(world, 'ChannelUnavailableError');
    expect(await there()).toEqual([]);
  });

  it.each([
    ['TaskSetupError', 'SetUpTask'],
    ['AgentNotStoppedError', 'CollectOutput'],
    ['SandboxRefusedError', 'ProvisionSandbox'],
    ['StorageFullError', 'RecordUnit'],
  ])('gives none for %s', async (name, state) => {
    const world = new World();
    await runTo(world, 'run');
    expect(await close(world, name, state)).toMatchObject({ retry: false });
  });

  it('does not count an attempt that the host’s end cost', async () => {
    const world = new World();
    await runTo(world, 'provision', { limits: { maxAttempts: 1 } });
    expect(await close(world, 'HostRestartedError', 'RunAgent')).toMatchObject({ retry: true });
  });

  it('counts only attempts of this run of the experiment', async () => {
    const world = new World();
    await runTo(world, 'provision', { limits: { maxAttempts: 1 } });
    await world.changeAttempt(ATTEMPT, { run: 7 });
    await close(world, 'StagingFailedError');
    await world.plan({ limits: { maxAttempts: 1 } });
    await admitUnit({ sweepId: 'first', run: 1, unitId: UNIT, attempt: 2, token: 'second' }, world.ports);
    await grantSlots({}, world.ports);
    const second = { ...ids, attemptId: `${UNIT}.2`, error: failure('StagingFailedError', 'StageUnit') };
    expect(await closeAttempt(second, world.ports)).toMatchObject({ retry: false, nextAttempt: 3 });
  });

  it('keeps the first error and the first end when it is called again with another', async () => {
    const world = new World();
    await runTo(world, 'provision');
    const first = await close(world, 'StagingFailedError');
    const { error, closedAt, verdict } = await world.attempt(ATTEMPT);
    await world.clock.advance(60_000);
    expect(await close(world, 'TaskSetupError', 'SetUpTask')).toEqual(first);
    expect(await world.attempt(ATTEMPT)).toMatchObject({ error, closedAt, verdict });
  });

  it('gets past writers that come first', async () => {
    const world = new World();
    await runTo(world, 'record');
    const write = world.store.write.bind(world.store);
    let conflicts = 3;
    world.store.write = async (writes) => {
      if (conflicts-- > 0) throw new ExamHallError('ConditionFailedError', 'another writer');
      await write(writes);
    };
    await expect(close(world, null)).resolves.toMatchObject({ retry: false });
  });
});

describe('close-unit', () => {
  it.each([
    ['DeadlinePassedError', 'not_run', 'deadline'],
    ['BudgetExhaustedError', 'not_run', 'budget'],
    ['SweepCancelledError', 'not_run', 'cancelled'],
    ['States.Timeout', 'not_run', 'deadline'],
    ['Lambda.Unknown', 'lost', null],
  ])('after an admission refused with %s: %s (%s)', async (name, unitClass, notRunReason) => {
    const world = new World();
    await world.plan();
    await closeUnit(closing(world, failure(name, 'AdmitUnit')), world.ports);
    expect(await world.unit(UNIT)).toMatchObject({
      class: unitClass,
      notRunReason,
      attempts: 0,
      status: 'not_executed',
      score: null,
    });
    await empty(world);
  });

  it('takes back a wait that nobody answered, so that it is never granted', async () => {
    const world = new World();
    await world.plan();
    await admitUnit({ sweepId: 'first', run: 1, unitId: UNIT, attempt: 1, token: 'late' }, world.ports);
    await closeUnit(closing(world, failure('Lambda.Unknown', 'AdmitUnit')), world.ports);
    await grantSlots({}, world.ports);
    expect(world.tokens.answers.has('late')).toBe(false);
    await empty(world);
  });

  it('takes back a grant that came when the state had given up', async () => {
    const world = new World();
    await runTo(world, 'admit');
    expect(await world.keysIn('slots')).toEqual([ATTEMPT]);
    await closeUnit(closing(world, failure('States.Timeout', 'AdmitUnit')), world.ports);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'not_run', notRunReason: 'deadline', attempts: 0 });
    expect(await world.store.get(rowKeys.attempt(ATTEMPT))).toBeUndefined();
    await empty(world);
  });

  it('takes back such a grant of a second attempt too, and the first decides', async () => {
    const world = new World();
    await runTo(world, 'provision');
    await releaseSandbox(ids, world.ports);
    await close(world, 'StagingFailedError');
    await admitUnit({ sweepId: 'first', run: 1, unitId: UNIT, attempt: 2, token: 'second' }, world.ports);
    await grantSlots({}, world.ports);
    await closeUnit(closing(world, failure('States.Timeout', 'AdmitUnit')), world.ports);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'lost', attempts: 1, notRunReason: null });
    await empty(world);
  });

  it('closes an attempt that CloseAttempt could not, and gives back its slot', async () => {
    const world = new World();
    await runTo(world, 'record');
    await closeUnit(closing(world, failure('StoreUnavailableError', 'CloseAttempt')), world.ports);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5, attempts: 1 });
    expect((await world.attempt(ATTEMPT)).closedAt).not.toBeNull();
    await empty(world);
  });

  it('gives back the slot of an attempt whose close was cut off before that', async () => {
    const world = new World();
    await runTo(world, 'record');
    await releaseSandbox(ids, world.ports);
    await world.changeAttempt(ATTEMPT, { closedAt: '2026-01-01T00:00:00.000Z' });
    expect(await world.keysIn('slots')).toEqual([ATTEMPT]);
    await closeUnit(closing(world, failure('StoreUnavailableError', 'CloseAttempt')), world.ports);
    await empty(world);
  });

  it('is scored by the winning attempt, whatever came after it', async () => {
    const world = new World();
    await runTo(world, 'commitGrade');
    const error = failure('StorageFullError', 'RecordUnit');
    await closeAttempt({ ...ids, error }, world.ports);
    await closeUnit(closing(world), world.ports);
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5, winningAttemptId: ATTEMPT });
  });

  it('says the same when it is called again, and answers the newest token', async () => {
    const world = new World();
    await runTo(world, 'collect');
    world.machines.stubborn.set(world.machines.held[0]?.sandboxId ?? '', 1);
    await expect(releaseSandbox(ids, world.ports)).rejects.toThrow();
    await runSteps(world, 'gradeUnit', 'close');
    const [first, second] = [closing(world), closing(world)];
    await closeUnit(first, world.ports);
    const unit = await world.unit(UNIT);
    await closeUnit(second, world.ports);
    expect(await world.unit(UNIT)).toEqual(unit);
    await releaseSandbox(ids, world.ports);
    await closeUnit(second, world.ports);
    expect([...world.tokens.answers.keys()]).not.toContain(first.token);
    expect(world.tokens.answers.get(second.token)).toEqual({ output: {} });
  });
});

describe('record-unit', () => {
  it('records an attempt that was never provisioned', async () => {
    const world = new World();
    await runTo(world, 'admit');
    const error = failure('CapacityUnavailableError', 'ProvisionSandbox', 'sold out');
    await recordUnit({ ...ids, error }, world.ports);
    const { runDir } = await world.attempt(ATTEMPT);
    expect(world.runTree.json(`${String(runDir)}/run.json`)).toMatchObject({ status: 'failed', score: null });
    expect(world.runTree.json(`${String(runDir)}/record.json`)).toMatchObject({
      error: { name: 'CapacityUnavailableError', message: 'sold out', stage: 'provision' },
      ledgerClass: 'lost',
      isolation: null,
    });
  });

  it.each([
    ['is missing', undefined],
    ['is no JSON', 'not json'],
    ['is of another version', '{"version":99,"roots":[]}'],
    ['has a root that is none', '{"version":1,"jobId":"j","roots":[null]}'],
    ['names what another attempt has', manifestNaming('attempts/other.1/collected/output/a')],
    ['names what a grader was given', manifestNaming('grades/other.1.g1/stage.json')],
  ])('records an attempt whose manifest %s', async (_, content) => {
    const world = new World();
    await runTo(world, 'collect');
    const ref = { bucket: 'artifacts', key: objectKeys.collectManifest(ATTEMPT) } as const;
    if (content === undefined) await world.artifacts.remove(ref);
    else {
      const { sha256: sha256OfManifest } = await world.artifacts.put(ref, content);
      await world.changeAttempt(ATTEMPT, { collected: { exitCode: 0, sha256OfManifest } });
    }
    await recordUnit({ ...ids, error: failure('GraderUnavailableError', 'GradeUnit') }, world.ports);
    const { runDir } = await world.attempt(ATTEMPT);
    expect(world.runTree.json(`${String(runDir)}/record.json`)).toMatchObject({ ledgerClass: 'lost' });
  });

  it('says in the trajectory that the parser failed, and keeps the log it failed on', async () => {
    const world = new World();
    world.modules.behave['parse'] = () => ({ end: 'threw', value: null, valueKind: 'none', errorMessage: 'line 3' });
    await runTo(world, 'record');
    const { runDir } = await world.attempt(ATTEMPT);
    expect(world.runTree.text(`${String(runDir)}/trajectory.json`)).toMatch(/could not be parsed \(threw\): line 3/u);
    expect(world.runTree.files.has(`${String(runDir)}/origin_log/scripted/transcript.jsonl`)).toBe(true);
  });

  it('fails with the disk’s own error, and can be tried again', async () => {
    const world = new World();
    await runTo(world, 'commitGrade');
    world.runTree.failNext(new ExamHallError('StorageFullError', 'no room'));
    await expect(recordUnit({ ...ids, error: null }, world.ports)).rejects.toMatchObject({ name: 'StorageFullError' });
    await runSteps(world, 'record', 'closeUnit');
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored' });
  });
});
