import { classify, type Verdict } from '#core/blame';
import type { LedgerClass } from '#core/denominators';
import type { Stage } from '#core/errors';
import type { Grade } from '#core/grade';
import type { Outcome } from '#core/outcome';
import type { StateError } from '#core/rows';

/** What an attempt ended with. */
export interface EndedAttempt {
  readonly outcome: Outcome | null;
  readonly grade: Grade | null;
  readonly error: StateError | null;
  readonly agentActed: boolean;
  /** Why the sandbox was lost, from somebody other than the sandbox. */
  readonly evidence: string | null;
  /** Whether the guest's runner is to be believed after the agent acted; see `ErrorSighting`. */
  readonly guestTrusted: boolean;
}

/** Where the attempt leaves its unit. `retry` asks for another attempt, if the cap has room. */
export interface AttemptVerdict extends Omit<Verdict, 'ledgerClass'> {
  readonly ledgerClass: LedgerClass;
}

const STAGE_OF_STATE: Readonly<Record<string, Stage>> = {
  AdmitUnit: 'admit',
  ProvisionSandbox: 'provision',
  AwaitSandbox: 'await',
  StageUnit: 'stage',
  SetUpTask: 'setup',
  RunAgent: 'run',
  CollectOutput: 'collect',
  GradeUnit: 'grade',
  StageGrade: 'grade',
  RunGrader: 'grade',
  RunSandboxGrader: 'grade',
  CommitGrade: 'grade',
  ReleaseSandbox: 'release',
  RecordUnit: 'record',
  CloseAttempt: 'close',
  CloseUnit: 'close',
};

export function stageOfState(state: string): Stage {
  return STAGE_OF_STATE[state] ?? 'run';
}

/** The message inside a state machine's cause, which for a failed function is JSON. */
export function messageOfCause(cause: string): string {
  try {
    const parsed: unknown = JSON.parse(cause);
    if (typeof parsed === 'object' && parsed !== null && 'errorMessage' in parsed) return String(parsed.errorMessage);
  } catch {
    return cause;
  }
  return cause;
}

const SCORED: AttemptVerdict = {
  blame: 'agent',
  retry: false,
  countsAsAttempt: true,
  ledgerClass: 'scored',
  notRunReason: null,
  signatureId: 'graded',
  note: 'graded',
  unknown: false,
};

/**
 * What the grading found stands, whatever failed after it; output that was lost with evidence is no agent's loss. Without it the error decides, by the blame table; an attempt
 * with neither was left by a step of ours.
 */
export function verdictOf(attempt: EndedAttempt): AttemptVerdict {
  const { grade, error, agentActed, evidence, guestTrusted } = attempt;
  if (grade?.kind === 'graded') return SCORED;
  if (grade !== null) {
    const blame = grade.reason === 'output-lost' && evidence !== null ? 'platform' : grade.blame;
    return verdictOfUngraded(blame, grade.reason, grade.message);
  }
  const seen: StateError = error ?? { name: 'UngradedWithoutReason', message: '', state: 'GradeUnit' };
  return withoutGrade(
    classify({
      name: nameOf(seen),
      message: messageOfCause(seen.message),
      stage: stageOfState(seen.state),
      agentActed,
      evidence,
      guestTrusted,
    }),
  );
}

/** A grader's own overrun is in its report; a GradeUnit that times out never heard from the grade machine. */
function nameOf({ name, state }: StateError): string {
  return name === 'States.Timeout' && state === 'GradeUnit' ? 'GraderUnavailableError' : name;
}

/** A row that lets grading go on has nothing to count without a grade: the agent's doing is then a forfeit. */
function withoutGrade(verdict: Verdict): AttemptVerdict {
  return verdict.ledgerClass === 'scored' ? { ...verdict, ledgerClass: 'forfeited' } : verdict;
}

const CANCELLED = { retry: false, ledgerClass: 'not_run', notRunReason: 'cancelled' } as const;

function verdictOfUngraded(blame: Verdict['blame'], reason: string, note: string): AttemptVerdict {
  const base = {
    blame,
    countsAsAttempt: true,
    notRunReason: null,
    signatureId: `ungraded-${reason}`,
    note,
    unknown: false,
  };
  switch (blame) {
    case 'platform':
      return { ...base, retry: true, ledgerClass: 'lost' };
    case 'agent':
      return { ...base, retry: false, ledgerClass: 'forfeited' };
    case 'caller':
      return reason === 'cancelled' ? { ...base, ...CANCELLED } : { ...base, retry: false, ledgerClass: 'task_fault' };
    case 'task':
      return { ...base, retry: false, ledgerClass: 'task_fault' };
  }
}
