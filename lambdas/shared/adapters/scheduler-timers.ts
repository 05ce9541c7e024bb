import { createHash } from 'node:crypto';
import {
  CreateScheduleCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  type SchedulerClient,
} from '@aws-sdk/client-scheduler';
import { ExamHallError } from '#core/errors';
import type { Clock } from '#ports/clock';
import type { Timers } from '#ports/hosting';
import { callService, isAnswerNamed } from './aws-service-fault.ts';

const SERVICE = 'EventBridge Scheduler';
const MAX_NAME_LENGTH = 64;
const HASH_LENGTH = 40;
/** What lies closer is set to this, so that a schedule is never made for a time already over. */
const SOONEST_MILLISECONDS = 60_000;
/** The service's own default, said so that a changed default changes nothing: a day of tries. */
const RETRIES = { MaximumEventAgeInSeconds: 86_400, MaximumRetryAttempts: 185 } as const;

export interface SchedulerTimersOptions {
  readonly client: SchedulerClient;
  readonly clock: Pick<Clock, 'now'>;
  readonly group: string;
  /** What timers call, and as whom; null for a function that may only remove them. */
  readonly target: { readonly functionArn: string; readonly roleArn: string } | null;
}

/** One-time schedules of our own group; each is gone once it has fired. */
export function createSchedulerTimers({ client, clock, group, target }: SchedulerTimersOptions): Timers {
  return {
    create: async (name, atIso, payload) => {
      if (target === null) throw mayNotCreate(name);
      const request = {
        Name: scheduleName(name),
        GroupName: group,
        Description: name.slice(0, 512),
        ScheduleExpression: atExpression(name, atIso, clock.now()),
        ScheduleExpressionTimezone: 'UTC',
        FlexibleTimeWindow: { Mode: 'OFF' },
        ActionAfterCompletion: 'DELETE',
        Target: {
          Arn: target.functionArn,
          RoleArn: target.roleArn,
          Input: JSON.stringify(payload),
          RetryPolicy: RETRIES,
        },
      } as const;
      try {
        await callService(SERVICE, () => client.send(new CreateScheduleCommand(request)));
      } catch (error) {
        if (!isAnswerNamed(error, 'ConflictException')) throw error;
      }
    },
    remove: async (name) => {
      const request = { Name: scheduleName(name), GroupName: group };
      await found(() => client.send(new DeleteScheduleCommand(request)));
    },
    exists: async (name) => {
      const request = { Name: scheduleName(name), GroupName: group };
      return await found(() => client.send(new GetScheduleCommand(request)));
    },
  };
}

async function found(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await callService(SERVICE, call);
    return true;
  } catch (error) {
    if (isAnswerNamed(error, 'ResourceNotFoundException')) return false;
    throw error;
  }
}

/** A name the service takes as it is; any other by its beginning and a hash over all of it. */
function scheduleName(name: string): string {
  if (/^[0-9A-Za-z_.-]{1,64}$/u.test(name)) return name;
  const start = name.replace(/[^0-9A-Za-z_.-]/gu, '_').slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1);
  return `${start}-${createHash('sha256').update(name).digest('hex').slice(0, HASH_LENGTH)}`;
}

/** Whole seconds, never before the time that was asked for. */
function atExpression(name: string, atIso: string, now: Date): string {
  const asked = Date.parse(atIso);
  if (Number.isNaN(asked)) {
    const message = `timer ${name} is to fire at ${JSON.stringify(atIso)}; expected a time like 2026-01-31T12:00:00.000Z`;
    throw new ExamHallError('PayloadInvalidError', message, { name });
  }
  const at = Math.ceil(Math.max(asked, now.getTime() + SOONEST_MILLISECONDS) / 1000) * 1000;
  return `at(${new Date(at).toISOString().slice(0, 19)})`;
}

function mayNotCreate(name: string): ExamHallError {
  const message = `timer ${name} cannot be made here; declare the need { port: 'timers', access: 'create' }`;
  return new ExamHallError('EnvironmentInvalidError', message, { name });
}
