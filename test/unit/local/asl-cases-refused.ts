import { type AslCase, DOC, type Refusal } from './asl-case.ts';
import { FIELD_REFUSALS } from './asl-cases-refused-fields.ts';
import { callback, machine, pass, processor, task } from './asl-harness.ts';

const END = { End: true };
const LAMBDA = 'arn:aws:states:::lambda:invoke';
const only = (state: object): object => machine({ Only: state });
const map = (fields: object): object =>
  only({ Type: 'Map', ItemProcessor: processor({ In: pass(1) }), ...END, ...fields });
const jsonPathFields: readonly Refusal[] = [
  'InputPath',
  'OutputPath',
  'ResultPath',
  'ResultSelector',
  'Parameters',
  'TimeoutSecondsPath',
  'HeartbeatSecondsPath',
].map((field) => [
  `${field} is refused`,
  DOC.jsonata,
  only(task('echo', 1, { [field]: '$.x' })),
  `state 'Only': the field '${field}' belongs to JSONPath`,
]);

const REFUSALS: readonly Refusal[] = [
  ...jsonPathFields,
  ['Result of a Pass is refused', DOC.pass, only({ Type: 'Pass', Result: 1, ...END }), "'Result' belongs to JSONPath"],
  ['ItemsPath is refused', DOC.map, map({ ItemsPath: '$.x' }), "'ItemsPath' belongs to JSONPath"],
  [
    'JSONPath as the language is refused',
    DOC.jsonata,
    machine({ A: pass(1) }, { QueryLanguage: 'JSONPath' }),
    'only "JSONata"',
  ],
  [
    'No language, which means JSONPath, is refused',
    DOC.jsonata,
    { StartAt: 'A', States: { A: pass(1) } },
    "state 'A': 'QueryLanguage' is JSONPath, the default",
  ],
  [
    'A state in JSONPath is refused',
    DOC.jsonata,
    only({ ...pass(1), QueryLanguage: 'JSONPath' }),
    "state 'Only': 'QueryLanguage'",
  ],
  [
    'Another resource is refused',
    DOC.task,
    only({ ...task('f', 1), Resource: 'arn:aws:states:::sqs:sendMessage' }),
    "the resource 'arn:aws:states:::sqs:sendMessage' is not interpreted",
  ],
  [
    'A nested execution is refused',
    DOC.task,
    only({ ...task('f', 1), Resource: 'arn:aws:states:::states:startExecution.sync:2' }),
    'startExecution.sync:2',
  ],
  [
    'A function ARN as the resource is refused',
    DOC.lambda,
    only({ ...task('f', 1), Resource: 'arn:aws:lambda:eu-west-1:1:function:f' }),
    "state 'Only': the resource",
  ],
  [
    'Other arguments of an invocation are refused',
    DOC.lambda,
    only({ Type: 'Task', Resource: LAMBDA, Arguments: { FunctionName: 'f', InvocationType: 'Event' }, ...END }),
    "the argument 'InvocationType'",
  ],
  [
    'Credentials are refused',
    DOC.task,
    only(task('f', 1, { Credentials: {} })),
    "the field 'Credentials' is not interpreted",
  ],
  [
    'A heartbeat without a token is refused',
    DOC.task,
    only(task('f', 1, { HeartbeatSeconds: 5 })),
    "'HeartbeatSeconds' is interpreted here only with .waitForTaskToken",
  ],
  [
    'A heartbeat as long as the timeout is refused',
    DOC.task,
    only(callback('keep', {}, { TimeoutSeconds: 5, HeartbeatSeconds: 5 })),
    'must be smaller',
  ],
  [
    'A state of an unknown type is refused',
    DOC.language,
    only({ Type: 'Loop', ...END }),
    "the type 'Loop' is not interpreted",
  ],
  [
    'An unknown field is refused',
    DOC.language,
    only({ ...pass(1), Outputs: 1 }),
    "state 'Only': the field 'Outputs' is not interpreted",
  ],
  [
    'An unknown field of the machine is refused',
    DOC.stateMachine,
    machine({ A: pass(1) }, { Start: 'A' }),
    "machine: the field 'Start'",
  ],
  [
    'A missing StartAt is refused',
    DOC.stateMachine,
    { QueryLanguage: 'JSONata', States: { A: pass(1) } },
    "'StartAt' must be a non-empty string",
  ],
  [
    'A StartAt without a state is refused',
    DOC.stateMachine,
    machine({ A: pass(1) }, { StartAt: 'B' }),
    "'StartAt' names no state of it: 'B'",
  ],
  ['A Next without a state is refused', DOC.language, only(pass(1, { Next: 'Gone' })), "leads to 'Gone'"],
  [
    'A Catch that leads nowhere is refused',
    DOC.errors,
    only(task('f', 1, { Catch: [{ ErrorEquals: ['E'], Next: 'Gone' }] })),
    "leads to 'Gone'",
  ],
  [
    'A state that nothing leads to is refused',
    DOC.language,
    machine({ A: pass(1), B: pass(2) }),
    "state 'B': no state leads to it",
  ],
  [
    'A machine that cannot end is refused',
    DOC.language,
    machine({ A: pass(1, { Next: 'B' }), B: pass(1, { Next: 'A' }) }),
    'no state ends it',
  ],
  ['Neither Next nor End is refused', DOC.language, only({ Type: 'Pass' }), "either 'Next' or 'End'"],
  ['Both Next and End are refused', DOC.language, only({ ...pass(1), Next: 'Only' }), "either 'Next' or 'End'"],
  [
    'A state name of 81 characters is refused',
    DOC.quotas,
    machine({ ['n'.repeat(81)]: pass(1) }),
    '1 to 80 characters, not 81',
  ],
  [
    'A name used in two scopes is refused',
    DOC.language,
    machine({ A: { Type: 'Map', ItemProcessor: processor({ A: pass(1) }), ...END } }),
    'used twice',
  ],
  [
    'A definition over 1 MiB is refused',
    DOC.quotas,
    machine({ A: pass('x'.repeat(1_048_576)) }),
    '1048576 are allowed',
  ],
  ['A definition that is no JSON is refused', DOC.createStateMachine, '{', 'not JSON'],
  ['Text that is not JSONata is refused', DOC.jsonata, only(pass('{% $states.input. %}')), 'is not JSONata'],
  ['$eval is refused', DOC.jsonata, only(pass("{% $eval('1') %}")), '$eval is not supported'],
  [
    'A name at the top level is refused',
    DOC.jsonata,
    only(pass('{% unit.id %}')),
    "Reference to 'unit' at the top level",
  ],
  ['$ at the top level is refused', DOC.jsonata, only(pass('{% $.unit %}')), "Reference to '$' at the top level"],
  ['$$ is refused', DOC.jsonata, only(pass('{% $states.input.a[$$.b] %}')), "Reference to '$$'"],
  ['A field $states does not have is refused', DOC.variables, only(pass('{% $states.output %}')), "no field 'output'"],
  [
    '$states.result outside Output and Assign of a task is refused',
    DOC.variables,
    only(pass('{% $states.result %}')),
    '$states.result exists only',
  ],
  [
    '$states.errorOutput outside a Catch is refused',
    DOC.variables,
    only(task('f', 1, { Output: '{% $states.errorOutput %}' })),
    '$states.errorOutput exists only',
  ],
  ['Assign of Succeed is refused', DOC.variables, only({ Type: 'Succeed', Assign: { a: 1 } }), "the field 'Assign'"],
  ['Assign of Fail is refused', DOC.variables, only({ Type: 'Fail', Assign: { a: 1 } }), "the field 'Assign'"],
  [
    'Assigning $states is refused',
    DOC.variables,
    only({ Type: 'Pass', Assign: { states: 1 }, ...END }),
    "'states' is no variable name",
  ],
  [
    'Assigning a part of a variable is refused',
    DOC.variables,
    only({ Type: 'Pass', Assign: { 'x.y': 1 }, ...END }),
    "'x.y' is no variable name",
  ],
  [
    'A variable name of 81 characters is refused',
    DOC.variables,
    only({ Type: 'Pass', Assign: { ['v'.repeat(81)]: 1 }, ...END }),
    'is no variable name',
  ],
  [
    'An inner scope may not assign what an outer one assigns',
    DOC.variables,
    machine({
      A: {
        Type: 'Map',
        Assign: { x: 1 },
        ItemProcessor: processor({ B: { Type: 'Pass', Assign: { x: 2 }, ...END } }),
        ...END,
      },
    }),
    "state 'B': it assigns 'x'",
  ],
  [
    'Children of a distributed map may not read outer variables',
    DOC.variables,
    machine({
      A: { Type: 'Map', Assign: { x: 1 }, ItemProcessor: processor({ B: pass('{% $x %}') }, 'DISTRIBUTED'), ...END },
    }),
    "state 'B': it reads '$x'",
  ],
];

/** Everything that is refused when a definition is loaded, by name and with the state it is in. */
export const REFUSED_CASES: readonly AslCase[] = [...REFUSALS, ...FIELD_REFUSALS].map(
  ([feature, doc, definition, refused]) => ({
    feature,
    doc,
    definition,
    expected: { refused },
  }),
);
