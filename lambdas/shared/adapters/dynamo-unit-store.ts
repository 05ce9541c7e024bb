import { randomUUID } from 'node:crypto';

import { ConditionalCheckFailedException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import {
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  UpdateCommand,
  type DynamoDBDocumentClient,
} from '@aws-sdk/lib-dynamodb';

import {
  checkKey,
  conditionFailed,
  cursorBehind,
  prepareQuery,
  prepareWrites,
  type PreparedWrite,
} from '#core/row-rules';
import type { Row, RowKey, RowPage, RowQuery, RowWrite, UnitStore } from '#ports/unit-store';

import {
  cutAtBound,
  parseItem,
  parseWireItem,
  queryRequest,
  singleRequest,
  toRow,
  transactItem,
  type SingleRequest,
} from './dynamo-unit-store-requests.ts';
import { withRetries } from './dynamo-unit-store-retry.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './retry-policy.ts';

/** The unit store in one DynamoDB table with string keys `pk` and `sk`. */
export class DynamoUnitStore implements UnitStore {
  readonly #client: DynamoDBDocumentClient;
  readonly #table: string;
  readonly #policy: RetryPolicy;

  constructor(client: DynamoDBDocumentClient, table: string, policy: RetryPolicy = DEFAULT_RETRY_POLICY) {
    this.#client = client;
    this.#table = table;
    this.#policy = policy;
  }

  async get(key: RowKey): Promise<Row | undefined> {
    const command = { TableName: this.#table, Key: checkKey(key), ConsistentRead: true };
    const { Item: item } = await this.#retrying(() => this.#client.send(new GetCommand(command)));
    return item === undefined ? undefined : toRow(parseItem(item));
  }

  async query(query: RowQuery): Promise<RowPage> {
    const asked = prepareQuery(query);
    const request = queryRequest(this.#table, asked);
    if (request === null) return { rows: [] };
    const page = await this.#retrying(() => this.#client.send(new QueryCommand(request)));
    const [items, isAtBound] = cutAtBound((page.Items ?? []).map(parseItem), asked);
    const rows = items.map(toRow);
    const last: unknown = page.LastEvaluatedKey?.['sk'];
    return isAtBound || typeof last !== 'string' ? { rows } : { rows, cursor: cursorBehind(asked, last) };
  }

  async write(writes: readonly RowWrite[]): Promise<void> {
    const prepared = prepareWrites(writes);
    const writeId = randomUUID();
    const [first] = prepared;
    const single = first !== undefined && prepared.length === 1 ? singleRequest(this.#table, first, writeId) : null;
    if (first !== undefined && single !== null) await this.#writeSingle(first, single, writeId);
    else await this.#transact(prepared, writeId);
  }

  async #writeSingle(write: PreparedWrite, request: SingleRequest, writeId: string): Promise<void> {
    try {
      await this.#retrying(() => this.#sendSingle(request));
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      const item = error.Item === undefined ? null : parseWireItem(error.Item);
      // An earlier try of this very write got through and only its answer was lost.
      if (item?.writeId === writeId) return;
      throw conditionFailed(write, item === null ? null : toRow(item), error);
    }
  }

  async #sendSingle(request: SingleRequest): Promise<unknown> {
    if ('put' in request) return this.#client.send(new PutCommand(request.put));
    if ('update' in request) return this.#client.send(new UpdateCommand(request.update));
    return this.#client.send(new DeleteCommand(request.delete));
  }

  async #transact(writes: readonly PreparedWrite[], writeId: string): Promise<void> {
    const items = writes.map((write) => transactItem(this.#table, write, writeId));
    let token = randomUUID();
    try {
      await this.#retrying(async () => {
        try {
          await this.#client.send(new TransactWriteCommand({ TransactItems: items, ClientRequestToken: token }));
        } catch (error) {
          // The same token makes a repeat after a lost answer harmless; a cancelled transaction is surely not applied.
          if (error instanceof TransactionCanceledException) token = randomUUID();
          throw error;
        }
      });
    } catch (error) {
      throw error instanceof TransactionCanceledException ? translateCancel(error, writes) : error;
    }
  }

  async #retrying<T>(action: () => Promise<T>): Promise<T> {
    return withRetries(this.#table, this.#policy, action);
  }
}

/** Reasons come in the order of the writes. */
function translateCancel(error: TransactionCanceledException, writes: readonly PreparedWrite[]): Error {
  const reasons = error.CancellationReasons ?? [];
  const at = reasons.findIndex((reason) => reason.Code === 'ConditionalCheckFailed');
  const write = writes[at];
  if (write === undefined) return error;
  const item = reasons[at]?.Item;
  const hasItem = item !== undefined && Object.keys(item).length > 0;
  return conditionFailed(write, hasItem ? toRow(parseWireItem(item)) : null, error);
}
