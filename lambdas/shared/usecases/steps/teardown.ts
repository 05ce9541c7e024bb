import { rowKeys } from '#core/keys';
import { TeardownRowSchema, type AttemptRow, type TeardownRow } from '#core/rows';
import { madeRow } from '#core/teardown';
import { readBody } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { TeardownResource } from '#ports/sandbox-provider';
import type { RowWrite } from '#ports/unit-store';
import { allRows } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock'>;

export function madeWrite({ clock }: Needs, attempt: AttemptRow, kind: string, resourceId: string): RowWrite {
  return teardownWrite(madeRow({ ...attempt, madeAt: clock.now().toISOString() }, { kind, resourceId }));
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
