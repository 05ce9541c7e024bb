import { type AslCase, DOC } from './asl-case.ts';
import { machine, pass, processor, task } from './asl-harness.ts';

const only = (output: unknown): object => machine({ Only: pass(output) });

/** Expressions, `$states`, the Context object and variables. */
export const DATA_CASES: readonly AslCase[] = [
  {
    feature: 'Strings are expressions only from {% to %}; others are literal',
    doc: DOC.jsonata,
    definition: only([' {% $states.input %}', '$states.input', { '$states.input': '{%$states.input%}' }]),
    input: 1,
    expected: { output: [' {% $states.input %}', '$states.input', { '$states.input': 1 }] },
  },
  {
    feature: 'Expressions work at any depth of objects and lists',
    doc: DOC.jsonata,
    definition: only({ a: [{ b: ['{% $states.input.x %}', '{% $states.input.x + 1 %}'] }] }),
    input: { x: 1 },
    expected: { output: { a: [{ b: [1, 2] }] } },
  },
  {
    feature: 'null is a value',
    doc: DOC.jsonata,
    definition: only({ direct: '{% $states.input.n %}', literal: null, evaluated: '{% [$states.input.n][0] %}' }),
    input: { n: null },
    expected: { output: { direct: null, literal: null, evaluated: null } },
  },
  {
    feature: 'An expression that yields nothing is an error that names it and its field',
    doc: DOC.jsonata,
    definition: only({ unit: { id: '{% $states.input.absent %}' } }),
    expected: {
      error: 'States.QueryEvaluationError',
      cause:
        "An error occurred while executing the state 'Only' (entered at the event id #2). The JSONata expression '$states.input.absent' specified for the field 'Output/unit/id' returned nothing (undefined).",
      historyEvents: 4,
    },
  },
  {
    feature: 'A type error in an expression is an error',
    doc: DOC.jsonata,
    definition: only('{% $states.input.s + 1 %}'),
    input: { s: 'x' },
    expected: { error: 'States.QueryEvaluationError', cause: 'threw an error during evaluation. T2001' },
  },
  {
    feature: 'An expression that yields a function is an error',
    doc: DOC.jsonata,
    definition: only('{% function($x) { $x } %}'),
    expected: { error: 'States.QueryEvaluationError', cause: 'returned an unsupported result type.' },
  },
  {
    feature: '$partition cuts a list into chunks',
    doc: DOC.jsonata,
    definition: only('{% $partition($states.input, 2) %}'),
    input: [1, 2, 3, 4, 5],
    expected: { output: [[1, 2], [3, 4], [5]] },
  },
  {
    feature: '$partition rounds its size down, and yields nothing for a size of zero',
    doc: DOC.jsonata,
    definition: only(['{% $partition([1, 2, 3], 2.9) %}', '{% $exists($partition([1], 0)) %}']),
    expected: { output: [[[1, 2], [3]], false] },
  },
  {
    feature: '$range counts from start to end, end included, by steps of either sign',
    doc: DOC.jsonata,
    definition: only(['{% $range(1, 7, 3) %}', '{% $range(2, -2, -2) %}', '{% $exists($range(1, 3, -1)) %}']),
    expected: { output: [[1, 4, 7], [2, 0, -2], false] },
  },
  {
    feature: '$hash gives the hexadecimal digest by the named algorithm',
    doc: DOC.jsonata,
    definition: only([
      "{% $hash('abc', 'MD5') %}",
      "{% $hash('abc', 'SHA-1') %}",
      "{% $length($hash('a', 'SHA-512')) %}",
    ]),
    expected: { output: ['900150983cd24fb0d6963f7d28e17f72', 'a9993e364706816aba3e25717850c26c9cd0d89d', 128] },
  },
  {
    feature: '$hash knows its algorithms by exact name only',
    doc: DOC.jsonata,
    definition: only("{% $hash('abc', 'md5') %}"),
    expected: { error: 'States.QueryEvaluationError', cause: 'one of MD5, SHA-1, SHA-256, SHA-384, SHA-512' },
  },
  {
    feature: '$uuid gives a version 4 UUID',
    doc: DOC.jsonata,
    definition: only(
      '{% $contains($uuid(), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/) %}',
    ),
    expected: { output: true },
  },
  {
    feature: '$parse reads JSON text',
    doc: DOC.jsonata,
    definition: only('{% $parse($states.input).a[1] %}'),
    input: '{"a":[1,{"b":2}]}',
    expected: { output: { b: 2 } },
  },
  {
    feature: '$random is in [0, 1) and the same for the same seed',
    doc: DOC.jsonata,
    definition: only('{% $random(7) = $random(7) and $random(7) != $random(8) and $random() >= 0 and $random() < 1 %}'),
    expected: { output: true },
  },
  {
    feature: '$now is the time of the evaluation',
    doc: DOC.jsonata,
    definition: machine({
      Pause: { Type: 'Wait', Seconds: 61, Next: 'Only' },
      Only: pass(['{% $now() %}', '{% $millis() %}']),
    }),
    expected: { output: ['2026-01-01T00:01:01.000Z', Date.parse('2026-01-01T00:01:01Z')] },
  },
  {
    feature: 'The Context object describes execution, machine and state',
    doc: DOC.context,
    definition: machine({ Pause: { Type: 'Wait', Seconds: 5, Next: 'Only' }, Only: pass('{% $states.context %}') }),
    input: { a: 1 },
    expected: {
      output: {
        Execution: {
          Id: 'arn:aws:states:local:000000000000:execution:machine:run',
          Input: { a: 1 },
          Name: 'run',
          StartTime: '2026-01-01T00:00:00.000Z',
        },
        StateMachine: { Id: 'arn:aws:states:local:000000000000:stateMachine:machine', Name: 'machine' },
        State: { Name: 'Only', EnteredTime: '2026-01-01T00:00:05.000Z', RetryCount: 0 },
      },
    },
  },
  {
    feature: 'Assign keeps a value for later states',
    doc: DOC.variables,
    definition: machine({
      Set: { Type: 'Pass', Assign: { x: { n: '{% $states.input.n %}' }, y: 2 }, Next: 'Lose' },
      Lose: pass(null, { Next: 'Use' }),
      Use: pass('{% $x.n + $y %}'),
    }),
    input: { n: 40 },
    expected: { output: 42 },
  },
  {
    feature: 'All expressions of a state see the variables as they were on entry',
    doc: DOC.variables,
    definition: machine({
      Set: { Type: 'Pass', Assign: { x: 3, a: 6 }, Next: 'Swap' },
      Swap: { Type: 'Pass', Assign: { x: '{% $a %}', nextX: '{% $x %}' }, Output: '{% $x %}', Next: 'Use' },
      Use: pass({ before: '{% $states.input %}', x: '{% $x %}', nextX: '{% $nextX %}' }),
    }),
    expected: { output: { before: 3, x: 6, nextX: 3 } },
  },
  {
    feature: 'A variable that was never assigned is undefined',
    doc: DOC.variables,
    definition: only('{% $never %}'),
    expected: { error: 'States.QueryEvaluationError', cause: "'$never'" },
  },
  {
    feature: 'Assign of a Task may read $states.result',
    doc: DOC.variables,
    definition: machine({
      Call: task('echo', 9, { Assign: { got: '{% $states.result.Payload %}' }, Output: null, Next: 'Use' }),
      Use: pass('{% $got %}'),
    }),
    expected: { output: 9 },
  },
  {
    feature: 'Iterations read outer variables and keep their own to themselves',
    doc: DOC.variables,
    definition: machine({
      Set: { Type: 'Pass', Assign: { factor: 10 }, Next: 'Each' },
      Each: {
        Type: 'Map',
        Items: [1, 2, 3],
        ItemProcessor: processor({
          Keep: { Type: 'Pass', Assign: { own: '{% $states.input * $factor %}' }, Next: 'Give' },
          Give: pass('{% $own %}'),
        }),
        Next: 'After',
      },
      After: pass({ outputs: '{% $states.input %}', isOwnGone: '{% $not($exists($own)) %}' }),
    }),
    expected: { output: { outputs: [10, 20, 30], isOwnGone: true } },
  },
  {
    feature: 'Assign of one state is limited to 256 KiB',
    doc: DOC.variables,
    definition: machine({
      Set: {
        Type: 'Pass',
        Assign: { a: "{% $pad('', 131072, 'x') %}", b: "{% $pad('', 131072, 'x') %}" },
        End: true,
      },
    }),
    expected: { error: 'States.DataLimitExceeded', cause: '262144' },
  },
  {
    feature: 'All variables of an execution are limited to 10 MiB together',
    doc: DOC.variables,
    definition: machine({
      ...Object.fromEntries(
        Array.from({ length: 41 }, (_, index) => [
          `Set${index}`,
          { Type: 'Pass', Assign: { [`v${index}`]: "{% $pad('', 260000, 'x') %}" }, Next: `Set${index + 1}` },
        ]),
      ),
      Set41: pass('unreached'),
    }),
    expected: { error: 'States.DataLimitExceeded', cause: '10485760', historyEvents: 83 },
  },
  {
    feature: 'A variable that is replaced no longer counts',
    doc: DOC.variables,
    definition: machine({
      ...Object.fromEntries(
        Array.from({ length: 50 }, (_, index) => [
          `Set${index}`,
          { Type: 'Pass', Assign: { v: "{% $pad('', 260000, 'x') %}" }, Next: `Set${index + 1}` },
        ]),
      ),
      Set50: pass('{% $length($v) %}'),
    }),
    expected: { output: 260_000 },
  },
  {
    feature: 'An expression that nests too deep is stopped',
    doc: DOC.jsonata,
    definition: only('{% ($f := function($n) { 1 + $f($n) }; $f(1)) %}'),
    expected: { error: 'States.QueryEvaluationError', cause: 'Stack overflow' },
  },
];
