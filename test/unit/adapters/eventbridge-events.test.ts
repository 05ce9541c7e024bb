import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEventBridgeEvents } from '#adapters/eventbridge-events';

const wire = mockClient(EventBridgeClient);
const waits: number[] = [];
const events = createEventBridgeEvents({
  client: new EventBridgeClient({ region: 'us-east-1' }),
  eventBus: 'bus',
  sleep: async (milliseconds) => {
    waits.push(milliseconds);
  },
});
const failed = (ErrorCode: string) => ({ FailedEntryCount: 1, Entries: [{ ErrorCode, ErrorMessage: 'told' }] });
const done = { FailedEntryCount: 0, Entries: [{ EventId: 'e' }] };
const sent = () => wire.commandCalls(PutEventsCommand).map(({ args }) => args[0].input.Entries);

beforeEach(() => {
  wire.reset();
  waits.length = 0;
});

describe('an event', () => {
  it('is put on our own bus as one entry', async () => {
    wire.on(PutEventsCommand).resolves(done);
    await events.publish('unit.waiting', { sweepId: 's' });
    expect(sent()).toEqual([
      [{ EventBusName: 'bus', Source: 'examhall', DetailType: 'unit.waiting', Detail: '{"sweepId":"s"}' }],
    ]);
  });

  it.each(['ThrottlingException', 'InternalFailure', 'InternalException'])(
    'is put again when its entry failed with %s, although the call was answered well',
    async (code) => {
      wire.on(PutEventsCommand).resolvesOnce(failed(code)).resolvesOnce(failed(code)).resolves(done);
      await events.publish('slot.freed', {});
      expect(sent()).toHaveLength(3);
      expect(waits).toEqual([100, 200]);
    },
  );

  it('that never gets in is an error that machines retry', async () => {
    wire.on(PutEventsCommand).resolves(failed('ThrottlingException'));
    await expect(events.publish('slot.freed', {})).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      message: expect.stringMatching(/ThrottlingException: told \(event slot\.freed, try 4 of 4\)/u) as string,
    });
    expect(sent()).toHaveLength(4);
  });

  it('that is refused for good is put once', async () => {
    wire.on(PutEventsCommand).resolves(failed('NotAuthorizedForDetailTypeException'));
    await expect(events.publish('slot.freed', {})).rejects.toMatchObject({
      name: 'PayloadInvalidError',
      message: expect.stringMatching(/NotAuthorizedForDetailTypeException/u) as string,
    });
    expect(sent()).toHaveLength(1);
  });

  it.each([
    ['fits at 256 KiB', 0],
    ['is refused above, before it is sent', 1],
  ])('%s, counted in UTF-8', async (_, surplus) => {
    wire.on(PutEventsCommand).resolves(done);
    const room = 256 * 1024 - 'examhall'.length - 'big'.length - '{"t":"é"}'.length - 1;
    const call = events.publish('big', { t: `é${'x'.repeat(room + surplus)}` });
    if (surplus === 0) await call;
    else await expect(call).rejects.toMatchObject({ name: 'PayloadInvalidError', details: { bytes: 262_145 } });
    expect(sent()).toHaveLength(1 - surplus);
  });
});

describe('a call that fails', () => {
  it.each([
    Object.assign(new Error('slow down'), { name: 'ThrottlingException' }),
    Object.assign(new Error('broken'), { name: 'Odd', $fault: 'server' }),
    Object.assign(new Error('reset'), { code: 'ECONNRESET' }),
  ])('in passing is an error that machines retry: %s', async (error) => {
    wire.on(PutEventsCommand).rejects(error);
    await expect(events.publish('slot.freed', {})).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      cause: { message: error.message },
    });
  });

  it('for good stays what it is', async () => {
    wire.on(PutEventsCommand).rejects(Object.assign(new Error('no'), { name: 'AccessDeniedException' }));
    await expect(events.publish('slot.freed', {})).rejects.toMatchObject({ name: 'AccessDeniedException' });
  });
});
