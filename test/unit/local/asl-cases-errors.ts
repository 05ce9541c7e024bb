import { type AslCase, DOC } from './asl-case.ts';
import { callback, machine, pass, task } from './asl-harness.ts';

const CAUGHT = { Caught: pass('{% $states.input %}') };
const catchAs = (...names: string[]): object => ({ Catch: [{ ErrorEquals: names, Next: 'Caught' }] });
const failing = (name: string, fields: object): object => task('fail', { name, message: 'm' }, { ...fields });
const silent = (fields: object): object => callback('keep', {}, { ...fields });

/** Errors, Catch, timeouts, heartbeats and quotas. */
export const ERROR_CASES: readonly AslCase[] = [
  {
    feature: "A function's error becomes the execution's, its cause the JSON of type, message and trace",
    doc: DOC.lambda,
    definition: machine({ Call: failing('Plan.Broken', {}) }),
    expected: {
      status: 'FAILED',
      error: 'Plan.Broken',
      cause: '{"errorType":"Plan.Broken","errorMessage":"m","trace":[',
      historyEvents: 6,
    },
  },
  {
    feature: 'Errors of the Lambda service itself have plain text as their cause',
    doc: DOC.errors,
    definition: machine({ Call: failing('Lambda.TooManyRequestsException', {}) }),
    expected: { error: 'Lambda.TooManyRequestsException', cause: 'm' },
  },
  {
    feature: 'Catch leads on with the error output as the output',
    doc: DOC.errors,
    definition: machine({ Call: callback('report', { error: 'E', cause: 'c' }, catchAs('E') as never), ...CAUGHT }),
    expected: { output: { Error: 'E', Cause: 'c' }, historyEvents: 10 },
  },
  {
    feature: 'Catch has its own Output and Assign, which read $states.errorOutput and the input',
    doc: DOC.variables,
    definition: machine({
      Call: callback(
        'report',
        { error: 'E', cause: 'c' },
        {
          Assign: { never: 1 },
          Catch: [
            {
              ErrorEquals: ['E'],
              Assign: { error: '{% $states.errorOutput.Error %}' },
              Output: { why: '{% $states.errorOutput.Cause %}', was: '{% $states.input %}' },
              Next: 'Caught',
            },
          ],
        },
      ),
      Caught: pass({ in: '{% $states.input %}', error: '{% $error %}', never: '{% $exists($never) %}' }),
    }),
    input: 4,
    expected: { output: { in: { why: 'c', was: 4 }, error: 'E', never: false } },
  },
  {
    feature: 'The first catcher that names the error is taken',
    doc: DOC.errors,
    definition: machine({
      Call: failing('B', {
        Catch: [
          { ErrorEquals: ['A'], Next: 'Wrong' },
          { ErrorEquals: ['X', 'B'], Next: 'Right' },
          { ErrorEquals: ['States.ALL'], Next: 'Wrong' },
        ],
      }),
      Wrong: pass('wrong'),
      Right: pass('right'),
    }),
    expected: { output: 'right' },
  },
  {
    feature: 'States.ALL matches any error',
    doc: DOC.errors,
    definition: machine({ Call: failing('Any', { ...catchAs('States.ALL') }), Caught: pass('caught') }),
    expected: { output: 'caught' },
  },
  {
    feature: 'States.TaskFailed matches any error of a task',
    doc: DOC.errors,
    definition: machine({ Call: failing('Any', { ...catchAs('States.TaskFailed') }), Caught: pass('caught') }),
    expected: { output: 'caught' },
  },
  {
    feature: 'States.TaskFailed does not match States.Timeout',
    doc: DOC.errors,
    definition: machine({
      Call: task('slow', { seconds: 9 }, { TimeoutSeconds: 3, ...catchAs('States.TaskFailed') }),
      ...CAUGHT,
    }),
    expected: { status: 'FAILED', error: 'States.Timeout', seconds: 3 },
  },
  {
    feature: 'TimeoutSeconds ends a task that takes longer, and Catch sees States.Timeout with an empty cause',
    doc: DOC.task,
    definition: machine({
      Call: task('slow', { seconds: 9 }, { TimeoutSeconds: 3, ...catchAs('States.Timeout') }),
      ...CAUGHT,
    }),
    expected: { output: { Error: 'States.Timeout', Cause: '' }, seconds: 3, historyEvents: 9 },
  },
  {
    feature: 'TimeoutSeconds may be an expression',
    doc: DOC.task,
    definition: machine({ Call: task('slow', { seconds: 9 }, { TimeoutSeconds: '{% $states.input * 2 %}' }) }),
    input: 4,
    expected: { error: 'States.Timeout', seconds: 8 },
  },
  {
    feature: 'TimeoutSeconds that is no positive integer is an error',
    doc: DOC.task,
    definition: machine({ Call: task('echo', 1, { TimeoutSeconds: '{% $states.input %}' }) }),
    input: 0,
    expected: { error: 'States.QueryEvaluationError', cause: "'TimeoutSeconds'" },
  },
  {
    feature: 'TimeoutSeconds bounds the whole wait for a token',
    doc: DOC.callback,
    definition: machine({
      Wait: callback('beat', { everySeconds: 4, times: 9 }, { TimeoutSeconds: 10, HeartbeatSeconds: 5 }),
    }),
    expected: { error: 'States.Timeout', seconds: 10, historyEvents: 7 },
  },
  {
    feature: 'A missed heartbeat ends the wait for a token and is caught as States.HeartbeatTimeout',
    doc: DOC.errors,
    definition: machine({
      Wait: silent({ TimeoutSeconds: 600, HeartbeatSeconds: 5, ...catchAs('States.HeartbeatTimeout') }),
      ...CAUGHT,
    }),
    expected: { output: { Error: 'States.Timeout', Cause: '' }, seconds: 5 },
  },
  {
    feature: 'States.Timeout matches a missed heartbeat too',
    doc: DOC.errors,
    definition: machine({ Wait: silent({ HeartbeatSeconds: '{% 2 + 3 %}', ...catchAs('States.Timeout') }), ...CAUGHT }),
    expected: { status: 'SUCCEEDED', seconds: 5 },
  },
  {
    feature: 'States.HeartbeatTimeout does not match a timeout',
    doc: DOC.errors,
    definition: machine({ Wait: silent({ TimeoutSeconds: 5, ...catchAs('States.HeartbeatTimeout') }), ...CAUGHT }),
    expected: { status: 'FAILED', error: 'States.Timeout' },
  },
  {
    feature: 'Heartbeats keep a wait going, and add no history event',
    doc: DOC.heartbeat,
    definition: machine({ Wait: callback('beat', { everySeconds: 4, times: 20 }, { HeartbeatSeconds: 5 }) }),
    expected: { output: 'beaten', seconds: 84, historyEvents: 8 },
  },
  {
    feature: 'An evaluation error in Arguments can be caught',
    doc: DOC.jsonata,
    definition: machine({
      Call: task('echo', '{% $states.input.absent %}', { ...catchAs('States.QueryEvaluationError') }),
      Caught: pass('{% $states.input.Error %}'),
    }),
    expected: { output: 'States.QueryEvaluationError', historyEvents: 7 },
  },
  {
    feature: 'An evaluation error in Output can be caught',
    doc: DOC.jsonata,
    definition: machine({
      Call: task('echo', 1, { Output: '{% $states.result.Payload.absent %}', ...catchAs('States.ALL') }),
      Caught: pass('{% $states.input.Error %}'),
    }),
    expected: { output: 'States.QueryEvaluationError' },
  },
  {
    feature: 'An evaluation error in a Catch ends the execution',
    doc: DOC.errors,
    definition: machine({
      Call: failing('E', {
        Catch: [{ ErrorEquals: ['States.ALL'], Output: '{% $states.input.absent %}', Next: 'Caught' }],
      }),
      ...CAUGHT,
    }),
    expected: { status: 'FAILED', error: 'States.QueryEvaluationError', cause: "'Catch[0]/Output'" },
  },
  {
    feature: 'States.ALL does not match States.DataLimitExceeded',
    doc: DOC.errors,
    definition: machine({ Call: task('large', { length: 262_144 }, { ...catchAs('States.ALL') }), ...CAUGHT }),
    expected: { status: 'FAILED', error: 'States.DataLimitExceeded' },
  },
  {
    feature: 'States.DataLimitExceeded is caught by its own name',
    doc: DOC.errors,
    definition: machine({
      Call: task('large', { length: 262_144 }, { ...catchAs('States.DataLimitExceeded') }),
      Caught: pass('{% $states.input.Cause %}'),
    }),
    expected: {
      output:
        "The state/task 'lambda' returned a result with a size exceeding the maximum number of bytes service limit.",
    },
  },
  {
    feature: 'A state whose output is over 262,144 bytes fails',
    doc: DOC.quotas,
    definition: machine({ Only: pass("{% $pad('', 262143, 'x') %}") }),
    expected: { error: 'States.DataLimitExceeded', cause: "'Only'" },
  },
  {
    feature: 'A state whose output is 262,144 bytes is allowed',
    doc: DOC.quotas,
    definition: machine({
      Only: pass("{% $pad('', 262142, 'x') %}", { Next: 'Count' }),
      Count: pass('{% $length($states.input) %}'),
    }),
    expected: { output: 262_142 },
  },
  {
    feature: 'Arguments over 262,144 bytes fail the task; a character counts its UTF-8 bytes',
    doc: DOC.quotas,
    definition: machine({ Call: task('echo', "{% $pad('', 131072, 'é') %}") }),
    expected: { error: 'States.DataLimitExceeded', cause: "'Call'" },
  },
  {
    feature: 'An execution fails with States.Runtime at its 25,000th history event, which no Catch sees',
    doc: DOC.quotas,
    definition: machine({
      Count: { Type: 'Pass', Output: '{% $states.input + 1 %}', Next: 'Again' },
      Again: { Type: 'Choice', Choices: [{ Condition: '{% $states.input < 0 %}', Next: 'Never' }], Default: 'Count' },
      Never: pass('never'),
    }),
    input: 0,
    expected: { status: 'FAILED', error: 'States.Runtime', cause: '(25000)', historyEvents: 25_000 },
  },
];
