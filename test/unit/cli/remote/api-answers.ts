import type { CallAnswer } from '#cli/remote/api-client';

type Sweep = CallAnswer<'getSweep'>;
type Unit = CallAnswer<'getUnit'>;
type Attempt = Unit['attemptList'][number];

export const SWEEP_ID = 'sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3';
export const UNIT_ID = `${SWEEP_ID}__oracle__unknown-model__e2e__word__v0`;

export function sweepSummary(changes: Partial<CallAnswer<'pauseSweep'>> = {}): CallAnswer<'pauseSweep'> {
  return {
    sweepId: SWEEP_ID,
    name: 'first',
    owner: 'arn:aws:iam::111122223333:role/operators',
    costCenter: 'research',
    status: 'running',
    paused: false,
    cancelled: false,
    createdAt: '2026-01-02T03:04:05.000Z',
    closedAt: null,
    deadlineAt: '2026-01-16T03:04:05.000Z',
    concurrency: 4,
    plannedUnits: 2,
    budgetUsd: null,
    spentUsd: null,
    error: null,
    ...changes,
  };
}

export function sweepDetail(changes: Partial<Sweep> = {}): Sweep {
  return {
    ...sweepSummary(),
    ledger: ledger({ open: 2 }),
    runningUnits: 1,
    meanScore: null,
    agents: [{ id: 'oracle', agentId: 'oracle', model: null }],
    tasks: [{ path: 'e2e/word', revision: `sha256:${'a'.repeat(64)}` }],
    reportUrl: null,
    ...changes,
  };
}

export function ledger(counts: Partial<NonNullable<Sweep['ledger']>['counts']>): NonNullable<Sweep['ledger']> {
  const all = { scored: 0, forfeited: 0, lost: 0, task_fault: 0, not_run: 0, open: 0, ...counts };
  const planned = Object.values(all).reduce((sum, count) => sum + count, 0);
  return { planned, counts: all, notRun: { deadline: 0, budget: 0, cancelled: all.not_run, refused: 0 } };
}

export function unitSummary(
  changes: Partial<CallAnswer<'listUnits'>['items'][number]> = {},
): CallAnswer<'listUnits'>['items'][number] {
  return {
    unitId: UNIT_ID,
    sweepId: SWEEP_ID,
    agentId: 'oracle',
    model: null,
    taskPath: 'e2e/word',
    variant: 0,
    trial: 1,
    class: 'scored',
    notRunReason: null,
    status: 'completed',
    score: 1,
    attempts: 1,
    closedAt: '2026-01-02T03:14:05.000Z',
    ...changes,
  };
}

export function unitDetail(changes: Partial<Unit> = {}): Unit {
  return {
    ...unitSummary(),
    winningAttemptId: `${UNIT_ID}.1`,
    attemptList: [attemptDetail()],
    waitsFor: null,
    linksExpireAt: '2026-01-02T04:14:05.000Z',
    ...changes,
  };
}

export function attemptDetail(changes: Partial<Attempt> = {}): Attempt {
  return {
    attemptId: `${UNIT_ID}.1`,
    grantedAt: '2026-01-02T03:05:05.000Z',
    closedAt: '2026-01-02T03:14:05.000Z',
    stage: null,
    outcome: 'completed',
    blame: null,
    signatureId: null,
    error: null,
    sandboxId: 'sandbox-1',
    teardown: [],
    grades: [{ number: 1, kind: 'graded', score: 1, reason: null }],
    runDir: `${SWEEP_ID}/oracle/unknown-model/e2e__word/v0/20260102_030405`,
    files: [],
    filesCursor: null,
    ...changes,
  };
}
