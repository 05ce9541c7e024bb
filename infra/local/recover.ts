import { parseAttemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import type { EmbeddedHost } from '#local/embedded-host';
import type { Row, UnitStore } from '#ports/unit-store';

const LOST = {
  name: 'HostRestartedError',
  message: 'the host ended while the attempt was open; executions are not resumed',
  state: 'RunAgent',
} as const;

export interface Recovery {
  /** Attempts that were open and are closed now. */
  readonly closedAttempts: readonly string[];
  /** Sandboxes that no open attempt knew of. */
  readonly releasedSandboxes: readonly string[];
}

/**
 * Puts a store in order after its host died: releases what the ledger and the providers hold, records and closes open
 * attempts as `host-restarted`, and forgets every callback and slot. Nothing happens after an orderly end.
 */
export async function recover(host: EmbeddedHost): Promise<Recovery> {
  const { unitStore, providers } = host.ports;
  await forgetWaits(unitStore);
  const closedAttempts: string[] = [];
  for (const row of await rowsOf(unitStore, rowKeys.openAttempt('').pk)) {
    await closeLost(host, row.sk, String(row.body['sweepId']));
    await unitStore.write([{ remove: rowKeys.openAttempt(row.sk), when: 'any' }]);
    closedAttempts.push(row.sk);
  }
  await forget(unitStore, 'slots');
  await forget(unitStore, rowKeys.slotCounters().pk);
  const releasedSandboxes: string[] = [];
  for (const provider of providers.all()) {
    for (const sandbox of (await provider.list()).sandboxes) {
      if (sandbox.state === 'gone') continue;
      if (!closedAttempts.includes(sandbox.attemptId) && sandbox.state === 'stopped') continue;
      await provider.release({ sandboxId: sandbox.sandboxId, resources: [] }, 'delete');
      releasedSandboxes.push(sandbox.sandboxId);
    }
  }
  return { closedAttempts, releasedSandboxes };
}

async function closeLost(host: EmbeddedHost, attemptId: string, sweepId: string): Promise<void> {
  const ids = { sweepId, unitId: parseAttemptId(attemptId).unitId, attemptId };
  const row = await host.ports.unitStore.get(rowKeys.attempt(attemptId));
  if (row === undefined) return;
  await host.invoke('expire-sandbox', { attemptId });
  const isGraded = row.body['grade'] !== null;
  const error = isGraded ? null : LOST;
  await host.invoke('record-unit', { ...ids, error });
  await host.invoke('close-attempt', { ...ids, error });
}

async function forgetWaits(store: UnitStore): Promise<void> {
  for (const active of await rowsOf(store, 'active-sweeps')) await forget(store, rowKeys.admitWait(active.sk, '').pk);
  for (const key of [rowKeys.jobWait(''), rowKeys.sandboxWait(''), rowKeys.gradeWait(''), rowKeys.closeWait('')]) {
    await forget(store, key.pk);
  }
}

async function rowsOf(store: UnitStore, pk: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.query({ pk, limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return rows;
}

async function forget(store: UnitStore, pk: string): Promise<void> {
  for (const { sk } of await rowsOf(store, pk)) await store.write([{ remove: { pk, sk }, when: 'any' }]);
}
