import {
  CreateScheduleCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  SchedulerClient,
} from '@aws-sdk/client-scheduler';
import { mockClient } from 'aws-sdk-client-mock';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { createSchedulerTimers } from '#adapters/scheduler-timers';

const wire = mockClient(SchedulerClient);
const NOW = new Date('2026-03-01T12:00:00.250Z');
const options = {
  client: new SchedulerClient({ region: 'us-east-1' }),
  clock: { now: () => NOW },
  group: 'group',
  target: { functionArn: 'arn:f:live', roleArn: 'arn:r' },
};
const timers = createSchedulerTimers(options);
const named = (name: string) => Object.assign(new Error('told'), { name });
const created = () => wire.commandCalls(CreateScheduleCommand).map(({ args }) => args[0].input);

beforeEach(() => {
  wire.reset();
  wire.on(CreateScheduleCommand).resolves({ ScheduleArn: 'arn' });
});

describe('a timer', () => {
  it('is a one-time schedule of our group that calls the function as its role and then is gone', async () => {
    await timers.create('expire-u.1', '2026-03-01T14:30:00.000Z', { attemptId: 'u.1' });
    expect(created()).toMatchObject([
      {
        Name: 'expire-u.1',
        GroupName: 'group',
        ScheduleExpression: 'at(2026-03-01T14:30:00)',
        ScheduleExpressionTimezone: 'UTC',
        FlexibleTimeWindow: { Mode: 'OFF' },
        ActionAfterCompletion: 'DELETE',
        Target: { Arn: 'arn:f:live', RoleArn: 'arn:r', Input: '{"attemptId":"u.1"}' },
      },
    ]);
  });

  it('that is there already stays as it is', async () => {
    wire.on(CreateScheduleCommand).rejects(named('ConflictException'));
    await timers.create('t', '2026-03-01T14:30:00.000Z', {});
  });

  it.each([
    ['2026-03-01T14:30:00.001Z', 'at(2026-03-01T14:30:01)', 'is never early'],
    ['2026-03-01T15:30:00+01:00', 'at(2026-03-01T14:30:00)', 'is told in UTC'],
    ['2020-01-01T00:00:00.000Z', 'at(2026-03-01T12:01:01)', 'fires in a minute when its time is over'],
  ])('for %s becomes %s: it %s', async (at, expression) => {
    await timers.create('t', at, {});
    expect(created()[0]?.ScheduleExpression).toBe(expression);
  });

  it('without a time is refused', async () => {
    await expect(timers.create('t', 'soon', {})).rejects.toMatchObject({ name: 'PayloadInvalidError' });
  });

  it('is removed and asked for by the same name, and is no error when gone', async () => {
    const name = `expire-${'long'.repeat(30)}`;
    await timers.create(name, '2026-03-01T14:30:00.000Z', {});
    wire.on(GetScheduleCommand).resolves({});
    expect(await timers.exists(name)).toBe(true);
    wire.on(DeleteScheduleCommand).resolves({});
    await timers.remove(name);
    const inputs = [...wire.commandCalls(GetScheduleCommand), ...wire.commandCalls(DeleteScheduleCommand)];
    const expected = { Name: created()[0]?.Name, GroupName: 'group' };
    expect(inputs.map(({ args }) => args[0].input)).toEqual([expected, expected]);
    wire.on(GetScheduleCommand).rejects(named('ResourceNotFoundException'));
    wire.on(DeleteScheduleCommand).rejects(named('ResourceNotFoundException'));
    expect(await timers.exists(name)).toBe(false);
    await timers.remove(name);
  });

  it('of a function that may only remove them is refused', async () => {
    const removing = createSchedulerTimers({ ...options, target: null });
    await expect(removing.create('t', '2026-03-01T14:30:00.000Z', {})).rejects.toMatchObject({
      name: 'EnvironmentInvalidError',
    });
    expect(wire.calls()).toHaveLength(0);
  });

  it('that cannot be made in passing is an error that machines retry', async () => {
    wire.on(CreateScheduleCommand).rejects(named('InternalServerException'));
    await expect(timers.create('t', '2026-03-01T14:30:00.000Z', {})).rejects.toMatchObject({
      name: 'StoreUnavailableError',
    });
    wire.on(CreateScheduleCommand).rejects(named('ResourceNotFoundException'));
    await expect(timers.create('t', '2026-03-01T14:30:00.000Z', {})).rejects.toMatchObject({
      name: 'ResourceNotFoundException',
    });
  });
});

describe('the name of a schedule', () => {
  const nameOf = async (name: string): Promise<string> => {
    wire.resetHistory();
    await timers.create(name, '2026-03-01T14:30:00.000Z', {});
    return created()[0]?.Name ?? '';
  };
  const text = fc.oneof(
    fc.string({ minLength: 1, maxLength: 120 }),
    fc.stringMatching(/^expire-[a-z0-9_.-]{1,100}$/u),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 120 }),
  );

  it('always fits the service', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (name) => {
        expect(await nameOf(name)).toMatch(/^[0-9A-Za-z_.-]{1,64}$/u);
      }),
    );
  });

  it('is the same for the same timer, and another for another', async () => {
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        expect((await nameOf(one)) === (await nameOf(other))).toBe(one === other);
      }),
    );
  });

  it('differs for timers that begin alike', async () => {
    const long = `expire-${'x'.repeat(80)}`;
    const names = [await nameOf(`${long}.1`), await nameOf(`${long}.2`), await nameOf(`${long}~2`)];
    expect(new Set(names).size).toBe(3);
    expect(names.every((name) => name.startsWith('expire-xxxx'))).toBe(true);
  });
});
