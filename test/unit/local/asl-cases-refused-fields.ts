import { DOC, type Refusal } from './asl-case.ts';
import { machine, pass, processor, task } from './asl-harness.ts';

const END = { End: true };
const only = (state: object): object => machine({ Only: state });
const map = (fields: object): object =>
  only({ Type: 'Map', ItemProcessor: processor({ In: pass(1) }), ...END, ...fields });
const distributed = (fields: object): object =>
  map({ ItemProcessor: processor({ In: pass(1) }, 'DISTRIBUTED'), ...fields });
const reader = (fields: object): object =>
  distributed({
    ItemReader: {
      Resource: 'arn:aws:states:::s3:getObject',
      ReaderConfig: { InputType: 'JSON' },
      Arguments: { Bucket: 'b', Key: 'k' },
      ...fields,
    },
  });
const retry = (...retriers: object[]): object => only(task('echo', 1, { Retry: retriers }));

/** Refusals of fields that only some states have. */
export const FIELD_REFUSALS: readonly Refusal[] = [
  [
    'States.ALL beside another error is refused',
    DOC.errors,
    retry({ ErrorEquals: ['States.ALL', 'E'] }),
    'must stand alone',
  ],
  [
    'States.ALL before the last entry is refused',
    DOC.errors,
    retry({ ErrorEquals: ['States.ALL'] }, { ErrorEquals: ['E'] }),
    'must stand alone',
  ],
  [
    'An unknown reserved error is refused',
    DOC.errors,
    retry({ ErrorEquals: ['States.Unknown'] }),
    "'States.Unknown' is no error of the service",
  ],
  ['An empty ErrorEquals is refused', DOC.errors, retry({ ErrorEquals: [] }), 'at least one error'],
  [
    'A BackoffRate below 1 is refused',
    DOC.errors,
    retry({ ErrorEquals: ['E'], BackoffRate: 0.5 }),
    "'BackoffRate' must be a number from 1",
  ],
  [
    'An IntervalSeconds of 0 is refused',
    DOC.errors,
    retry({ ErrorEquals: ['E'], IntervalSeconds: 0 }),
    "'IntervalSeconds' must be an integer from 1",
  ],
  [
    'A negative MaxAttempts is refused',
    DOC.errors,
    retry({ ErrorEquals: ['E'], MaxAttempts: -1 }),
    "'MaxAttempts' must be an integer from 0",
  ],
  [
    'A MaxDelaySeconds above its maximum is refused',
    DOC.errors,
    retry({ ErrorEquals: ['E'], MaxDelaySeconds: 31_622_401 }),
    'from 1 to 31622400',
  ],
  [
    'An unknown JitterStrategy is refused',
    DOC.errors,
    retry({ ErrorEquals: ['E'], JitterStrategy: 'SOME' }),
    'must be one of FULL, NONE',
  ],
  ['Retry of a Pass is refused', DOC.pass, only({ ...pass(1), Retry: [] }), "the field 'Retry'"],
  [
    'A Wait with both Seconds and Timestamp is refused',
    DOC.wait,
    only({ Type: 'Wait', Seconds: 1, Timestamp: 'x', ...END }),
    "either 'Seconds' or 'Timestamp'",
  ],
  ['A Choice without rules is refused', DOC.choice, only({ Type: 'Choice', Choices: [] }), 'at least one rule'],
  [
    'JSONPath comparisons in a Choice are refused',
    DOC.choice,
    machine({ A: { Type: 'Choice', Choices: [{ Variable: '$.x', NumericEquals: 1, Next: 'B' }] }, B: pass(1) }),
    "'Variable' belongs to JSONPath",
  ],
  [
    'ItemBatcher is refused',
    DOC.distributedMap,
    distributed({ ItemBatcher: { MaxItemsPerBatch: 2 } }),
    "the field 'ItemBatcher'",
  ],
  ['Iterator, the old form of ItemProcessor, is refused', DOC.map, map({ Iterator: {} }), "the field 'Iterator'"],
  [
    'EXPRESS children are refused',
    DOC.distributedMap,
    map({
      ItemProcessor: {
        ...processor({ In: pass(1) }),
        ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'EXPRESS' },
      },
    }),
    "'ExecutionType' must be one of STANDARD",
  ],
  ['CSV is refused', DOC.itemReader, reader({ ReaderConfig: { InputType: 'CSV' } }), 'must be one of JSON, JSONL'],
  [
    'Listing objects as items is refused',
    DOC.itemReader,
    reader({ Resource: 'arn:aws:states:::s3:listObjectsV2' }),
    "resource 'arn:aws:states:::s3:listObjectsV2'",
  ],
  [
    'Items beside ItemReader are refused',
    DOC.itemReader,
    distributed({ Items: [], ItemReader: {} }),
    "either 'Items' or 'ItemReader'",
  ],
  ['Items that are an object are refused', DOC.map, map({ Items: { a: 1 } }), "'Items' must be a list"],
  ['ItemReader of an inline map is refused', DOC.itemReader, map({ ItemReader: {} }), 'only in a DISTRIBUTED map'],
  [
    'Tolerated failures of an inline map are refused',
    DOC.inlineMap,
    map({ ToleratedFailurePercentage: 10 }),
    'only in a DISTRIBUTED map',
  ],
  [
    'A tolerance above 100 % is refused',
    DOC.distributedMap,
    distributed({ ToleratedFailurePercentage: 101 }),
    'from 0 to 100',
  ],
  [
    'WriterConfig is refused',
    DOC.resultWriter,
    distributed({
      ResultWriter: { Resource: 'arn:aws:states:::s3:putObject', Arguments: { Bucket: 'b' }, WriterConfig: {} },
    }),
    "the field 'WriterConfig'",
  ],
  [
    'A Parallel without branches is refused',
    DOC.parallel,
    only({ Type: 'Parallel', Branches: [], ...END }),
    'at least one branch',
  ],
];
