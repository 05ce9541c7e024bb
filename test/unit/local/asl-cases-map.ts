import { type AslCase, DOC } from './asl-case.ts';
import { machine, pass, processor, task } from './asl-harness.ts';

const EACH = processor({ Give: pass('{% $states.input %}') });
const CHILD = processor({ Give: pass('{% $states.input %}') }, 'DISTRIBUTED');
/** Children fail for items below zero. */
const PICKY = processor(
  {
    Check: { Type: 'Choice', Choices: [{ Condition: '{% $states.input < 0 %}', Next: 'Refuse' }], Default: 'Accept' },
    Refuse: { Type: 'Fail', Error: 'Negative' },
    Accept: pass('ok'),
  },
  'DISTRIBUTED',
);
const reader = (inputType: string, more: object = {}): object => ({
  Resource: 'arn:aws:states:::s3:getObject',
  ReaderConfig: { InputType: inputType, ...more },
  Arguments: { Bucket: 'artifacts', Key: '{% $states.input.key %}' },
});
const writer = { Resource: 'arn:aws:states:::s3:putObject', Arguments: { Bucket: 'artifacts', Prefix: 'runs' } };
const map = (fields: object): object =>
  machine({ Each: { Type: 'Map', End: true, ...fields }, Caught: pass('{% $states.input.Error %}') });
const caught = (fields: object, name: string): object =>
  map({ ...fields, Catch: [{ ErrorEquals: [name], Next: 'Caught' }] });
const uncaught = (fields: object): object => machine({ Each: { Type: 'Map', End: true, ...fields } });

/** Maps, inline and distributed. */
export const MAP_CASES: readonly AslCase[] = [
  {
    feature: 'An inline map runs its processor for each of its Items and lists the outputs in order',
    doc: DOC.inlineMap,
    definition: uncaught({ Items: '{% $states.input.list %}', ItemProcessor: EACH }),
    input: { list: ['a', 'b'] },
    expected: { output: ['a', 'b'], historyEvents: 14 },
  },
  {
    feature: 'A map without Items goes through its input',
    doc: DOC.map,
    definition: uncaught({ ItemProcessor: EACH }),
    input: [1, 2],
    expected: { output: [1, 2] },
  },
  {
    feature: 'A map of no items yields an empty list',
    doc: DOC.map,
    definition: uncaught({ Items: [], ItemProcessor: EACH }),
    expected: { output: [] },
  },
  {
    feature: 'Items that are no list fail the map',
    doc: DOC.map,
    definition: caught({ Items: '{% $states.input %}', ItemProcessor: EACH }, 'States.QueryEvaluationError'),
    input: { a: 1 },
    expected: { output: 'States.QueryEvaluationError' },
  },
  {
    feature: 'ItemSelector makes the input of each iteration from the item, its index and the state',
    doc: DOC.itemSelector,
    definition: uncaught({
      Items: ['a', 'b'],
      ItemSelector: {
        index: '{% $states.context.Map.Item.Index %}',
        value: '{% $states.context.Map.Item.Value %}',
        from: '{% $states.input %}',
      },
      ItemProcessor: EACH,
    }),
    input: 7,
    expected: {
      output: [
        { index: 0, value: 'a', from: 7 },
        { index: 1, value: 'b', from: 7 },
      ],
    },
  },
  {
    feature: 'States of an inline iteration see its item in the Context object',
    doc: DOC.context,
    definition: uncaught({ Items: ['a'], ItemProcessor: processor({ Give: pass('{% $states.context.Map.Item %}') }) }),
    expected: { output: [{ Index: 0, Value: 'a' }] },
  },
  {
    feature: 'MaxConcurrency 1 runs iterations one after another',
    doc: DOC.inlineMap,
    definition: uncaught({
      Items: [1, 2, 3],
      MaxConcurrency: 1,
      ItemProcessor: processor({ Pause: { Type: 'Wait', Seconds: 10, End: true } }),
    }),
    expected: { seconds: 30 },
  },
  {
    feature: 'An inline map runs 40 iterations at once and no more',
    doc: DOC.inlineMap,
    definition: uncaught({
      Items: '{% [1..80] %}',
      ItemProcessor: processor({ Pause: { Type: 'Wait', Seconds: 10, End: true } }),
    }),
    expected: { seconds: 20 },
  },
  {
    feature: 'A failed iteration fails the inline map with its error, and stops the others',
    doc: DOC.map,
    definition: caught(
      {
        Items: [9, 1],
        ItemProcessor: processor({
          Pause: { Type: 'Wait', Seconds: '{% $states.input %}', Next: 'Stop' },
          Stop: { Type: 'Fail', Error: 'Item', Cause: 'c' },
        }),
      },
      'Item',
    ),
    expected: { output: 'Item', seconds: 1, historyEvents: 17 },
  },
  {
    feature: 'Output of a Map reads the outputs of all iterations as $states.result',
    doc: DOC.map,
    definition: uncaught({ Items: [1, 2, 3], ItemProcessor: EACH, Output: '{% $sum($states.result) %}' }),
    expected: { output: 6 },
  },
  {
    feature: 'A distributed map runs a child execution for each item, with a history of its own',
    doc: DOC.distributedMap,
    definition: uncaught({ Items: [3, 1, 2], ItemProcessor: CHILD }),
    expected: { output: [3, 1, 2], historyEvents: 8 },
  },
  {
    feature: 'A child of a distributed map is an execution of its own in the Context object',
    doc: DOC.distributedMap,
    definition: uncaught({
      Label: 'units',
      Items: ['a'],
      ItemProcessor: processor(
        {
          Give: pass([
            '{% $states.context.Execution.Input %}',
            '{% $states.context.StateMachine.Name %}',
            '{% $exists($states.context.Map) %}',
          ]),
        },
        'DISTRIBUTED',
      ),
    }),
    expected: { output: [['a', 'machine/units', false]] },
  },
  {
    feature: 'ItemReader reads a JSON list from an object',
    doc: DOC.itemReader,
    definition: uncaught({ ItemReader: reader('JSON'), ItemProcessor: CHILD }),
    input: { key: 'plan.json' },
    objects: { 'artifacts/plan.json': '[{"id":1},{"id":2}]' },
    expected: { output: [{ id: 1 }, { id: 2 }] },
  },
  {
    feature: 'ItemReader reads JSON Lines',
    doc: DOC.itemReader,
    definition: uncaught({ ItemReader: reader('JSONL'), ItemProcessor: CHILD }),
    input: { key: 'plan.jsonl' },
    objects: { 'artifacts/plan.jsonl': '{"id":1}\r\n\n{"id":2}\n' },
    expected: { output: [{ id: 1 }, { id: 2 }] },
  },
  {
    feature: 'MaxItems bounds what ItemReader hands out',
    doc: DOC.itemReader,
    definition: uncaught({ ItemReader: reader('JSONL', { MaxItems: 2 }), ItemProcessor: CHILD }),
    input: { key: 'plan.jsonl' },
    objects: { 'artifacts/plan.jsonl': '1\n2\n3\n' },
    expected: { output: [1, 2] },
  },
  {
    feature: 'ItemReader fails the map with States.ItemReaderFailed when the object is missing',
    doc: DOC.itemReader,
    definition: caught({ ItemReader: reader('JSON'), ItemProcessor: CHILD }, 'States.ItemReaderFailed'),
    input: { key: 'absent.json' },
    expected: { output: 'States.ItemReaderFailed' },
  },
  {
    feature: 'ItemReader fails the map when the object is no list',
    doc: DOC.itemReader,
    definition: uncaught({ ItemReader: reader('JSON'), ItemProcessor: CHILD }),
    input: { key: 'plan.json' },
    objects: { 'artifacts/plan.json': '{"id":1}' },
    expected: { error: 'States.ItemReaderFailed', cause: 'non-iterable', historyEvents: 7 },
  },
  {
    feature: 'Without tolerance one failed child fails the map',
    doc: DOC.distributedMap,
    definition: caught({ Items: [1, -1, 2], ItemProcessor: PICKY }, 'States.ExceedToleratedFailureThreshold'),
    expected: { output: 'States.ExceedToleratedFailureThreshold' },
  },
  {
    feature: 'ToleratedFailurePercentage allows failures up to it',
    doc: DOC.distributedMap,
    definition: machine({
      Each: {
        Type: 'Map',
        Items: [1, -1, 2, -2],
        ItemProcessor: PICKY,
        ToleratedFailurePercentage: 50,
        Output: "{% $map($states.result, function($r) { $type($r) = 'string' ? $r : $r.Status & ' ' & $r.Error }) %}",
        End: true,
      },
    }),
    expected: { output: ['ok', 'FAILED Negative', 'ok', 'FAILED Negative'] },
  },
  {
    feature: 'ToleratedFailurePercentage is exceeded by one failure more',
    doc: DOC.distributedMap,
    definition: uncaught({ Items: [1, -1, 2, -2], ItemProcessor: PICKY, ToleratedFailurePercentage: 49.9 }),
    expected: { error: 'States.ExceedToleratedFailureThreshold', cause: '2 of 4 items failed' },
  },
  {
    feature: 'ToleratedFailurePercentage 100 tolerates everything',
    doc: DOC.distributedMap,
    definition: uncaught({ Items: [-1, -2], ItemProcessor: PICKY, ToleratedFailurePercentage: 100, Output: 'done' }),
    expected: { output: 'done' },
  },
  {
    feature: 'ToleratedFailureCount may be an expression, and either threshold can fail the map',
    doc: DOC.distributedMap,
    definition: uncaught({
      Items: [-1, -2, 1, 2],
      ItemProcessor: PICKY,
      ToleratedFailurePercentage: 100,
      ToleratedFailureCount: '{% $states.input.most %}',
    }),
    input: { most: 1 },
    expected: { error: 'States.ExceedToleratedFailureThreshold' },
  },
  {
    feature: 'ResultWriter writes results to objects and yields where they are',
    doc: DOC.resultWriter,
    definition: uncaught({
      Items: [1, -1],
      ItemProcessor: PICKY,
      ToleratedFailurePercentage: 100,
      ResultWriter: writer,
      Output: "{% $replace($states.result.ResultWriterDetails.Key, /id-\\d+/, 'id') %}",
    }),
    expected: { output: 'runs/id/manifest.json' },
  },
  {
    feature: 'Outputs over 262,144 bytes together fail a distributed map without ResultWriter',
    doc: DOC.distributedMap,
    definition: uncaught({
      Items: [1, 2, 3],
      ItemProcessor: processor({ Give: pass("{% $pad('', 90000, 'x') %}") }, 'DISTRIBUTED'),
    }),
    expected: { error: 'States.DataLimitExceeded' },
  },
  {
    feature: 'MaxConcurrency bounds the children of a distributed map',
    doc: DOC.distributedMap,
    definition: uncaught({
      Items: '{% [1..100] %}',
      MaxConcurrency: '{% 5 * 5 %}',
      ItemProcessor: processor({ Pause: { Type: 'Wait', Seconds: 10, End: true } }, 'DISTRIBUTED'),
    }),
    expected: { seconds: 40 },
  },
  {
    feature: 'Retry of a map runs all of it again',
    doc: DOC.errors,
    definition: uncaught({
      Items: [1],
      ItemProcessor: processor({
        Call: task('flaky', { errors: ['E', 'E'] }, { Output: '{% $states.result.Payload %}' }),
      }),
      Retry: [{ ErrorEquals: ['E'], IntervalSeconds: 2 }],
    }),
    expected: { output: ['recovered'], seconds: 6 },
  },
];
