import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gradeFromReport, type EvaluationReport } from '#core/evaluation';

const RETURNED: EvaluationReport = {
  end: 'returned',
  value: null,
  valueKind: 'json',
  errorName: null,
  errorMessage: null,
  exitCode: 0,
  signal: null,
  hostFault: null,
};

function returning(value: unknown): EvaluationReport {
  return { ...RETURNED, value };
}

describe('a grade', () => {
  it('is any number from 0 to 1', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (score) => {
        expect(gradeFromReport(returning(score))).toEqual({ kind: 'graded', score: score + 0, detail: null });
      }),
    );
  });

  it('never has a score outside of 0 to 1, whatever was returned', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ score: fc.jsonValue() }), fc.double()), (value) => {
        const grade = gradeFromReport(returning(value));
        const isScored = grade.kind === 'graded' && grade.score >= 0 && grade.score <= 1;
        expect(isScored || (grade.kind === 'ungraded' && grade.blame === 'task')).toBe(true);
      }),
    );
  });

  it('keeps what came with the score', () => {
    expect(gradeFromReport(returning({ score: 0.5, gates: ['a'] }))).toEqual({
      kind: 'graded',
      score: 0.5,
      detail: { gates: ['a'] },
    });
    expect(gradeFromReport(returning({ score: 1 }))).toEqual({ kind: 'graded', score: 1, detail: null });
  });

  it('says what was returned instead of a score', () => {
    expect(gradeFromReport(returning(1.7))).toMatchObject({
      message: 'evaluate returned 1.7; allowed: a number from 0 to 1, or {score, ...} with such a number',
    });
    expect(gradeFromReport(returning({ score: 'NaN' }))).toMatchObject({
      message: expect.stringContaining('evaluate returned score "NaN"') as string,
    });
    expect(gradeFromReport({ ...RETURNED, valueKind: 'nan' })).toMatchObject({
      message: expect.stringContaining('evaluate returned nan') as string,
    });
  });

  it.each([
    ['threw', 'grader-failed', 'task'],
    ['timeout', 'grader-timeout', 'task'],
    ['memory', 'grader-memory', 'task'],
    ['exited', 'grader-failed', 'task'],
    ['result-too-large', 'grader-invalid-value', 'task'],
    ['not-json', 'grader-invalid-value', 'task'],
    ['unavailable', 'platform-fault', 'platform'],
  ] as const)('is not given when evaluate ended as %s', (end, reason, blame) => {
    expect(gradeFromReport({ ...RETURNED, end, valueKind: 'none' })).toMatchObject({ kind: 'ungraded', reason, blame });
  });

  it('is not given when the host failed the grader, and the fault is laid to whom its name says', () => {
    const faulted = (name: string): EvaluationReport => ({ ...returning(0), hostFault: { name, message: 'm' } });
    expect(gradeFromReport(faulted('ChannelUnavailableError'))).toMatchObject({ blame: 'platform' });
    expect(gradeFromReport(faulted('Error'))).toMatchObject({ reason: 'platform-fault', blame: 'platform' });
    expect(gradeFromReport(faulted('AgentNotStoppedError'))).toMatchObject({ blame: 'agent' });
  });

  it('is laid to the task when the reference is missing', () => {
    expect(gradeFromReport({ ...RETURNED, end: 'threw', errorName: 'ReferenceMissingError' })).toMatchObject({
      reason: 'reference-missing',
      blame: 'task',
    });
  });
});
