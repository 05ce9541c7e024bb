import { rowKeys } from '#core/keys';
import type { RecordedLeft } from '#core/record';
import { TeardownRowSchema, type AttemptRow, type TeardownRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { ReleaseMode, TeardownResource } from '#ports/sandbox-provider';
import type { RowWrite } from '#ports/unit-store';
import { allRows, readBody } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock'>;

/** Kind of the row that is written before anything is launched. */
export const INTENT = 'intent';

export function madeWrite(ports: Needs, attempt: AttemptRow, kind: string, resourceId: string): RowWrite {
  const row: TeardownRow = {
    attemptId: attempt.attemptId,
    kind,
    resourceId,
    provider: attempt.provider,
    madeAt: ports.clock.now().toISOString(),
    goneAt: null,
    end: null,
    why: null,
  };
  return teardownWrite(row);
}

export function teardownWrite(row: TeardownRow): RowWrite {
  return { put: { ...rowKeys.teardown(row.attemptId, row.kind, row.resourceId), body: row }, when: 'any' };
}

export function madeResources(ports: Needs, attempt: AttemptRow, resources: readonly TeardownResource[]): RowWrite[] {
  return resources.map(({ kind, resourceId }) => madeWrite(ports, attempt, kind, resourceId));
}

export async function teardownRows(ports: Pick<Ports, 'unitStore'>, attemptId: string): Promise<TeardownRow[]> {
  const rows: TeardownRow[] = [];
  for await (const row of allRows(ports.unitStore, { pk: rowKeys.teardown(attemptId, '', '').pk })) {
    rows.push(readBody(TeardownRowSchema, row));
  }
  return rows;
}

export function isStillThere(row: TeardownRow): boolean {
  return row.end === null;
}

/** What is left over when its machine has ended takes no slot. */
export function countsAgainstQuota({ kind }: Pick<TeardownRow, 'kind'>): boolean {
  return !['volume', 'interface', 'schedule'].includes(kind);
}

/** Left on purpose, as the sweep's cleanup mode says, or ours no more. */
export function isKept({ end }: Pick<TeardownRow, 'end'>): boolean {
  return end === 'stopped' || end === 'kept' || end === 'detached';
}

/** What was left on purpose, as a record names it. */
export function leftBehind(rows: readonly TeardownRow[]): readonly RecordedLeft[] {
  return rows.flatMap(({ kind, resourceId, end, why }) =>
    kind === INTENT || end === null || end === 'gone' ? [] : [{ kind, resourceId, end, why: why ?? '' }],
  );
}

/** Everything of an attempt has left our care, and some of it on purpose. */
export function isSetAside(rows: readonly TeardownRow[]): boolean {
  return rows.some(isKept) && !rows.some(isStillThere);
}

/** How a row leaves our care: as a release mode says, or because what it names was found to be ours no more. */
type Leaving = ReleaseMode | 'taken';

const END = { delete: 'gone', stop: 'stopped', keep: 'kept', detach: 'detached', taken: 'detached' } as const;
export const WHY = {
  delete: null,
  stop: 'the sweep asks for cleanup mode stop: switched off, and kept',
  keep: 'the sweep asks for cleanup mode keep: left as it was',
  detach: 'the sweep asks for cleanup mode detach: left as it was, and ours no more',
  taken: 'it was found without the tag that makes it ours, so nobody here may end it: whose it is now has to',
} as const;

/** Notes that a row has left our care; `delete` says that it is gone. */
export function closedRow(row: TeardownRow, leaving: Leaving, at: { readonly goneAt: string }): TeardownRow {
  return { ...row, ...at, end: END[leaving], why: WHY[leaving] };
}
