import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERROR_KINDS, type Stage } from '#core/errors';
import { UNGRADED_REASONS, type Grade } from '#core/grade';
import { OUTCOME_KINDS, type Outcome } from '#core/outcome';
import {
  EVAL_STATUSES,
  evalStatusOf,
  PHASES,
  phaseOf,
  scoreOf,
  STATUS_TABLE,
  UNIT_STATUSES,
  unitStatusOf,
  type AttemptEnd,
} from '#core/status';
import { readUpstreamEnd, type UpstreamEnd } from '#core/upstream-status';

const outcomes = fc.record({
  kind: fc.constantFrom(...OUTCOME_KINDS),
  exitCode: fc.option(fc.nat(255)),
  durationSeconds: fc.option(fc.double({ min: 0, max: 1e5, noNaN: true })),
  message: fc.option(fc.string()),
}) satisfies fc.Arbitrary<Outcome>;

const grades: fc.Arbitrary<Grade> = fc.oneof(
  fc.record({
    kind: fc.constant('graded' as const),
    score: fc.double({ min: 0, max: 1, noNaN: true }),
    detail: fc.constant(null),
  }),
  fc.record({
    kind: fc.constant('ungraded' as const),
    reason: fc.constantFrom(...UNGRADED_REASONS),
    blame: fc.constantFrom('task' as const, 'platform' as const),
    message: fc.string(),
  }),
);

const ends = fc.record({
  outcome: fc.option(outcomes),
  grade: fc.option(grades),
  begun: fc.boolean(),
}) satisfies fc.Arbitrary<AttemptEnd>;

const done = (kind: Outcome['kind']): Outcome => ({ kind, exitCode: 0, durationSeconds: 1, message: null });
const graded: Grade = { kind: 'graded', score: 0.5, detail: null };
const ungraded = (reason: (typeof UNGRADED_REASONS)[number]): Grade => ({
  kind: 'ungraded',
  reason,
  blame: 'task',
  message: 'm',
});

describe('unitStatusOf', () => {
  it('has a status of upstream for every end, and a score only when graded', () => {
    fc.assert(
      fc.property(ends, (end) => {
        expect(UNIT_STATUSES).toContain(unitStatusOf(end));
        expect(EVAL_STATUSES).toContain(evalStatusOf(end.grade));
        expect(scoreOf(end.grade) !== null).toBe(evalStatusOf(end.grade) === 'success');
      }),
    );
  });

  it.each([
    ['the timeout of the agent before a failed evaluation', done('timeout'), ungraded('grader-failed'), 'timeout'],
    ['a limit like a timeout, which upstream takes as final', done('limit'), graded, 'timeout'],
    [
      'the failure of the agent before the timeout of the evaluation',
      done('failed'),
      ungraded('grader-timeout'),
      'failed',
    ],
    ['the timeout of the evaluation', done('completed'), ungraded('grader-timeout'), 'timeout'],
    ['the failure of the evaluation', done('completed'), ungraded('grader-invalid-value'), 'failed'],
    ['completed last', done('completed'), graded, 'completed'],
    ['cancelled before everything', done('cancelled'), graded, 'cancelled'],
    [
      'failed when a platform fault kept the grader from running',
      done('timeout'),
      ungraded('platform-fault'),
      'failed',
    ],
    ['failed for an agent that was not stopped', done('completed'), ungraded('agent-not-stopped'), 'failed'],
  ] as const)('promotes %s', (_, outcome, grade, status) => {
    expect(unitStatusOf({ outcome, grade, begun: true })).toBe(status);
  });

  it('tells a unit that never began from one that failed before its agent ran', () => {
    expect(unitStatusOf({ outcome: null, grade: null, begun: false })).toBe('not_executed');
    expect(unitStatusOf({ outcome: null, grade: null, begun: true })).toBe('failed');
    expect(unitStatusOf({ outcome: null, grade: ungraded('cancelled'), begun: false })).toBe('cancelled');
  });

  it('reaches each of upstreams statuses, and needs every row for some end', () => {
    const used = new Set<string>();
    const rows = new Set<unknown>();
    for (const kind of ['none', ...OUTCOME_KINDS] as const) {
      for (const begun of [true, false]) {
        for (const grade of [null, graded, ...UNGRADED_REASONS.filter((each) => each !== 'cancelled').map(ungraded)]) {
          used.add(unitStatusOf({ outcome: kind === 'none' ? null : done(kind), grade, begun }));
          rows.add(
            STATUS_TABLE.find(
              (row) =>
                row.outcome.includes(kind) &&
                (row.begun === 'any' || row.begun === begun) &&
                row.evalStatus.includes(evalStatusOf(grade)),
            ),
          );
        }
      }
    }
    expect([...used].sort()).toEqual([...UNIT_STATUSES].sort());
    expect(rows.size).toBe(STATUS_TABLE.length);
  });
});

/** Ends that upstream's own promotion can write. */
const upstreamEnds: fc.Arbitrary<UpstreamEnd> = fc
  .record({
    status: fc.constantFrom(...UNIT_STATUSES),
    evalStatus: fc.constantFrom(...EVAL_STATUSES),
    agentStatus: fc.constantFrom('completed', 'timeout', 'failed', null),
    score: fc.double({ min: 0, max: 1, noNaN: true }),
    phase: fc.option(fc.constantFrom(...PHASES)),
    durationSeconds: fc.nat(),
    message: fc.option(fc.string()),
  })
  .map((end) => ({ ...end, score: end.evalStatus === 'success' ? end.score : null }) satisfies UpstreamEnd)
  .filter((end) => {
    if (end.status === 'completed') return end.evalStatus === 'success';
    if (end.status === 'not_executed') return end.evalStatus === 'not_executed';
    return end.status !== 'timeout' || end.evalStatus !== 'not_executed';
  });

describe('readUpstreamEnd', () => {
  it('reads what upstream wrote so that we would write the same', () => {
    fc.assert(
      fc.property(upstreamEnds, (end) => {
        const ours = readUpstreamEnd(end);
        expect(unitStatusOf(ours)).toBe(end.status);
        expect(evalStatusOf(ours.grade)).toBe(end.evalStatus);
        expect(scoreOf(ours.grade)).toBe(end.score);
      }),
    );
  });

  it('reads what we wrote back to the same kind of end, but for limits', () => {
    fc.assert(
      fc.property(ends, (end) => {
        const status = unitStatusOf(end);
        const kind = end.outcome?.kind ?? null;
        const back = readUpstreamEnd({
          status,
          evalStatus: evalStatusOf(end.grade),
          score: scoreOf(end.grade),
          agentStatus: kind === 'cancelled' ? null : kind === 'limit' ? 'timeout' : kind,
          phase: kind === null ? 'env_start' : 'evaluation',
          durationSeconds: 1,
          message: null,
        });
        expect(back.grade?.kind === 'graded').toBe(end.grade?.kind === 'graded');
        if (kind === null && end.grade?.kind === 'graded') return;
        if (status === 'cancelled' || status === 'not_executed') return;
        if (kind === null && evalStatusOf(end.grade) !== 'not_executed') return;
        expect(back.outcome?.kind ?? null).toBe(kind === 'limit' ? 'timeout' : kind);
      }),
    );
  });

  it('takes a success without a score for no grade', () => {
    const end: UpstreamEnd = {
      status: 'completed',
      evalStatus: 'success',
      score: null,
      agentStatus: 'completed',
      phase: null,
      durationSeconds: 1,
      message: null,
    };
    expect(readUpstreamEnd(end).grade).toMatchObject({ kind: 'ungraded', reason: 'grader-invalid-value' });
    expect(readUpstreamEnd({ ...end, score: 1.7 }).grade).toMatchObject({ kind: 'ungraded', blame: 'task' });
  });
});

describe('phaseOf', () => {
  it('knows a phase, or none, for every stage of an error of ours', () => {
    const stages = new Set<Stage>(Object.values(ERROR_KINDS).map((kind) => kind.stage));
    expect(stages.size).toBeGreaterThan(5);
    for (const stage of stages) expect([...PHASES, null]).toContain(phaseOf(stage));
    expect(phaseOf('grade')).toBe('evaluation');
    expect(phaseOf('grade', 'ReferenceMissingError')).toBe('stage_reference');
    expect(phaseOf('provision')).toBe('env_start');
  });
});
