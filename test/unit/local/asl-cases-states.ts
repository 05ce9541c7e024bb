import { type AslCase, DOC } from './asl-case.ts';
import { callback, machine, pass, processor, task } from './asl-harness.ts';

const IN = '{% $states.input %}';

/** Each type of state, and the fields that all of them share. */
export const STATE_CASES: readonly AslCase[] = [
  {
    feature: 'Pass hands its input on',
    doc: DOC.pass,
    definition: machine({ Only: { Type: 'Pass', Comment: 'nothing to do', End: true } }),
    input: { a: [1, null, 'x'] },
    expected: { status: 'SUCCEEDED', output: { a: [1, null, 'x'] }, historyEvents: 4 },
  },
  {
    feature: 'Pass with Output replaces its input',
    doc: DOC.pass,
    definition: machine({ Only: pass({ was: '{% $states.input.a %}', fixed: 1 }) }),
    input: { a: 2 },
    expected: { output: { was: 2, fixed: 1 } },
  },
  {
    feature: 'Next passes the output of a state to the next as its input',
    doc: DOC.language,
    definition: machine({ First: pass({ n: 1 }, { Next: 'Second' }), Second: pass('{% $states.input.n + 1 %}') }),
    expected: { output: 2 },
  },
  {
    feature: 'Task invokes a function and yields Payload, StatusCode and ExecutedVersion',
    doc: DOC.lambda,
    definition: machine({ Call: task('echo', { id: '{% $states.input.id %}' }) }),
    input: { id: 'u-1' },
    expected: {
      output: { ExecutedVersion: '$LATEST', Payload: { id: 'u-1' }, StatusCode: 200 },
      historyEvents: 7,
    },
  },
  {
    feature: 'Task without Payload sends an empty object',
    doc: DOC.lambda,
    definition: machine({
      Call: {
        Type: 'Task',
        Resource: 'arn:aws:states:::lambda:invoke',
        Arguments: { FunctionName: 'echo' },
        Output: '{% $states.result.Payload %}',
        End: true,
      },
    }),
    expected: { output: {} },
  },
  {
    feature: 'Output of a Task may read $states.result and $states.input together',
    doc: DOC.jsonata,
    definition: machine({
      Call: task('echo', 5, { Output: { from: IN, got: '{% $states.result.Payload %}' } }),
    }),
    input: { k: 1 },
    expected: { output: { from: { k: 1 }, got: 5 } },
  },
  {
    feature: 'waitForTaskToken pauses until the token is returned, and yields its output',
    doc: DOC.callback,
    definition: machine({ Wait: callback('succeed', { output: { done: true }, afterSeconds: 90 }) }),
    expected: { output: { done: true }, seconds: 90, historyEvents: 8 },
  },
  {
    feature: 'A token returned before the function has answered counts',
    doc: DOC.callback,
    definition: machine({ Wait: callback('succeed', { output: 'early' }) }),
    expected: { output: 'early', historyEvents: 8 },
  },
  {
    feature: 'Choice follows the first rule whose Condition is true',
    doc: DOC.choice,
    definition: machine({
      Which: {
        Type: 'Choice',
        Choices: [
          { Condition: '{% $states.input.n > 10 %}', Next: 'Large' },
          { Condition: '{% $states.input.n > 5 %}', Next: 'Medium' },
          { Condition: true, Next: 'Small' },
        ],
      },
      Large: pass('large'),
      Medium: pass('medium'),
      Small: pass('small'),
    }),
    input: { n: 7 },
    expected: { output: 'medium', historyEvents: 6 },
  },
  {
    feature: 'Choice falls back to Default',
    doc: DOC.choice,
    definition: machine({
      Which: { Type: 'Choice', Choices: [{ Condition: '{% $states.input.n = 1 %}', Next: 'One' }], Default: 'Other' },
      One: pass('one'),
      Other: pass('other'),
    }),
    input: { n: 2 },
    expected: { output: 'other' },
  },
  {
    feature: 'Choice without a match and without Default fails',
    doc: DOC.choice,
    definition: machine({
      Which: { Type: 'Choice', Choices: [{ Condition: '{% $states.input.n = 1 %}', Next: 'One' }] },
      One: pass('one'),
    }),
    input: { n: 2 },
    expected: { status: 'FAILED', error: 'States.NoChoiceMatched' },
  },
  {
    feature: 'A Condition that is no boolean fails',
    doc: DOC.choice,
    definition: machine({
      Which: { Type: 'Choice', Choices: [{ Condition: '{% $states.input.n %}', Next: 'One' }] },
      One: pass('one'),
    }),
    input: { n: 1 },
    expected: { error: 'States.QueryEvaluationError', cause: "'Choices[0]/Condition'" },
  },
  {
    feature: 'A rule of a Choice has its own Output and Assign; the state has those of Default',
    doc: DOC.choice,
    definition: machine({
      First: {
        Type: 'Choice',
        Choices: [{ Condition: '{% $states.input.n = 1 %}', Next: 'Second', Output: { n: 2 }, Assign: { by: 'rule' } }],
        Default: 'Unreached',
      },
      Second: {
        Type: 'Choice',
        Choices: [{ Condition: '{% $states.input.n = 1 %}', Next: 'Unreached' }],
        Default: 'Third',
        Output: { n: '{% $states.input.n + 1 %}' },
        Assign: { then: 'default' },
      },
      Third: pass({ n: '{% $states.input.n %}', by: '{% $by %}', then: '{% $then %}' }),
      Unreached: pass('unreached'),
    }),
    input: { n: 1 },
    expected: { output: { n: 3, by: 'rule', then: 'default' } },
  },
  {
    feature: 'Wait lasts its Seconds',
    doc: DOC.wait,
    definition: machine({ Pause: { Type: 'Wait', Seconds: 45, End: true } }),
    input: 'kept',
    expected: { output: 'kept', seconds: 45, historyEvents: 4 },
  },
  {
    feature: 'Wait takes Seconds from an expression',
    doc: DOC.wait,
    definition: machine({ Pause: { Type: 'Wait', Seconds: '{% $states.input.n * 60 %}', Output: 'ok', End: true } }),
    input: { n: 2 },
    expected: { output: 'ok', seconds: 120 },
  },
  {
    feature: 'Wait lasts until its Timestamp',
    doc: DOC.wait,
    definition: machine({ Pause: { Type: 'Wait', Timestamp: '{% $states.input.until %}', End: true } }),
    input: { until: '2026-01-01T01:00:00Z' },
    expected: { status: 'SUCCEEDED', seconds: 3600 },
  },
  {
    feature: 'Wait for a Timestamp that has passed takes no time',
    doc: DOC.wait,
    definition: machine({ Pause: { Type: 'Wait', Timestamp: '2020-01-01T00:00:00+02:00', End: true } }),
    expected: { status: 'SUCCEEDED', seconds: 0 },
  },
  {
    feature: 'Wait with negative Seconds fails',
    doc: DOC.wait,
    definition: machine({ Pause: { Type: 'Wait', Seconds: '{% 0 - 1 %}', End: true } }),
    expected: { error: 'States.QueryEvaluationError', cause: 'integer from 0' },
  },
  {
    feature: 'Wait with a Timestamp that is none fails',
    doc: DOC.wait,
    definition: machine({ Pause: { Type: 'Wait', Timestamp: '{% "tomorrow" %}', End: true } }),
    expected: { error: 'States.QueryEvaluationError', cause: 'RFC 3339' },
  },
  {
    feature: 'Succeed ends the execution with its Output',
    doc: DOC.succeed,
    definition: machine({ Done: { Type: 'Succeed', Output: { was: IN } } }),
    input: 3,
    expected: { status: 'SUCCEEDED', output: { was: 3 }, historyEvents: 4 },
  },
  {
    feature: 'Fail ends the execution with its Error and Cause',
    doc: DOC.fail,
    definition: machine({ Stop: { Type: 'Fail', Error: 'Plan.Empty', Cause: "{% 'no units in ' & $states.input %}" } }),
    input: 's-1',
    expected: { status: 'FAILED', error: 'Plan.Empty', cause: 'no units in s-1', historyEvents: 3 },
  },
  {
    feature: 'Parallel runs its branches on copies of its input and lists their outputs',
    doc: DOC.parallel,
    definition: machine({
      Both: {
        Type: 'Parallel',
        Branches: [
          processor({ A: { Type: 'Wait', Seconds: 30, Output: { a: IN }, End: true } }),
          processor({ B: { Type: 'Wait', Seconds: 20, Output: { b: IN }, End: true } }),
        ],
        End: true,
      },
    }),
    input: 1,
    expected: { output: [{ a: 1 }, { b: 1 }], seconds: 30, historyEvents: 10 },
  },
  {
    feature: 'Parallel fails when a branch fails, and stops the others',
    doc: DOC.parallel,
    definition: machine({
      Both: {
        Type: 'Parallel',
        Arguments: { n: 1 },
        Branches: [
          processor({ A: { Type: 'Wait', Seconds: 3000, End: true } }),
          processor({ B: { Type: 'Fail', Error: 'Branch', Cause: 'broke' } }),
        ],
        Catch: [{ ErrorEquals: ['Branch'], Next: 'Caught' }],
        End: true,
      },
      Caught: pass('{% $states.input %}'),
    }),
    expected: { output: { Error: 'Branch', Cause: 'broke' }, seconds: 0 },
  },
  {
    feature: 'TimeoutSeconds of the machine ends it as TIMED_OUT, whatever a Catch says',
    doc: DOC.stateMachine,
    definition: machine(
      {
        Call: task('slow', { seconds: 100 }, { Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }] }),
        Caught: pass('caught'),
      },
      { TimeoutSeconds: 10 },
    ),
    expected: { status: 'TIMED_OUT', seconds: 10, historyEvents: 5 },
  },
];
