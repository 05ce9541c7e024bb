import { CreateEventBusCommand, EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { CreateScheduleGroupCommand, GetScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import { CreateStateMachineCommand, DescribeExecutionCommand, SFNClient } from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEventBridgeEvents } from '#adapters/eventbridge-events';
import { createSchedulerTimers } from '#adapters/scheduler-timers';
import { createSfnExecutions } from '#adapters/sfn-executions';
import type { Events, Executions, Timers } from '#ports/hosting';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { tier } from '#test/runner/tier';

const ROLE = 'arn:aws:iam::123456789012:role/x';
const TARGET = { functionArn: 'arn:aws:lambda:us-east-1:123456789012:function:expire:live', roleArn: ROLE };
const DEFINITION = JSON.stringify({ StartAt: 'A', States: { A: { Type: 'Pass', End: true } } });
const LATER = '2999-01-01T00:00:00.000Z';

/** What moto does of these services; it runs no machines here, and hands no events on. */
tier('moto')('events, executions and timers on moto', () => {
  let moto: MotoServer | undefined;
  let sfn: SFNClient;
  let scheduler: SchedulerClient;
  let executions: Executions;
  let timers: Timers;
  let events: Events;

  beforeAll(async () => {
    moto = await startMotoServer();
    const { clientConfig } = moto;
    sfn = new SFNClient(clientConfig);
    scheduler = new SchedulerClient(clientConfig);
    const eventBridge = new EventBridgeClient(clientConfig);
    const machine = { name: 'grade', definition: DEFINITION, roleArn: ROLE };
    const { stateMachineArn = '' } = await sfn.send(new CreateStateMachineCommand(machine));
    await scheduler.send(new CreateScheduleGroupCommand({ Name: 'sandboxes' }));
    await eventBridge.send(new CreateEventBusCommand({ Name: 'examhall' }));
    executions = createSfnExecutions({ client: sfn, machines: { grade: stateMachineArn } });
    const clock = { now: () => new Date('2026-01-01T00:00:00.000Z') };
    timers = createSchedulerTimers({ client: scheduler, clock, group: 'sandboxes', target: TARGET });
    events = createEventBridgeEvents({ client: eventBridge, eventBus: 'examhall' });
  }, 120_000);
  afterAll(async () => {
    await moto?.stop();
  });

  describe('an execution', () => {
    it('is the same one when it is started again with the same input, and another input is refused', async () => {
      const first = await executions.start('grade', 'g1', { a: 1, b: 2 });
      expect(await executions.start('grade', 'g1', { a: 1, b: 2 })).toEqual(first);
      await expect(executions.start('grade', 'g1', { a: 2 })).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' });
    });

    it('that was stopped is the same one still', async () => {
      const first = await executions.start('grade', 'g2', {});
      await executions.stop(first.executionArn, 'SweepCancelledError', 'was cancelled');
      const ended = await sfn.send(new DescribeExecutionCommand({ executionArn: first.executionArn }));
      expect([ended.status, ended.input]).toEqual(['ABORTED', '{}']);
      expect(await executions.start('grade', 'g2', {})).toEqual(first);
    });
  });

  describe('a timer', () => {
    it('is there until it is removed, and removing it again is no error', async () => {
      const name = `expire-${'a-long-unit-id'.repeat(8)}.1`;
      expect(await timers.exists(name)).toBe(false);
      await timers.create(name, LATER, { attemptId: 'u.1' });
      expect(await timers.exists(name)).toBe(true);
      await timers.remove(name);
      expect(await timers.exists(name)).toBe(false);
      await timers.remove(name);
    });

    it('that is there is kept when it is made again', async () => {
      await timers.create('expire-u.1', LATER, { attemptId: 'u.1' });
      await timers.create('expire-u.1', '2999-02-02T00:00:00.000Z', { attemptId: 'another' });
      const kept = await scheduler.send(new GetScheduleCommand({ Name: 'expire-u.1', GroupName: 'sandboxes' }));
      expect(kept).toMatchObject({
        ScheduleExpression: 'at(2999-01-01T00:00:00)',
        ActionAfterCompletion: 'DELETE',
        FlexibleTimeWindow: { Mode: 'OFF' },
        Target: { Arn: TARGET.functionArn, RoleArn: ROLE, Input: '{"attemptId":"u.1"}' },
      });
    });
  });

  it('an event is taken by the bus', async () => {
    await events.publish('slot.freed', { sweepId: 's' });
  });
});
