import { describe, expect, it } from 'vitest';
import { billedUsd, sealedRequestsUsd } from '#core/attempt-cost';
import { CLOUD_CALLS, cloudCallsOfUnit } from '#core/cloud-calls';
import type { CostEntry, CostPart } from '#core/record';
import { rowKeys } from '#core/keys';
import { SweepRowSchema, type SweepRow } from '#core/rows';
import { UsageRowSchema, type UsageRow } from '#core/usage-row';
import { CostFileSchema } from '#contracts/cost-schema';
import { priceSheetOf } from '#contracts/price-sheets';
import { RecordSchema } from '#contracts/record-schema';
import { closeAttempt } from '#usecases/close-attempt';
import { grantSlots } from '#usecases/grant-slots';
import { admitUnit } from '#usecases/admit-unit';
import { reportSweep } from '#usecases/report-sweep';
import { readCosts } from '#usecases/steps/usage';
import { ATTEMPT, failure, ids, runSteps, runTo, UNIT } from '#test/builders/attempt-run';
import { billedMachine } from '#test/builders/costs';
import { World } from '#test/builders/world';

const DAY = '2026-01-01';
const REGION = 'us-east-1';
const AWS = {
  snapshots: { '*': { provider: 'aws', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } },
} as const;

/** A world in a region whose sheet there is, with machines that are billed. */
const cloud = (): World =>
  new World({ region: REGION, machines: { name: 'aws', billed: billedMachine({ machineType: 'm5.large' }) } });

/** As `cloud`, with guests that are asked by sealed requests. */
const sealing = (): World =>
  new World({
    region: REGION,
    machines: { name: 'aws', channel: 'ssm', billed: billedMachine({ machineType: 'm5.large' }) },
  });

const sweepOf = async (world: World): Promise<SweepRow> =>
  SweepRowSchema.parse((await world.store.get(rowKeys.sweep('first')))?.body);

const changeSweep = async (world: World, changes: Partial<SweepRow>): Promise<void> => {
  const body = { ...(await sweepOf(world)), ...changes };
  await world.store.write([{ put: { ...rowKeys.sweep('first'), body }, when: 'exists' }]);
};

async function usage(world: World): Promise<UsageRow> {
  const { rows } = await world.store.query({ pk: rowKeys.usage(DAY, '').pk, limit: 10 });
  expect(rows.map(({ sk }) => sk)).toEqual([ATTEMPT]);
  return UsageRowSchema.parse(rows[0]?.body);
}

const partOf = (cost: readonly CostEntry[], part: CostPart) => cost.find((each) => each.part === part);

/** Goes through an attempt whose machine is there for an hour. */
async function hour(world: World, options: Parameters<typeof runTo>[2] = {}): Promise<void> {
  await runTo(world, 'collect', { ...AWS, ...options });
  await world.clock.advance(3600_000);
  await runSteps(world, 'release', 'close');
}

describe('what a closed attempt cost', () => {
  it('is left by day, with all that it is grouped by', async () => {
    const world = cloud();
    await hour(world, { owner: 'arn:aws:iam::111122223333:role/Op', costCenter: 'research' });
    const row = await usage(world);
    expect(row).toMatchObject({
      attemptId: ATTEMPT,
      unitId: UNIT,
      sweepId: 'first',
      agentId: 'scripted',
      taskPath: 'demo/copy',
      owner: 'arn:aws:iam::111122223333:role/Op',
      costCenter: 'research',
      blame: 'agent',
      machineType: 'm5.large',
      priceSheet: 'us-east-1 2026-11-30',
    });
    expect(partOf(row.cost, 'machine')).toMatchObject({ basis: 'estimated', usd: 0.096 });
    expect(partOf(row.cost, 'orchestration')?.basis).toBe('estimated');
    expect(partOf(row.cost, 'transfer')).toMatchObject({ basis: 'unknown', usd: null });
    const { total } = await readCosts(world.store, { groupBy: 'agent', from: DAY, to: DAY });
    expect(total).toMatchObject({ attempts: 1, unknownParts: 1 });
    const others = await readCosts(world.store, { groupBy: 'agent', from: DAY, to: DAY, sweepId: 'other' });
    expect(others.total.attempts).toBe(0);
  });

  it('has the sealed requests of a whole unit as the table of calls has them, at the prices of its sheet', async () => {
    const [sealed, plain] = [sealing(), cloud()];
    for (const world of [sealed, plain]) await hour(world);
    const usdOf = async (world: World) => partOf((await usage(world)).cost, 'orchestration')?.usd ?? NaN;
    const sheet = priceSheetOf(REGION);
    const { sealedRequests } = cloudCallsOfUnit();
    expect(sealedRequests).toBeGreaterThan(0);
    const told = sheet === null ? NaN : (sealedRequestsUsd(sealedRequests, sheet) ?? NaN);
    expect((await usdOf(sealed)) - (await usdOf(plain))).toBeCloseTo(told, 12);
    expect(partOf((await usage(sealed)).cost, 'orchestration')?.note).toContain(
      `${String(sealedRequests)} requests sealed`,
    );
  });

  it('has the sealed requests of the stages it reached alone, and of every try of their jobs', async () => {
    const world = sealing();
    await runTo(world, 'stage', AWS);
    await world.changeAttempt(ATTEMPT, { jobTries: { stage: 3 } });
    await runSteps(world, 'release', 'release');
    await closeAttempt({ ...ids, error: failure('StagingFailedError', 'StageUnit') }, world.ports);
    const ofTry = CLOUD_CALLS['stage-unit']?.sealedRequests ?? NaN;
    const ofEnd = (CLOUD_CALLS['on-run-finished']?.sealedRequests ?? NaN) / 3;
    const { note } = partOf((await usage(world)).cost, 'orchestration') ?? {};
    expect(note).toContain(` ${String(3 * (ofTry + ofEnd))} requests sealed`);
  });

  it('is taken from the budget once, however often the attempt is closed', async () => {
    const world = cloud();
    await hour(world);
    const { cost } = await usage(world);
    const { spentUsd } = await sweepOf(world);
    expect(spentUsd).toBe(billedUsd(cost, null));
    expect(spentUsd).toBeGreaterThan(0.096);
    await closeAttempt({ ...ids, error: failure('Boom', 'RecordUnit') }, world.ports);
    await runSteps(world, 'close', 'closeUnit');
    expect((await sweepOf(world)).spentUsd).toBe(spentUsd);
    expect((await usage(world)).cost).toEqual(cost);
  });

  it('is the reservation where nobody saw the machine go', async () => {
    const world = cloud();
    await runTo(world, 'collect', AWS);
    await changeSweep(world, { largestAttemptUsd: 7 });
    await closeAttempt({ ...ids, error: failure('Boom', 'CollectOutput') }, world.ports);
    expect(partOf((await usage(world)).cost, 'machine')).toMatchObject({ basis: 'unknown', usd: null });
    expect((await sweepOf(world)).spentUsd).toBe(7);
  });

  it('goes on, and so is unknown, for a machine that is kept', async () => {
    const world = cloud();
    await hour(world, { cleanupMode: 'keep' });
    expect(partOf((await usage(world)).cost, 'machine')?.basis).toBe('unknown');
  });

  it('is nothing for a machine that was never launched', async () => {
    const world = new World({ region: REGION, machines: { name: 'aws' }, machineFault: refuseLaunch });
    await expect(runTo(world, 'provision', AWS)).rejects.toThrow('sold out');
    await runSteps(world, 'release', 'release');
    await closeAttempt({ ...ids, error: failure('CapacityUnavailableError', 'ProvisionSandbox') }, world.ports);
    expect(partOf((await usage(world)).cost, 'machine')).toMatchObject({ basis: 'observed', usd: 0 });
  });

  it('is unknown in a region without a sheet, though the usage is there', async () => {
    const world = new World({ region: 'eu-nowhere-1', machines: { name: 'aws', billed: billedMachine() } });
    await hour(world);
    const { cost, priceSheet } = await usage(world);
    expect(priceSheet).toBeNull();
    expect(cost.filter(({ basis }) => basis === 'unknown').map(({ part }) => part)).toEqual([
      'machine',
      'disk',
      'address',
      'transfer',
      'orchestration',
    ]);
  });

  it('is nothing on one computer, and its sweep is charged nothing', async () => {
    const world = new World();
    await runTo(world, 'close');
    expect((await usage(world)).cost.map(({ usd }) => usd)).toEqual([0, 0, 0, 0, 0, 0]);
    expect((await sweepOf(world)).spentUsd).toBe(0);
  });
});

function refuseLaunch(when: string, act: string): void {
  if (when === 'before' && act === 'acquire')
    throw Object.assign(new Error('sold out'), { name: 'CapacityUnavailableError' });
}

describe('the budget of a sweep', () => {
  it('holds no more slots than its reservations have room for, and none once it is spent', async () => {
    const world = cloud();
    const { items } = await world.plan({ ...AWS, trials: 4, limits: { budgetUsd: 10, concurrency: 4 } });
    await changeSweep(world, { largestAttemptUsd: 4 });
    for (const { unitId } of items)
      await admitUnit({ sweepId: 'first', run: 1, unitId, attempt: 1, token: `token of ${unitId}` }, world.ports);
    await grantSlots({}, world.ports);
    const [first = '', second = ''] = await world.keysIn('slots');
    expect(await world.keysIn('slots')).toEqual([first, second]);
    await closeAttempt(
      { sweepId: 'first', unitId: first.replace(/\.1$/u, ''), attemptId: first, error: failure('Boom', 'RunAgent') },
      world.ports,
    );
    // Nothing was launched: all that was reserved for it is free again.
    await grantSlots({}, world.ports);
    expect((await world.keysIn('slots')).length).toBe(2);
    await changeSweep(world, { spentUsd: 9 });
    await grantSlots({}, world.ports);
    expect([...world.tokens.answers.values()].at(-1)).toMatchObject({ error: 'BudgetExhaustedError' });
  });

  it('is refused to machines without a price', async () => {
    const world = cloud();
    await world.plan({ ...AWS, limits: { budgetUsd: 10 } });
    expect((await sweepOf(world)).largestAttemptUsd).toBeNull();
    const own = new World();
    await own.plan({ limits: { budgetUsd: 10 } });
    expect((await sweepOf(own)).largestAttemptUsd).toBe(0);
  });
});

describe('a record', () => {
  const read = async (world: World, name: string): Promise<string | undefined> => {
    const { runDir } = await world.attempt(ATTEMPT);
    return world.runTree.files.get(`${runDir ?? ''}/${name}`)?.toString('utf8');
  };

  it('of one computer holds its amounts', async () => {
    const world = new World();
    await runTo(world, 'record');
    const record = RecordSchema.parse(JSON.parse((await read(world, 'record.json')) ?? ''));
    expect(record.cost.map((each) => ('usd' in each ? each.usd : 'none'))).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await read(world, 'cost.json')).toBeUndefined();
  });

  it('of a sweep of the API holds none: they lie in a file of their own, which it names with its hash', async () => {
    const world = cloud();
    await hour(world, { treeDir: 'first' });
    const text = (await read(world, 'record.json')) ?? '';
    const record = RecordSchema.parse(JSON.parse(text));
    expect(record.cost.map((each) => ['usd' in each, each.basis])).toEqual(
      ['estimated', 'estimated', 'estimated', 'unknown', 'estimated', 'observed'].map((basis) => [false, basis]),
    );
    expect(record.files.map(({ path }) => path)).toContain('cost.json');
    const file = CostFileSchema.parse(JSON.parse((await read(world, 'cost.json')) ?? ''));
    expect(file.parts).toEqual((await usage(world)).cost);
    for (const { usd } of file.parts) if (usd !== null && usd !== 0) expect(text).not.toContain(String(usd));
  });

  it.each([
    ['.', /<dt>Cost<\/dt><dd>0\.0000 USD<\/dd>/u],
    ['first', /<dt>Cost<\/dt><dd>not in this report/u],
  ])('is told of in the report of a sweep below %s as its readers may see it', async (treeDir, text) => {
    const world = new World();
    await runTo(world, 'closeUnit', { treeDir });
    await reportSweep({ sweepId: 'first', run: 1 }, world.ports);
    expect(world.runTree.text(`${treeDir}/report.html`)).toMatch(text);
  });
});
