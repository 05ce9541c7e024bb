import { admissionText } from '#core/api-admission';
import { gradeId, jobId, type JobPurpose } from '#core/ids';
import { rowKeys } from '#core/keys';
import {
  AdmitWaitSchema,
  WaitRowSchema,
  type AdmitWait,
  type AttemptRow,
  type UnitRow,
  type WaitRow,
} from '#core/rows';
import { isStillThere } from '#core/teardown';
import { readBody } from '#core/stored-rows';
import type { UnitDetail } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import type { RowKey } from '#ports/unit-store';
import { knownSweep } from './api-sweeps.ts';
import { findRow } from './rows.ts';
import { readCounters } from './slots.ts';
import { teardownRows } from './teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'policy'>;
type WaitsFor = NonNullable<UnitDetail['waitsFor']>;

/** What a unit waits for; null once it is closed and nothing of it is left. */
export async function waitsForOf(unit: UnitRow, attempt: AttemptRow | null, ports: Needs): Promise<WaitsFor | null> {
  const closing = await waitAt(ports, rowKeys.closeWait(unit.unitId));
  if (closing !== undefined) return await teardownOf(closing, ports);
  if (unit.closedAt !== null) return null;
  const admission = await admissionOf(unit, ports);
  if (admission !== null) return admission;
  if (attempt === null || attempt.closedAt !== null) {
    const why = 'its machine has not asked for a slot yet; units are taken up in the order of the plan';
    return { what: 'start', since: null, until: null, why };
  }
  return (await callbackOf(attempt, ports)) ?? stageOf(attempt);
}

async function waitAt({ unitStore }: Needs, key: RowKey): Promise<WaitRow | undefined> {
  return (await findRow(unitStore, key, WaitRowSchema))?.value;
}

async function teardownOf(wait: WaitRow, ports: Needs): Promise<WaitsFor> {
  const left = (await teardownRows(ports, wait.attemptId)).filter(isStillThere);
  const what = left.map(({ kind, resourceId }) => `${kind} ${resourceId}`).join(', ');
  const why = left.length === 0 ? 'everything it made is gone; it is about to close' : `not seen gone yet: ${what}`;
  return { what: 'teardown', since: wait.since, until: wait.giveUpAt, why };
}

/** Most waits of a sweep that are counted. */
const MOST_COUNTED = 1000;

async function admissionOf(unit: UnitRow, ports: Needs): Promise<WaitsFor | null> {
  const { unitStore, clock, policy } = ports;
  const wait = await findRow(unitStore, rowKeys.admitWait(unit.sweepId, unit.unitId), AdmitWaitSchema);
  if (wait === undefined) return null;
  const { value: sweep } = await knownSweep(unitStore, unit.sweepId);
  const { counters } = await readCounters(unitStore);
  const { rows } = await unitStore.query({ pk: rowKeys.admitWait(unit.sweepId, '').pk, limit: MOST_COUNTED });
  const facts = {
    sweep,
    wait: wait.value,
    counters,
    caps: policy.caps,
    before: rows.map((row) => readBody(AdmitWaitSchema, row)).filter((other) => isBefore(other, wait.value)).length,
    nowIso: clock.now().toISOString(),
  };
  return { what: 'admission', since: wait.value.askedAt, until: sweep.deadlineAt, why: admissionText(facts) };
}

function isBefore(other: AdmitWait, wait: AdmitWait): boolean {
  return other.grantedAttemptId === null && other.unitId !== wait.unitId && other.askedAt < wait.askedAt;
}

const PURPOSES: readonly JobPurpose[] = ['collect', 'run', 'stage'];
const PURPOSE_TEXT: Readonly<Record<JobPurpose, string>> = {
  stage: 'its inputs are being brought into the sandbox',
  run: 'its agent is at work',
  collect: 'its output is being collected',
};

/** The callback that the attempt's machine waits on. */
async function callbackOf(attempt: AttemptRow, ports: Needs): Promise<WaitsFor | null> {
  const { attemptId } = attempt;
  const grade = await waitAt(ports, rowKeys.gradeWait(gradeId(attemptId, Math.max(attempt.gradeNumber, 1))));
  if (grade !== undefined) return told('grade', grade, 'its grader is at work');
  for (const purpose of PURPOSES) {
    const job = await waitAt(ports, rowKeys.jobWait(jobId(attemptId, purpose, attempt.jobTries[purpose] ?? 1)));
    if (job === undefined) continue;
    const silence = job.unreachableSince === null ? '' : `; its sandbox has not answered since ${job.unreachableSince}`;
    return told('job', job, `${PURPOSE_TEXT[purpose]}${silence}`);
  }
  const sandbox = await waitAt(ports, rowKeys.sandboxWait(attemptId));
  return sandbox === undefined ? null : told('sandbox', sandbox, `its ${attempt.provider} sandbox is starting`);
}

function told(what: WaitsFor['what'], { since, giveUpAt }: WaitRow, why: string): WaitsFor {
  return { what, since, until: giveUpAt, why };
}

/** A stage that runs in a function of ours, and waits for nobody. */
function stageOf(attempt: AttemptRow): WaitsFor {
  const { attemptId, stageStartedAt } = attempt;
  const stage = openStage(attempt);
  const since = stage === null ? attempt.grantedAt : (stageStartedAt[stage] ?? attempt.grantedAt);
  const why = stage === null ? `${attemptId} is between two stages` : `${attemptId} is in stage ${stage}`;
  return { what: 'stage', since, until: attempt.expiresAt, why };
}

/** The stage that began last; null once the attempt is closed, and before one began. */
export function openStage({ closedAt, stageStartedAt }: AttemptRow): string | null {
  if (closedAt !== null) return null;
  const begun = Object.entries(stageStartedAt).toSorted(([, one], [, other]) => (one < other ? -1 : 1));
  return begun.at(-1)?.[0] ?? null;
}
