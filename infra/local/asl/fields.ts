/** Fields each kind of object may have; what is not here is refused by name. */
export const MACHINE_FIELDS = ['Comment', 'QueryLanguage', 'StartAt', 'States', 'TimeoutSeconds', 'Version'];
export const BLOCK_FIELDS = ['Comment', 'StartAt', 'States'];
export const PROCESSOR_FIELDS = [...BLOCK_FIELDS, 'ProcessorConfig'];
export const CHOICE_FIELDS = ['Comment', 'Condition', 'Next', 'Output', 'Assign'];
export const RETRIER_FIELDS = [
  'Comment',
  'ErrorEquals',
  'IntervalSeconds',
  'MaxAttempts',
  'BackoffRate',
  'MaxDelaySeconds',
  'JitterStrategy',
];
export const CATCHER_FIELDS = ['Comment', 'ErrorEquals', 'Next', 'Output', 'Assign'];

const COMMON = ['Type', 'Comment', 'QueryLanguage', 'Output'];
const STEP = [...COMMON, 'Assign', 'Next', 'End'];
const FALLIBLE = [...STEP, 'Retry', 'Catch'];

export const STATE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  Task: [...FALLIBLE, 'Resource', 'Arguments', 'TimeoutSeconds', 'HeartbeatSeconds'],
  Pass: STEP,
  Choice: [...COMMON, 'Assign', 'Choices', 'Default'],
  Wait: [...STEP, 'Seconds', 'Timestamp'],
  Succeed: COMMON,
  Fail: ['Type', 'Comment', 'QueryLanguage', 'Error', 'Cause'],
  Map: [
    ...FALLIBLE,
    'Label',
    'Items',
    'ItemReader',
    'ItemSelector',
    'ItemProcessor',
    'MaxConcurrency',
    'ToleratedFailurePercentage',
    'ToleratedFailureCount',
    'ResultWriter',
  ],
  Parallel: [...FALLIBLE, 'Branches', 'Arguments'],
};

/** Map fields that only a distributed map has. */
export const DISTRIBUTED_FIELDS = [
  'Label',
  'ItemReader',
  'ToleratedFailurePercentage',
  'ToleratedFailureCount',
  'ResultWriter',
];

const JSONPATH_FIELDS: ReadonlySet<string> = new Set([
  'InputPath',
  'OutputPath',
  'ResultPath',
  'ResultSelector',
  'Parameters',
  'Result',
  'ItemsPath',
  'Variable',
]);

/** Why a field is refused. */
export function refusalOf(field: string): string {
  if (JSONPATH_FIELDS.has(field) || field.endsWith('Path') || field.endsWith('.$')) {
    return `the field '${field}' belongs to JSONPath; only JSONata is interpreted here`;
  }
  return `the field '${field}' is not interpreted here`;
}
