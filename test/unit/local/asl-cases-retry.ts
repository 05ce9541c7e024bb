import { type AslCase, DOC } from './asl-case.ts';
import { machine, pass, task } from './asl-harness.ts';

const CAUGHT = { Caught: pass('{% $states.input %}') };
const failing = (name: string, fields: object): object => task('fail', { name, message: 'm' }, { ...fields });

/** Retry and its fields. */
export const RETRY_CASES: readonly AslCase[] = [
  {
    feature: 'Retry waits IntervalSeconds, then BackoffRate times as long each time',
    doc: DOC.errors,
    definition: machine({
      Call: failing('E', { Retry: [{ ErrorEquals: ['E'], IntervalSeconds: 3, MaxAttempts: 3, BackoffRate: 2 }] }),
    }),
    expected: { error: 'E', seconds: 3 + 6 + 12, historyEvents: 15 },
  },
  {
    feature: 'Retry defaults to three attempts after 1, 2 and 4 seconds',
    doc: DOC.errors,
    definition: machine({ Call: failing('E', { Retry: [{ ErrorEquals: ['States.ALL'] }] }) }),
    expected: { error: 'E', seconds: 7 },
  },
  {
    feature: 'MaxDelaySeconds caps the waits of Retry',
    doc: DOC.errors,
    definition: machine({
      Call: failing('E', {
        Retry: [{ ErrorEquals: ['E'], IntervalSeconds: 3, MaxAttempts: 3, BackoffRate: 2, MaxDelaySeconds: 5 }],
      }),
    }),
    expected: { error: 'E', seconds: 3 + 5 + 5 },
  },
  {
    feature: 'JitterStrategy FULL waits between nothing and the interval (here always half of it)',
    doc: DOC.errors,
    definition: machine({
      Call: failing('E', {
        Retry: [{ ErrorEquals: ['E'], IntervalSeconds: 2, MaxAttempts: 3, BackoffRate: 2, JitterStrategy: 'FULL' }],
      }),
    }),
    expected: { error: 'E', seconds: 1 + 2 + 4 },
  },
  {
    feature: 'MaxAttempts 0 keeps an error from being retried',
    doc: DOC.errors,
    definition: machine({
      Call: task(
        'slow',
        { seconds: 9 },
        {
          TimeoutSeconds: 2,
          Retry: [{ ErrorEquals: ['States.Timeout'], MaxAttempts: 0 }, { ErrorEquals: ['States.ALL'] }],
        },
      ),
    }),
    expected: { error: 'States.Timeout', seconds: 2 },
  },
  {
    feature: 'Each retrier counts its own attempts over a visit, and a spent one gives way to Catch',
    doc: DOC.errors,
    definition: machine({
      Call: task(
        'flaky',
        { errors: ['ErrorA', 'ErrorB', 'ErrorC', 'ErrorB', 'ErrorA'] },
        {
          Retry: [
            { ErrorEquals: ['ErrorA', 'ErrorB'], IntervalSeconds: 1, BackoffRate: 2, MaxAttempts: 2 },
            { ErrorEquals: ['ErrorC'], IntervalSeconds: 5 },
          ],
          Catch: [{ ErrorEquals: ['States.ALL'], Output: '{% $states.errorOutput.Error %}', Next: 'Caught' }],
        },
      ),
      ...CAUGHT,
    }),
    expected: { output: 'ErrorB', seconds: 1 + 2 + 5 },
  },
  {
    feature: 'Retries are counted in the Context object and add history events',
    doc: DOC.context,
    definition: machine({
      Call: task(
        'flaky',
        { errors: ['E', 'E'], count: '{% $states.context.State.RetryCount %}' },
        { Retry: [{ ErrorEquals: ['E'] }], Output: '{% $states.context.State.RetryCount %}' },
      ),
    }),
    expected: { output: 2, seconds: 3, historyEvents: 13 },
  },
];
