import type { LogEvent } from '#core/log-events';

/** A saved query of CloudWatch Logs Insights over the logs of all functions. */
export interface LogQuery {
  readonly name: string;
  readonly events: readonly LogEvent[];
  /** Shown besides time, event and function. */
  readonly fields: readonly string[];
  /** Field to count by; lines are listed when absent. */
  readonly countBy?: string;
}

const LINES = 500;

export const LOG_QUERIES: readonly LogQuery[] = [
  {
    name: 'What failed',
    events: ['function.failed', 'abandon.failed', 'watch.failed', 'reap.failed', 'grant.failed'],
    fields: ['errorName', 'message', 'sweepId', 'unitId', 'attemptId'],
  },
  {
    name: 'Failures by error',
    events: ['function.failed'],
    fields: [],
    countBy: 'errorName',
  },
  {
    name: 'Sweeps',
    events: ['sweep.accepted', 'sweep.controlled', 'sweep.reported', 'reap.asked'],
    fields: ['sweepId', 'owner', 'units', 'control', 'by', 'scored', 'ungraded', 'lost', 'not_run'],
  },
  {
    name: 'Units and attempts that closed',
    events: ['attempt.closed', 'unit.closed'],
    fields: ['sweepId', 'unitId', 'attemptId', 'blame', 'signature', 'retry'],
  },
  {
    name: 'What holds units back',
    events: ['grants.decided', 'grant.failed', 'token.gone'],
    fields: ['unitId', 'attemptId', 'granted', 'refused', 'message'],
  },
  {
    name: 'Jobs that were not heard of',
    events: ['job.lost-event', 'job.not-awaited', 'job.awaited-again', 'job.cancelled'],
    fields: ['jobId', 'confirmedDead', 'survivors', 'message'],
  },
  {
    name: 'Sandboxes lost, left or reaped',
    events: [
      'sandbox.lost',
      'sandbox.unknown',
      'sandbox.orphan-seen',
      'sandbox.unattributed',
      'sandbox.overdue',
      'sandbox.reaped',
      'sandbox.release-left',
      'attempt.overdue',
    ],
    fields: ['sandboxId', 'attemptId', 'jobId', 'evidence', 'by', 'left', 'overdueSeconds', 'message'],
  },
  {
    name: 'Machines that were refused or did not start',
    events: ['launch.refused', 'sandbox.waiting', 'sandbox.boot-evidence'],
    fields: ['attemptId', 'sandboxId', 'pool', 'refusal', 'waitsFor', 'message'],
  },
  {
    name: 'What the API refused',
    events: ['api.refused', 'api.failed'],
    fields: ['requestId', 'errorName', 'message'],
  },
];

/** Events that no query asks for, each with its reason. */
export const EVENTS_WITHOUT_QUERY: Readonly<Partial<Record<LogEvent, string>>> = {
  'function.started':
    'one per call; the timeline of a unit has it by its keys, and nothing is to be listed by it alone',
  'function.finished':
    'one per call; the timeline of a unit has it by its keys, and nothing is to be listed by it alone',
  'recover.failed': 'a host on one computer recovers, a deployed one has nothing to recover',
  'invocation.set-aside': 'on AWS the queue of set-aside invocations holds the fact, and an alarm watches it',
};

/** Every line of one unit, in order; people put the id in. */
export const TIMELINE_QUERY = [
  'fields at, level, event, function, attemptId, message',
  "| filter unitId = 'put-the-unit-id-here'",
  '| sort at asc',
  `| limit ${String(LINES)}`,
].join('\n');

/** The query in the language of Logs Insights. */
export function queryText({ events, fields, countBy }: LogQuery): string {
  const names = events.map((event) => JSON.stringify(event)).join(', ');
  const filter = `| filter event in [${names}]`;
  if (countBy !== undefined) {
    return ['fields event', filter, `| stats count(*) as lines by ${countBy}, function`, '| sort lines desc'].join(
      '\n',
    );
  }
  const shown = ['at', 'level', 'event', 'function', ...fields].join(', ');
  return [`fields ${shown}`, filter, '| sort at desc', `| limit ${String(LINES)}`].join('\n');
}
