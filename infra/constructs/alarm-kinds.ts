import type { LogEvent } from '#core/log-events';

/** Heading of the runbook, and the first half of each alarm's name; one kind may have an alarm for each function. */
export const ALARM_KINDS = {
  executionsFailed: 'Executions failed',
  executionsStopped: 'Executions timed out or were stopped',
  attemptsOverdue: 'Attempts older than expected',
  undelivered: 'Events undelivered',
  setAside: 'Invocations set aside',
  functionErrors: 'Function errors',
  functionThrottles: 'Function throttles',
  watchSilent: 'Watch silent',
  watchFailing: 'Watch failing',
  reaperSilent: 'Reaper silent',
  reaperFailing: 'Reaper failing',
  grantsStuck: 'Grants stuck',
  grantsFailing: 'Grants failing',
  abandonFailing: 'Abandoned units left open',
  orphansSeen: 'Orphans seen',
  unattributedSeen: 'Machines without an attempt',
  releaseLeft: 'Releases unfinished',
  sandboxesOverdue: 'Sandboxes beyond their time',
  launchesRefused: 'Launches refused',
  sandboxesNotReady: 'Sandboxes not ready',
  expiryDropped: 'Expiry dropped',
  apiFailing: 'API failing',
  tableThrottled: 'Table throttled',
} as const;

export type AlarmKind = keyof typeof ALARM_KINDS;

export interface EventAlarm {
  readonly kind: AlarmKind;
  readonly event: LogEvent;
  /** Functions that write it. */
  readonly functions: readonly string[];
  readonly perHour: number;
}

/** Lines of the log that are to be looked into once there are this many in an hour. */
export const EVENT_ALARMS: readonly EventAlarm[] = [
  { kind: 'attemptsOverdue', event: 'attempt.overdue', functions: ['reap-sandboxes'], perHour: 1 },
  { kind: 'watchFailing', event: 'watch.failed', functions: ['watch-runs'], perHour: 10 },
  { kind: 'reaperFailing', event: 'reap.failed', functions: ['reap-sandboxes'], perHour: 3 },
  { kind: 'grantsFailing', event: 'grant.failed', functions: ['grant-slots'], perHour: 5 },
  { kind: 'abandonFailing', event: 'abandon.failed', functions: ['on-execution-failed'], perHour: 1 },
  { kind: 'orphansSeen', event: 'sandbox.orphan-seen', functions: ['reap-sandboxes'], perHour: 1 },
  { kind: 'unattributedSeen', event: 'sandbox.unattributed', functions: ['reap-sandboxes'], perHour: 1 },
  { kind: 'releaseLeft', event: 'sandbox.release-left', functions: ['release-sandbox'], perHour: 5 },
  { kind: 'sandboxesOverdue', event: 'sandbox.overdue', functions: ['reap-sandboxes'], perHour: 1 },
  { kind: 'launchesRefused', event: 'launch.refused', functions: ['provision-sandbox'], perHour: 20 },
  { kind: 'sandboxesNotReady', event: 'sandbox.boot-evidence', functions: ['release-sandbox'], perHour: 3 },
];

/** Functions that must be called, and the minutes without a call after which they are silent. */
export const SILENCE_ALARMS: readonly { readonly kind: AlarmKind; readonly name: string; readonly minutes: number }[] =
  [
    { kind: 'watchSilent', name: 'watch-runs', minutes: 5 },
    { kind: 'reaperSilent', name: 'reap-sandboxes', minutes: 15 },
    { kind: 'grantsStuck', name: 'grant-slots', minutes: 5 },
  ];
