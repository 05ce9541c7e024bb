import { type AttributeValue } from '@aws-sdk/client-dynamodb';
import type {
  DeleteCommandInput,
  PutCommandInput,
  QueryCommandInput,
  TransactWriteCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';

import { decodeBody } from '#core/row-body';
import { compareUtf8 } from '#core/utf8';
import type { PreparedQuery, PreparedWrite } from '#core/row-rules';
import type { Row, RowKey } from '#ports/unit-store';

/**
 * An item: keys, version, the body as JSON text (so that every JSON value comes back exactly and sizes are known
 * before the call), and the id of the write that made it (so that a repeated request is told from a lost race).
 */
const ItemSchema = z.object({
  pk: z.string(),
  sk: z.string(),
  version: z.int(),
  body: z.string(),
  writeId: z.string(),
});
export type Item = z.infer<typeof ItemSchema>;

type TransactItem = NonNullable<TransactWriteCommandInput['TransactItems']>[number];

interface ConditionParts {
  readonly ConditionExpression?: string;
  readonly ExpressionAttributeNames?: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, unknown>;
}

export function parseItem(item: unknown): Item {
  return ItemSchema.parse(item);
}

/** Errors carry items in the wire form, which the document client does not translate. */
export function parseWireItem(item: Record<string, AttributeValue>): Item {
  const text = (name: string): string | undefined => item[name]?.S;
  return parseItem({
    pk: text('pk'),
    sk: text('sk'),
    version: Number(item['version']?.N),
    body: text('body'),
    writeId: text('writeId'),
  });
}

export function toRow(item: Item): Row {
  return { pk: item.pk, sk: item.sk, version: item.version, body: decodeBody(item.body) };
}

/** One write on its own, at the price of one write unit per KB. */
export type SingleRequest =
  { readonly put: PutCommandInput } | { readonly update: UpdateCommandInput } | { readonly delete: DeleteCommandInput };

/**
 * The cheap form of a write, or null when only a transaction is safe to repeat: a check has no other form, and a
 * conditional delete that is repeated after a lost answer could not tell its own success from another's.
 */
export function singleRequest(table: string, write: PreparedWrite, writeId: string): SingleRequest | null {
  const asked = { TableName: table, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
  if (write.kind === 'put') {
    const put = putParts(write, writeId);
    return 'Item' in put ? { put: { ...asked, ...put } } : { update: { ...asked, ...put } };
  }
  if (write.kind === 'remove' && write.when === 'any') return { delete: { TableName: table, Key: write.key } };
  return null;
}

/** A write as part of a transaction. */
export function transactItem(table: string, write: PreparedWrite, writeId: string): TransactItem {
  const asked = { TableName: table, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } as const;
  if (write.kind === 'put') {
    const put = putParts(write, writeId);
    return 'Item' in put ? { Put: { ...asked, ...put } } : { Update: { ...asked, ...put } };
  }
  const condition = conditionParts(write);
  if (write.kind === 'remove') return { Delete: { ...asked, Key: write.key, ...condition } };
  return { ConditionCheck: { ...asked, Key: write.key, ConditionExpression: 'attribute_exists(pk)', ...condition } };
}

/** A whole item when the new version is known beforehand, else an update that counts it up. */
function putParts(write: PreparedWrite, writeId: string) {
  const { when, key } = write;
  const body = write.json ?? '{}';
  if (when === 'absent' || typeof when === 'object') {
    const version = when === 'absent' ? 1 : when.version + 1;
    return { Item: { ...key, version, body, writeId } satisfies Item, ...conditionParts(write) };
  }
  const condition = conditionParts(write);
  return {
    Key: key,
    UpdateExpression: 'SET #version = if_not_exists(#version, :zero) + :one, #body = :body, #writeId = :writeId',
    ...condition,
    ExpressionAttributeNames: { '#version': 'version', '#body': 'body', '#writeId': 'writeId' },
    ExpressionAttributeValues: { ':zero': 0, ':one': 1, ':body': body, ':writeId': writeId },
  };
}

function conditionParts({ when }: PreparedWrite): ConditionParts {
  if (when === 'any') return {};
  if (when === 'absent') return { ConditionExpression: 'attribute_not_exists(pk)' };
  if (when === 'exists') return { ConditionExpression: 'attribute_exists(pk)' };
  return {
    ConditionExpression: '#version = :version',
    ExpressionAttributeNames: { '#version': 'version' },
    ExpressionAttributeValues: { ':version': when.version },
  };
}

/** A page's request, or null when the bounds leave nothing to find. */
export function queryRequest(table: string, asked: PreparedQuery): QueryCommandInput | null {
  const start = startKey(asked);
  if (start === null) return null;
  // One sort-key condition is all DynamoDB takes; the other bound is the start key, or the cut in `cutAtBound`.
  const bound = asked.prefix !== '' ? 'begins_with(sk, :bound)' : asked.after !== '' ? 'sk > :bound' : null;
  return {
    TableName: table,
    ConsistentRead: true,
    KeyConditionExpression: bound === null ? 'pk = :pk' : `pk = :pk AND ${bound}`,
    ExpressionAttributeValues: {
      ':pk': asked.pk,
      ...(bound === null ? {} : { ':bound': asked.prefix === '' ? asked.after : asked.prefix }),
    },
    Limit: asked.limit,
    ScanIndexForward: !asked.descending,
    ...(start === undefined ? {} : { ExclusiveStartKey: start }),
  };
}

/** Drops what a descending prefix query has read below its lower bound; true as second when the bound was reached. */
export function cutAtBound(items: readonly Item[], asked: PreparedQuery): readonly [readonly Item[], boolean] {
  if (asked.after === '' || !asked.descending) return [items, false];
  const kept = items.filter((item) => compareUtf8(item.sk, asked.after) > 0);
  return [kept, kept.length < items.length];
}

/** Null when the lower bound is above every key with the prefix. DynamoDB refuses start keys outside of the condition. */
function startKey(asked: PreparedQuery): RowKey | undefined | null {
  const { pk, prefix, after, resumeAfter } = asked;
  const isAbovePrefix = prefix !== '' && !after.startsWith(prefix) && compareUtf8(after, prefix) > 0;
  if (isAbovePrefix) return null;
  if (resumeAfter !== null) {
    if (!resumeAfter.startsWith(prefix)) return null;
    return { pk, sk: resumeAfter };
  }
  const isInsidePrefix = prefix !== '' && after.startsWith(prefix);
  return isInsidePrefix && !asked.descending ? { pk, sk: after } : undefined;
}
