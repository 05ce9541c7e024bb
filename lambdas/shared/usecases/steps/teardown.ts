import { rowKeys } from '#core/keys';
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

/** Left on purpose, as the sweep's cleanup mode says. */
export function isKept({ end }: TeardownRow): boolean {
  return end === 'stopped' || end === 'kept' || end === 'detached';
}

const END_OF_MODE = { delete: 'gone', stop: 'stopped', keep: 'kept', detach: 'detached' } as const;

/** Notes that rows have left our care, in the way the release mode says, together with what else is to be written. */
export async function closeRows(
  ports: Needs,
  rows: readonly TeardownRow[],
  mode: ReleaseMode,
  besides: readonly RowWrite[],
): Promise<void> {
  const goneAt = ports.clock.now().toISOString();
  const closed = rows.filter(isStillThere).map((row) => teardownWrite({ ...row, goneAt, end: END_OF_MODE[mode] }));
  const writes = [...closed, ...besides];
  if (writes.length > 0) await ports.unitStore.write(writes);
}
