import { verdictOf, type AttemptVerdict } from '#core/attempt-verdict';
import { UNGRADED_REASONS, type Grade } from '#core/grade';
import { OUTCOME_KINDS, type Outcome } from '#core/outcome';
import type { AttemptRow } from '#core/rows';
import { storedSandbox } from './attempt-stages.ts';

/** States in which the agent may have acted; before them a loss is nobody's but ours. */
const AFTER_LAUNCH: ReadonlySet<string> = new Set([
  'RunAgent',
  'CollectOutput',
  'GradeUnit',
  'ReleaseSandbox',
  'RecordUnit',
]);

export function outcomeOfRow(row: Pick<AttemptRow, 'outcome'>): Outcome | null {
  const { outcome } = row;
  if (outcome === null) return null;
  const kind = OUTCOME_KINDS.find((each) => each === outcome['kind']);
  if (kind === undefined) return null;
  const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
  return {
    kind,
    exitCode: number(outcome['exitCode']),
    durationSeconds: number(outcome['durationSeconds']) ?? 0,
    message: typeof outcome['message'] === 'string' ? outcome['message'] : null,
  };
}

export function gradeOfRow(row: Pick<AttemptRow, 'grade'>): Grade | null {
  const { grade } = row;
  if (grade === null) return null;
  if (grade['kind'] === 'graded' && typeof grade['score'] === 'number') {
    const detail = grade['detail'];
    return {
      kind: 'graded',
      score: grade['score'],
      detail: typeof detail === 'object' && detail !== null ? { ...detail } : null,
    };
  }
  const reason = UNGRADED_REASONS.find((each) => each === grade['reason']) ?? 'platform-fault';
  const blame = grade['blame'];
  return {
    kind: 'ungraded',
    reason,
    blame: blame === 'task' || blame === 'agent' || blame === 'caller' ? blame : 'platform',
    message: typeof grade['message'] === 'string' ? grade['message'] : '',
  };
}

/**
 * Whether the runner in the attempt's sandbox can be believed once the agent has acted: not where the agent may become root,
 * nor where it works under the runner's own account.
 */
export function isGuestTrusted(row: AttemptRow): boolean {
  const sandbox = storedSandbox(row);
  return row.privilege !== 'upstream' && (sandbox === null || sandbox.agent !== null);
}

export function verdictOfRow(row: AttemptRow): AttemptVerdict {
  const { error } = row;
  return verdictOf({
    outcome: outcomeOfRow(row),
    grade: gradeOfRow(row),
    error,
    agentActed: row.agentStartedAt !== null && (error === null || AFTER_LAUNCH.has(error.state)),
    evidence: row.evidence,
    guestTrusted: isGuestTrusted(row),
  });
}
