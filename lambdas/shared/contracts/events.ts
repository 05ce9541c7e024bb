/** Facts on the event bus. `source` is always `examhall`, except the state machines' own status changes. */
export const EVENT_SOURCE = 'examhall';

export const EVENT_TYPES = ['unit.waiting', 'slot.freed', 'guest.job-finished', 'sweep.changed'] as const;

export type EventType = (typeof EVENT_TYPES)[number];

export const EXECUTION_SOURCE = 'aws.states';
export const EXECUTION_STATUS_TYPE = 'Step Functions Execution Status Change';
