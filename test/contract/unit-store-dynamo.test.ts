import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  InternalServerError,
  ProvisionedThroughputExceededException,
  ResourceNotFoundException,
  TransactionCanceledException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';

import { DynamoUnitStore } from '#adapters/dynamo-unit-store';
import type { RetryPolicy } from '#adapters/retry-policy';
import type { RowCondition, RowWrite } from '#ports/unit-store';

const KEY = { pk: 'p', sk: 's' };
const metadata = { $metadata: {}, message: 'told' };

/** What only a service in trouble shows: throttling, conflicts and lost answers. */
describe('DynamoUnitStore when the service is in trouble', () => {
  const wire = mockClient(DynamoDBDocumentClient);
  const delays: number[] = [];
  const policy: RetryPolicy = {
    tries: 4,
    baseDelayMs: 100,
    maxDelayMs: 250,
    sleep: async (milliseconds) => {
      delays.push(milliseconds);
    },
    random: () => 0.5,
  };
  const store = new DynamoUnitStore(
    DynamoDBDocumentClient.from(new DynamoDBClient({ region: 'us-east-1' })),
    't',
    policy,
  );
  beforeEach(() => {
    wire.reset();
    delays.length = 0;
  });

  const put = (when: RowCondition): RowWrite => ({ put: { ...KEY, body: { n: 1 } }, when });
  const cancelled = (...codes: string[]): TransactionCanceledException =>
    new TransactionCanceledException({ ...metadata, CancellationReasons: codes.map((Code) => ({ Code })) });

  it('asks for strongly consistent reads', async () => {
    wire.on(GetCommand).resolves({}).on(QueryCommand).resolves({});
    await store.get(KEY);
    await store.query({ pk: 'p' });
    expect(wire.calls().map((call) => call.args[0].input)).toMatchObject([
      { ConsistentRead: true },
      { ConsistentRead: true, Limit: 100 },
    ]);
  });

  it('sends one write as the cheapest request that is safe to repeat', async () => {
    const writes: readonly (readonly [RowWrite, unknown])[] = [
      [put('absent'), PutCommand],
      [put({ version: 3 }), PutCommand],
      [put('any'), UpdateCommand],
      [put('exists'), UpdateCommand],
      [{ remove: KEY, when: 'any' }, DeleteCommand],
      [{ remove: KEY, when: 'exists' }, TransactWriteCommand],
      [{ check: KEY, when: 'absent' }, TransactWriteCommand],
    ];
    for (const [write] of writes) await store.write([write]);
    expect(wire.calls().map((call) => call.args[0].constructor)).toEqual(writes.map(([, command]) => command));
  });

  it('tries again with growing random waits when throttled or in conflict, and then succeeds', async () => {
    wire
      .on(PutCommand)
      .rejectsOnce(new ProvisionedThroughputExceededException(metadata))
      .rejectsOnce(new TransactionConflictException(metadata))
      .rejectsOnce(new InternalServerError(metadata))
      .resolves({});
    await store.write([put('absent')]);
    expect(wire.calls()).toHaveLength(4);
    expect(delays).toEqual([50, 100, 125]);
  });

  it('gives up as StoreUnavailableError, with the last answer as its cause', async () => {
    const last = new ProvisionedThroughputExceededException(metadata);
    wire.on(GetCommand).rejects(last);
    await expect(store.get(KEY)).rejects.toMatchObject({
      name: 'StoreUnavailableError',
      retryable: true,
      message: expect.stringMatching(/table t .* 4 tries.*ProvisionedThroughputExceeded/) as string,
      cause: last,
    });
    expect(wire.calls()).toHaveLength(4);
  });

  it('does not repeat what can never succeed, and leaves its error as it is', async () => {
    const missing = new ResourceNotFoundException(metadata);
    wire.on(PutCommand).rejects(missing);
    await expect(store.write([put('absent')])).rejects.toBe(missing);
    expect(wire.calls()).toHaveLength(1);
  });

  it('takes a failed condition on its own write for the success whose answer was lost', async () => {
    let writeId: unknown;
    wire
      .on(PutCommand)
      .callsFakeOnce((input: { Item: Record<string, unknown> }) => {
        writeId = input.Item['writeId'];
        throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      })
      .callsFake(() => {
        const row = { ...wireRow(1), writeId: { S: String(writeId) } };
        throw new ConditionalCheckFailedException({ ...metadata, Item: row });
      });
    await store.write([put('absent')]);
    expect(wire.calls()).toHaveLength(2);
  });

  it("takes a failed condition on another's write for what it is", async () => {
    wire.on(PutCommand).rejects(new ConditionalCheckFailedException({ ...metadata, Item: wireRow(7) }));
    await expect(store.write([put({ version: 6 })])).rejects.toMatchObject({
      name: 'ConditionFailedError',
      details: { key: KEY, row: { ...KEY, version: 7, body: { n: 0 } } },
    });
  });

  it('repeats a transaction under one token after a lost answer, and under a new one once it was cancelled', async () => {
    wire
      .on(TransactWriteCommand)
      .rejectsOnce(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }))
      .rejectsOnce(cancelled('None', 'TransactionConflict'))
      .resolves({});
    await store.write([put('absent'), { check: { pk: 'p', sk: 'other' }, when: 'exists' }]);
    const tokens = wire.commandCalls(TransactWriteCommand).map((call) => call.args[0].input.ClientRequestToken);
    expect(tokens).toHaveLength(3);
    expect(tokens[0]).toBe(tokens[1]);
    expect(tokens[2]).not.toBe(tokens[1]);
  });

  it('does not repeat a transaction with a failed condition, whatever else went wrong in it', async () => {
    wire.on(TransactWriteCommand).rejects(cancelled('ThrottlingError', 'ConditionalCheckFailed'));
    const check: RowWrite = { check: { pk: 'p', sk: 'other' }, when: 'exists' };
    await expect(store.write([put('absent'), check])).rejects.toMatchObject({
      name: 'ConditionFailedError',
      details: { key: { pk: 'p', sk: 'other' }, row: null },
    });
    expect(wire.calls()).toHaveLength(1);
  });

  function wireRow(version: number) {
    return {
      pk: { S: 'p' },
      sk: { S: 's' },
      version: { N: String(version) },
      body: { S: '{"n":0}' },
      writeId: { S: 'w' },
    };
  }
});
