/** Facts on the event bus. `source` is always `examhall`, except the state machines' own status changes. */
export const EVENT_SOURCE = 'examhall';

export const EVENT_TYPES = [
  'unit.waiting',
  'slot.freed',
  'guest.job-finished',
  'sweep.changed',
  'sandboxes.reap-asked',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

export const EXECUTION_SOURCE = 'aws.states';
export const EXECUTION_STATUS_TYPE = 'Step Functions Execution Status Change';

/** Systems Manager tells of each command on each machine. */
export const COMMAND_SOURCE = 'aws.ssm';
export const COMMAND_STATUS_TYPE = 'EC2 Command Invocation Status-change Notification';
/** Statuses after which a command has no other. */
export const COMMAND_ENDS: readonly string[] = [
  ...['Success', 'Failed', 'TimedOut', 'Cancelled'],
  ...['DeliveryTimedOut', 'ExecutionTimedOut', 'Undeliverable', 'Terminated'],
];
