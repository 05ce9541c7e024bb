/** Names of log lines that queries and alarms rely on; wording of messages may change, these may not. */
export const LOG_EVENTS = [
  'function.started',
  'function.finished',
  'function.failed',
  'grants.decided',
  'token.gone',
  'job.lost-event',
  'sandbox.lost',
  'sandbox.orphan-seen',
  'sandbox.reaped',
  'sandbox.release-left',
  'attempt.closed',
  'unit.closed',
  'sweep.reported',
] as const;

export type LogEvent = (typeof LOG_EVENTS)[number];
