/** Names of log lines that queries and alarms rely on; wording of messages may change, these may not. */
export const LOG_EVENTS = [
  'function.started',
  'function.finished',
  'function.failed',
  'grants.decided',
  'grant.failed',
  'token.gone',
  'job.lost-event',
  'job.not-awaited',
  'sandbox.lost',
  'sandbox.unknown',
  'sandbox.orphan-seen',
  'sandbox.reaped',
  'sandbox.release-left',
  'watch.failed',
  'reap.failed',
  'abandon.failed',
  'recover.failed',
  'invocation.set-aside',
  'attempt.closed',
  'unit.closed',
  'sweep.reported',
] as const;

export type LogEvent = (typeof LOG_EVENTS)[number];
