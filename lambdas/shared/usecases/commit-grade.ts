import { classify } from '#core/blame';
import { messageOfCause, stageOfState } from '#core/attempt-verdict';
import { ExamHallError, isErrorNamed, type Blame } from '#core/errors';
import { gradeFromReport, type EvaluationReport } from '#core/evaluation';
import type { Grade, Ungraded } from '#core/grade';
import { objectKeys, rowKeys } from '#core/keys';
import type { AttemptRow, StateError } from '#core/rows';
import { withConflictRetry } from '#core/stored-rows';
import { readCommittedGrade, type CommittedGrade } from '#contracts/committed-grade';
import type { CommitGradePayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { RowWrite } from '#ports/unit-store';
import { readAttempt, readUnit } from './steps/rows.ts';
import { decidedBy } from './steps/settle-unit.ts';
import { isGuestTrusted, verdictOfRow } from './steps/verdicts.ts';
import { answerWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'tokens' | 'clock'>;

/**
 * Makes the grade immutable, names the winning attempt once, and returns the unit's token. Safe to repeat. A grade that
 * comes when its attempt has been closed without it is kept and changes nothing, unless it was asked for since: the unit
 * has gone on.
 */
export async function commitGrade(payload: CommitGradePayload, ports: Needs): Promise<void> {
  await noteGrade(payload, await commitOnce(payload, ports), ports);
  await answerWait(ports, rowKeys.gradeWait(payload.gradeId), { kind: 'succeed', output: {} });
  // Its signed URLs have done their work.
  await ports.artifacts.remove({ bucket: 'artifacts', key: objectKeys.gradeStage(payload.gradeId) });
}

/** Attempt and unit in one transaction: a graded attempt and its unit's winner are never seen apart. */
async function noteGrade(
  ids: CommitGradePayload,
  committed: CommittedGrade,
  { unitStore, clock }: Needs,
): Promise<void> {
  const now = clock.now().toISOString();
  const { grade, durationSeconds } = committed;
  await withConflictRetry(async () => {
    const { value: attempt, version } = await readAttempt(unitStore, ids.attemptId);
    if (attempt.closedAt !== null) {
      await noteRegrade(ids, { attempt, version, committed }, unitStore);
      return;
    }
    const graded: AttemptRow = {
      ...attempt,
      grade: { ...grade },
      standingGrade: ids.gradeNumber,
      gradeDurationSeconds: durationSeconds,
      stageEndedAt: { ...attempt.stageEndedAt, grade: now },
    };
    const writes: RowWrite[] = [{ put: { ...rowKeys.attempt(ids.attemptId), body: graded }, when: { version } }];
    const { value: unit, version: unitVersion } = await readUnit(unitStore, ids.sweepId, ids.unitId);
    if (grade.kind === 'graded' && unit.run === attempt.run) {
      const won = { ...unit, winningAttemptId: unit.winningAttemptId ?? ids.attemptId };
      writes.push({ put: { ...rowKeys.unit(ids.sweepId, ids.unitId), body: won }, when: { version: unitVersion } });
    }
    await unitStore.write(writes);
  });
}

interface ClosedAttempt {
  readonly attempt: AttemptRow;
  readonly version: number;
  readonly committed: CommittedGrade;
}

/**
 * A grading that was asked for after the close: the newest one that came to a grade stands, and decides a unit that this
 * attempt decided. One that came to none changes nothing: a fault of ours takes no grade away.
 */
async function noteRegrade(
  { sweepId, unitId, attemptId, gradeNumber }: CommitGradePayload,
  { attempt, version, committed: { grade, durationSeconds } }: ClosedAttempt,
  unitStore: Needs['unitStore'],
): Promise<void> {
  const isAsked = attempt.regrades.some(({ number }) => number === gradeNumber);
  if (!isAsked || grade.kind !== 'graded' || gradeNumber <= attempt.standingGrade) return;
  const standing = { grade: { ...grade }, standingGrade: gradeNumber, gradeDurationSeconds: durationSeconds };
  const graded: AttemptRow = { ...attempt, ...standing };
  const regraded = { ...graded, verdict: { ...verdictOfRow(graded) } };
  const writes: RowWrite[] = [{ put: { ...rowKeys.attempt(attemptId), body: regraded }, when: { version } }];
  const { value: unit, version: unitVersion } = await readUnit(unitStore, sweepId, unitId);
  if (unit.run === attempt.run && (unit.winningAttemptId ?? attemptId) === attemptId) {
    const decided = { ...decidedBy(unit, regraded), winningAttemptId: attemptId };
    writes.push({ put: { ...rowKeys.unit(sweepId, unitId), body: decided }, when: { version: unitVersion } });
  }
  await unitStore.write(writes);
}

/**
 * A report that is there decides, even if the step that wrote it failed afterwards; the first grade written stands.
 * @throws PayloadInvalidError when what stands there is no grade of this grading.
 */
async function commitOnce(payload: CommitGradePayload, ports: Needs): Promise<CommittedGrade> {
  const raw = await readRaw(payload, ports);
  const committed: CommittedGrade = {
    version: 1,
    gradeId: payload.gradeId,
    mode: payload.mode,
    grade: await gradeOf(payload, raw, ports),
    durationSeconds: raw === null ? null : raw.durationSeconds,
    rawKey: raw === null ? null : objectKeys.gradeRaw(payload.gradeId),
  };
  const ref = { bucket: 'artifacts', key: objectKeys.grade(payload.attemptId, payload.gradeNumber) } as const;
  try {
    await ports.artifacts.put(ref, JSON.stringify(committed), { ifAbsent: true });
    return committed;
  } catch (error) {
    if (!isErrorNamed(error, 'ObjectExistsError')) throw error;
    const standing = readCommittedGrade(new TextDecoder().decode(await ports.artifacts.get(ref)));
    if (standing?.gradeId === payload.gradeId) return standing;
    const message = `${ref.key} is there already and is no grade of ${payload.gradeId}; nothing but a grading writes there`;
    throw new ExamHallError('PayloadInvalidError', message, { key: ref.key });
  }
}

type RawReport = EvaluationReport & { readonly durationSeconds: number };

/** A sandbox that failed its own grader is not excused by that: see `untrusted-guest-fails-grader` of the blame table. */
async function gradeOf(payload: CommitGradePayload, raw: RawReport | null, ports: Needs): Promise<Grade> {
  if (raw !== null) {
    const grade = gradeFromReport(raw);
    if (raw.hostFault === null || grade.kind === 'graded' || grade.blame !== 'platform') return grade;
    const laid = await ungradedBy({ ...raw.hostFault, state: 'RunSandboxGrader' }, payload, ports);
    return laid.blame === 'agent' ? laid : grade;
  }
  if (payload.error !== null) return await ungradedBy(payload.error, payload, ports);
  return { kind: 'ungraded', reason: 'platform-fault', blame: 'platform', message: 'the grader left no report' };
}

async function readRaw({ gradeId }: CommitGradePayload, ports: Needs): Promise<RawReport | null> {
  try {
    const bytes = await ports.artifacts.get({ bucket: 'artifacts', key: objectKeys.gradeRaw(gradeId) });
    const raw: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isReport(raw) ? raw : null;
  } catch (error) {
    if (isErrorNamed(error, 'ObjectNotFoundError') || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Written by our own grader step; the shape is checked where it decides. */
function isReport(value: unknown): value is RawReport {
  return (
    typeof value === 'object' && value !== null && 'end' in value && 'valueKind' in value && 'durationSeconds' in value
  );
}

async function ungradedBy(
  error: StateError,
  { attemptId }: CommitGradePayload,
  { unitStore }: Needs,
): Promise<Ungraded> {
  const { value: attempt } = await readAttempt(unitStore, attemptId);
  const message = messageOfCause(error.message);
  const { blame } = classify({
    name: error.name,
    message,
    stage: stageOfState(error.state),
    agentActed: true,
    evidence: attempt.evidence,
    guestTrusted: isGuestTrusted(attempt),
  });
  return { kind: 'ungraded', ...whyUngraded(error.name, blame), message: `${error.name}: ${message}` };
}

function whyUngraded(name: string, blame: Blame): Pick<Ungraded, 'reason' | 'blame'> {
  if (name === 'ReferenceMissingError') return { reason: 'reference-missing', blame };
  if (blame === 'agent') return { reason: 'output-lost', blame };
  return { reason: blame === 'task' ? 'grader-failed' : 'platform-fault', blame };
}
