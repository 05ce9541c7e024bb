import { ERROR_KINDS, type Blame } from './errors.ts';
import { isScore, type Grade, type Ungraded, type UngradedReason } from './grade.ts';

/** How a call of a published function ended: the part of a module report that a grade depends on. */
export interface EvaluationReport {
  readonly end:
    'returned' | 'threw' | 'timeout' | 'memory' | 'exited' | 'result-too-large' | 'not-json' | 'unavailable';
  /** JSON value returned; null unless `valueKind` is `json`. */
  readonly value: unknown;
  /** What was returned where JSON lacks it: `not-json` is a function, BigInt, cyclic object, throwing getter and the like. */
  readonly valueKind: 'json' | 'undefined' | 'nan' | 'infinity' | 'not-json' | 'none';
  readonly errorName: string | null;
  readonly errorMessage: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The first fault of the host while the module ran, whatever the module made of it. */
  readonly hostFault: { readonly name: string; readonly message: string } | null;
}

const ALLOWED = 'allowed: a number from 0 to 1, or {score, ...} with such a number';

/**
 * The grade that follows from one call of `evaluate`. Anything but a score in [0,1] is ungraded:
 * laid to the platform when the host failed the grader (even if the grader hid it behind a score), else to the task.
 */
export function gradeFromReport(report: EvaluationReport): Grade {
  if (report.hostFault !== null) return hostFaulted(report.hostFault);
  switch (report.end) {
    case 'returned':
      return gradeOfValue(report);
    case 'threw':
      return report.errorName === 'ReferenceMissingError'
        ? ungraded('reference-missing', 'task', `evaluate found no reference: ${report.errorMessage ?? ''}`)
        : ungraded(
            'grader-failed',
            'task',
            `evaluate threw ${report.errorName ?? 'a value'}: ${report.errorMessage ?? ''}`,
          );
    case 'timeout':
      return ungraded('grader-timeout', 'task', `evaluate did not end in time${because(report)}`);
    case 'memory':
      return ungraded('grader-memory', 'task', `evaluate used more memory than allowed${because(report)}`);
    case 'exited':
      return ungraded(
        'grader-failed',
        'task',
        `evaluate ended its process (${exitOf(report)}) instead of returning; ${ALLOWED}`,
      );
    case 'result-too-large':
      return ungraded('grader-invalid-value', 'task', `evaluate returned too large a value${because(report)}`);
    case 'not-json':
      return ungraded('grader-invalid-value', 'task', `evaluate returned no JSON value${because(report)}; ${ALLOWED}`);
    case 'unavailable':
      return ungraded('platform-fault', 'platform', `the grader could not be run${because(report)}`);
  }
}

function gradeOfValue(report: EvaluationReport): Grade {
  const { value } = report;
  if (report.valueKind === 'json') {
    if (isScore(value)) return { kind: 'graded', score: value + 0, detail: null };
    if (isRecord(value) && Object.hasOwn(value, 'score')) {
      const { score, ...detail } = value;
      if (isScore(score)) {
        return { kind: 'graded', score: score + 0, detail: Object.keys(detail).length === 0 ? null : detail };
      }
      return ungraded('grader-invalid-value', 'task', `evaluate returned score ${shown(score)}; ${ALLOWED}`);
    }
  }
  const seen = report.valueKind === 'json' ? shown(value) : report.valueKind;
  return ungraded('grader-invalid-value', 'task', `evaluate returned ${seen}; ${ALLOWED}`);
}

function hostFaulted(fault: { readonly name: string; readonly message: string }): Grade {
  const kind = Object.entries(ERROR_KINDS).find(([name]) => name === fault.name)?.[1];
  const blame = kind?.blame ?? 'platform';
  return ungraded('platform-fault', blame, `the host failed the grader: ${fault.name}: ${fault.message}`);
}

function ungraded(reason: UngradedReason, blame: Blame, message: string): Ungraded {
  return { kind: 'ungraded', reason, blame, message };
}

function because(report: EvaluationReport): string {
  return report.errorMessage === null ? '' : `: ${report.errorMessage}`;
}

function exitOf(report: EvaluationReport): string {
  return report.signal === null ? `exit code ${report.exitCode ?? 'unknown'}` : `signal ${report.signal}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 120)}...` : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
