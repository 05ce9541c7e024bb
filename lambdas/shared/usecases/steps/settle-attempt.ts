import { billedUsd } from '#core/attempt-cost';
import { rowKeys } from '#core/keys';
import type { AttemptRow, StateError } from '#core/rows';
import { usageDay, type UsageRow } from '#core/usage-row';
import { withConflictRetry } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { RowWrite } from '#ports/unit-store';
import { measureCost } from './attempt-cost.ts';
import { attemptWrite, readAttempt, readSweep } from './rows.ts';
import { freeSlotIfGone } from './slots.ts';
import { teardownRows } from './teardown.ts';
import { verdictOfRow } from './verdicts.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'region'>;

/**
 * Closes an attempt with its verdict, counts what it cost, and gives back its slot if no machine of it is left. The first error
 * and the first end stand. Its cost is counted in the transaction that closes it, and so exactly once.
 */
export async function settleAttempt(ports: Needs, attemptId: string, error: StateError | null): Promise<AttemptRow> {
  const attempt = await withConflictRetry(async () => {
    const { value: row, version } = await readAttempt(ports.unitStore, attemptId);
    const closedAt = row.closedAt ?? ports.clock.now().toISOString();
    const ended = { ...row, error: row.error ?? error, closedAt };
    const closed = { ...ended, verdict: { ...verdictOfRow(ended) } };
    const counted = row.closedAt === null ? await costWrites(ports, closed) : [];
    await ports.unitStore.write([attemptWrite(closed, version), ...counted]);
    return closed;
  });
  await freeSlotIfGone(ports, attemptId);
  return attempt;
}

/** The usage row, and the sum of the sweep where something is to be added to it. */
async function costWrites(
  ports: Needs,
  attempt: AttemptRow & { readonly closedAt: string; readonly verdict: Readonly<Record<string, unknown>> },
): Promise<readonly RowWrite[]> {
  const { value: sweep, version } = await readSweep(ports.unitStore, attempt.sweepId);
  const rows = await teardownRows(ports, attempt.attemptId);
  const measured = measureCost(ports, attempt, { rows, tokens: null });
  // What the record says stands; without one nobody has read what the agent says of its tokens.
  const cost = attempt.cost ?? measured.parts;
  const usage: UsageRow = {
    attemptId: attempt.attemptId,
    unitId: attempt.unitId,
    sweepId: attempt.sweepId,
    agentId: attempt.agentId,
    model: attempt.model,
    taskPath: attempt.taskPath,
    owner: sweep.owner,
    costCenter: sweep.costCenter,
    blame: String(attempt.verdict['blame']),
    provider: attempt.provider,
    machineType: measured.facts.machine?.machineType ?? null,
    closedAt: attempt.closedAt,
    priceSheet: measured.priceSheet,
    cost,
  };
  const key = rowKeys.usage(usageDay(attempt.closedAt), attempt.attemptId);
  const spent = billedUsd(cost, sweep.largestAttemptUsd);
  const summed = { ...sweep, spentUsd: sweep.spentUsd + spent };
  return [
    { put: { ...key, body: usage }, when: 'any' },
    ...(spent === 0 ? [] : [{ put: { ...rowKeys.sweep(sweep.sweepId), body: summed }, when: { version } } as const]),
  ];
}
