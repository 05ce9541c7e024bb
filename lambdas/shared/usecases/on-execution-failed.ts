import { gradeId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { GradePayload, SweepPayload, UnitPlanItem, type ExecutionStatusDetail } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { releaseAttempt } from './steps/release.ts';
import { freeSlot } from './steps/slots.ts';
import { allRows, readAttempt, updateAttempt } from './steps/rows.ts';
import { answerWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'tokens' | 'events' | 'clock' | 'log'>;

/**
 * What a failed, timed-out or stopped execution left: a grade's token is returned, a unit's or sweep's open attempts
 * are released and settled as the platform's fault. Catch does not run on those ends, so this does.
 */
export async function onExecutionFailed(detail: ExecutionStatusDetail, ports: Needs): Promise<void> {
  const input: unknown = parse(detail.input);
  const cause = `${detail.name} ended ${detail.status}: ${detail.error ?? ''} ${detail.cause ?? ''}`.trim();
  const grade = GradePayload.safeParse(input);
  if (grade.success) {
    const id = gradeId(grade.data.attemptId, grade.data.gradeNumber);
    await answerWait(ports, rowKeys.gradeWait(id), { kind: 'fail', error: 'GraderUnavailableError', cause });
    return;
  }
  const unit = UnitPlanItem.safeParse(input);
  if (unit.success) {
    await abandon(ports, (attempt) => attempt.unitId === unit.data.unitId, cause);
    return;
  }
  const sweep = SweepPayload.safeParse(input);
  if (sweep.success) await abandon(ports, (attempt) => attempt.sweepId === sweep.data.sweepId, cause);
}

function parse(text: string | null | undefined): unknown {
  if (text === null || text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function abandon(
  ports: Needs,
  isMeant: (attempt: { readonly unitId: string; readonly sweepId: string }) => boolean,
  cause: string,
): Promise<void> {
  for await (const row of allRows(ports.unitStore, { pk: rowKeys.openAttempt('').pk })) {
    const { value: attempt } = await readAttempt(ports.unitStore, row.sk);
    if (!isMeant(attempt)) continue;
    await releaseAttempt(ports, attempt, 'delete');
    await freeSlot(ports, attempt.unitId, attempt.attemptId);
    await updateAttempt(ports.unitStore, attempt.attemptId, (now) => ({
      ...now,
      error: now.error ?? { name: 'ExecutionAbortedError', message: cause, state: 'RunAgent' },
      closedAt: now.closedAt ?? ports.clock.now().toISOString(),
    }));
    ports.log.warn('sandbox.reaped', { attemptId: attempt.attemptId, by: 'execution-event' });
  }
  await ports.events.publish('slot.freed', {});
}
