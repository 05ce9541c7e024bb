import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attemptId, gradeId, jobId, localSweepId, parseAttemptId, parseJobId, unitId } from '#core/ids';
import { namesOfUnit } from '#core/unit-plan';
import { SweepRequestSchema } from '#contracts/sweep-request';

const safe = /^[A-Za-z0-9_.-]+$/u;
const purposes = ['stage', 'run', 'collect'] as const;
const unit = fc.record({
  agentId: fc.string({ maxLength: 40 }),
  model: fc.option(fc.string({ maxLength: 40 })),
  taskPath: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,20}\/[a-z0-9][a-z0-9_-]{0,20}$/u),
  variant: fc.nat(99),
  trial: fc.integer({ min: 1, max: 5000 }),
});

describe('unit, attempt and job ids', () => {
  it('parse back, whatever the unit is called', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        unit,
        fc.integer({ min: 1, max: 999 }),
        fc.tuple(fc.constantFrom(...purposes), fc.integer({ min: 1, max: 9 })),
        (name, named, number, [purpose, tries]) => {
          const id = namesOfUnit(localSweepId(name), named, 5000).unitId;
          const attempt = attemptId(id, number);
          expect(parseAttemptId(attempt)).toEqual({ unitId: id, attempt: number });
          expect(parseJobId(jobId(attempt, purpose, tries))).toEqual({ attemptId: attempt, purpose });
          expect(attempt).toMatch(safe);
          expect(gradeId(attempt, number)).toMatch(safe);
        },
      ),
    );
  });

  it('name the trial from the second on', () => {
    const first = { agentSlug: 'a', modelSlug: 'm', taskSlug: 'd__t', variant: 0, trial: 1 };
    expect(unitId('s', first)).toBe('s__a__m__d__t__v0');
    expect(unitId('s', { ...first, trial: 2 })).toBe('s__a__m__d__t__v0__t002');
  });

  it.each(['', 'unit', 'unit.', 'unit.0', 'unit.01', '.1', 'unit.1~run'])('refuse %j as an attempt', (text) => {
    expect(() => parseAttemptId(text)).toThrow(/not an attempt id: .*expected <unitId>\.<n>/u);
  });

  it.each(['', 'unit.1', 'unit.1~', 'unit.1~grade', '~run', 'unit.1~run.0', 'unit.1~run~x'])(
    'refuse %j as a job',
    (text) => {
      expect(() => parseJobId(text)).toThrow(/not a job id: .*expected <attemptId>~stage\|run\|collect/u);
    },
  );
});

describe('the id of a local sweep', () => {
  it('is the name itself where that is safe', () => {
    expect(localSweepId('nightly_2026-01')).toBe('nightly_2026-01');
  });

  it('is safe, short and the same each time, for any name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
        const id = localSweepId(name);
        expect(id).toMatch(/^[A-Za-z0-9_-]+$/u);
        expect(id.length).toBeLessThanOrEqual(56);
        expect(localSweepId(name)).toBe(id);
        expect(SweepRequestSchema.shape.sweepId.safeParse(id).success).toBe(true);
      }),
    );
  });

  it('differs for names that are made safe in the same way', () => {
    const names = [
      'a b',
      'a/b',
      'a-b',
      'ä b',
      'a  b',
      `${'x'.repeat(60)}1`,
      `${'x'.repeat(60)}2`,
      '',
      ' ',
      '日本',
      '中国',
    ];
    expect(new Set(names.map(localSweepId)).size).toBe(names.length);
  });
});
