import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  compileExpression,
  DEFAULT_BOUNDS,
  evaluateExpression,
  followPath,
  type Frame,
  NEEDS_EVALUATOR,
} from '#local/asl/expression';
import { type Json } from '#local/asl/payload';
import { matchesError, retryDelayMilliseconds } from '#local/asl/retry';
import { AslError } from '#local/asl/errors';

import { AslHarness, machine, task } from './asl-harness.ts';

const NAMES = ['a', 'b', 'toString', 'length', '__proto__'];

function frameOf(input: Json): Frame {
  return {
    lookup: (name) => (name === 'v' ? input : undefined),
    lookupStates: (field) => (field === 'input' ? input : undefined),
    nowMilliseconds: () => 0,
  };
}

/** JSON trees whose keys are the names that paths use. */
const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, '', 'text', -1.5),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc
      .array(fc.tuple(fc.constantFrom(...NAMES), tie('tree')), { maxLength: 4 })
      .map(
        (entries): Json => JSON.parse(`{${entries.map(([k, v]) => `"${k}":${JSON.stringify(v)}`).join(',')}}`) as Json,
      ),
  ),
}));

describe('plain paths', () => {
  it('give what JSONata gives, or leave it to JSONata', async () => {
    let answered = 0;
    await fc.assert(
      fc.asyncProperty(tree, fc.array(fc.constantFrom(...NAMES), { maxLength: 4 }), async (input, names) => {
        for (const source of [
          ['$v', ...names],
          ['$states.input', ...names],
        ].map((steps) => steps.join('.'))) {
          const expression = compileExpression(source);
          const quick = followPath(expression.path ?? [], frameOf(input));
          if (quick === NEEDS_EVALUATOR) continue;
          answered += 1;
          const full = await evaluateExpression(expression, frameOf(input), DEFAULT_BOUNDS);
          expect(JSON.stringify(quick)).toBe(JSON.stringify(full));
        }
      }),
      { numRuns: 1000 },
    );
    expect(answered).toBeGreaterThan(1000);
  });

  it.each([
    '$states.input.a[0]',
    '$states.input.a[]',
    '$states.input.*',
    '$v^(a)',
    '$v@$x.a',
    '$v#$i',
    '$v{a: 1}',
    '$states',
  ])('do not cover %s', (source) => {
    const { path } = compileExpression(source);
    expect(path === undefined || followPath(path, frameOf({})) === NEEDS_EVALUATOR).toBe(true);
  });
});

describe('evaluation', () => {
  it('compiles a text once', () => {
    expect(compileExpression('$states.input.x + 1')).toBe(compileExpression('$states.input.x + 1'));
  });

  it('is bounded in time', async () => {
    const endless = compileExpression('($f := function($n) { $f($n + 1) }; $f(1))');
    const bounds = { maxMilliseconds: 20, maxDepth: 100 };
    await expect(evaluateExpression(endless, frameOf(null), bounds)).rejects.toThrow(
      'Expression evaluation timeout: 20 ms',
    );
  });

  it('nests to a depth of 100 and no deeper', async () => {
    const sum = (terms: number) => compileExpression(Array.from({ length: terms }, () => '1').join('+'));
    expect(await evaluateExpression(sum(100), frameOf(null), DEFAULT_BOUNDS)).toBe(100);
    await expect(evaluateExpression(sum(101), frameOf(null), DEFAULT_BOUNDS)).rejects.toThrow('Depth=101 max=100');
  });

  it('does not take the items of a long list for depth', async () => {
    const list = compileExpression(`[${Array.from({ length: 500 }, (_, index) => index).join(',')}]`);
    expect(await evaluateExpression(list, frameOf(null), DEFAULT_BOUNDS)).toHaveLength(500);
  });

  it('keeps apart what runs at the same time', async () => {
    const expression = compileExpression('$sum($map($states.input, function($n) { $n * 2 }))');
    const inputs = Array.from({ length: 50 }, (_, index) => [index, index + 1]);
    const sums = await Promise.all(
      inputs.map((input) => evaluateExpression(expression, frameOf(input), DEFAULT_BOUNDS)),
    );
    expect(sums).toEqual(inputs.map(([a = 0, b = 0]) => 2 * (a + b)));
  });
});

const retrierArbitrary = fc.record({
  errorEquals: fc.constant(['E']),
  intervalSeconds: fc.integer({ min: 1, max: 60 }),
  maxAttempts: fc.integer({ min: 0, max: 8 }),
  backoffRate: fc.double({ min: 1, max: 4, noNaN: true }),
  maxDelaySeconds: fc.option(fc.integer({ min: 1, max: 500 }), { nil: undefined }),
  jitterStrategy: fc.constantFrom('FULL' as const, 'NONE' as const),
});

describe('retries', () => {
  it('wait as long in all as the closed form says', async () => {
    await fc.assert(
      fc.asyncProperty(retrierArbitrary, async (retrier) => {
        const harness = new AslHarness({ random: () => 0.25 });
        const definition = machine({
          Call: task(
            'fail',
            { name: 'E' },
            {
              Retry: [
                {
                  ErrorEquals: retrier.errorEquals,
                  IntervalSeconds: retrier.intervalSeconds,
                  MaxAttempts: retrier.maxAttempts,
                  BackoffRate: retrier.backoffRate,
                  JitterStrategy: retrier.jitterStrategy,
                  ...(retrier.maxDelaySeconds === undefined ? {} : { MaxDelaySeconds: retrier.maxDelaySeconds }),
                },
              ],
            },
          ),
        });
        const handle = harness.start(definition);
        expect(await handle.done).toMatchObject({ status: 'FAILED', error: 'E' });
        expect(harness.invocations).toHaveLength(retrier.maxAttempts + 1);
        expect(handle.historyEventCount).toBe(3 + 3 * (retrier.maxAttempts + 1));
        expect(harness.seconds).toBeCloseTo(totalWaitSeconds(retrier, 0.25), 2);
      }),
      { numRuns: 60 },
    );
  });

  it('never wait longer than without jitter, nor longer than the cap', () => {
    fc.assert(
      fc.property(
        retrierArbitrary,
        fc.nat(20),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (retrier, index, drawn) => {
          const wait = retryDelayMilliseconds(retrier, index, () => drawn);
          const steady = retryDelayMilliseconds({ ...retrier, jitterStrategy: 'NONE' }, index, () => drawn);
          expect(wait).toBeLessThanOrEqual(steady);
          expect(steady).toBeLessThanOrEqual((retrier.maxDelaySeconds ?? Infinity) * 1000);
        },
      ),
    );
  });

  it('are never made for States.Runtime, whatever the list says', () => {
    const runtime = new AslError('States.Runtime', 'c');
    for (const name of ['States.Runtime', 'States.ALL', 'States.TaskFailed'])
      expect(matchesError([name], runtime)).toBe(false);
  });
});

/** Sum of a geometric series up to where the cap takes over, and the cap from there on. */
function totalWaitSeconds(
  retrier: {
    intervalSeconds: number;
    maxAttempts: number;
    backoffRate: number;
    maxDelaySeconds: number | undefined;
    jitterStrategy: string;
  },
  drawn: number,
): number {
  const { intervalSeconds: first, maxAttempts, backoffRate: rate, maxDelaySeconds: cap = Infinity } = retrier;
  const factor = retrier.jitterStrategy === 'FULL' ? drawn : 1;
  let growing = maxAttempts;
  if (first > cap) growing = 0;
  else if (rate > 1 && cap < Infinity)
    growing = Math.min(maxAttempts, Math.floor(Math.log(cap / first) / Math.log(rate)) + 1);
  const series = rate === 1 ? first * growing : (first * (rate ** growing - 1)) / (rate - 1);
  return factor * (series + (maxAttempts === growing ? 0 : (maxAttempts - growing) * cap));
}
