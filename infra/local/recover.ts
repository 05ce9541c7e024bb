import { parseAttemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { AttemptRowSchema, SweepRowSchema, type AttemptRow } from '#core/rows';
import type { EmbeddedHost } from '#local/embedded-host';
import type { SandboxSummary } from '#ports/sandbox-provider';
import type { Row, UnitStore } from '#ports/unit-store';

const LOST = {
  name: 'HostRestartedError',
  message: 'the host ended while the attempt was open; executions are not resumed',
  state: 'RunAgent',
} as const;

export interface Recovery {
  /** Attempts that were lost with the host. */
  readonly closedAttempts: readonly string[];
  /** Attempts that had ended, whose record or closing was broken off. */
  readonly settledAttempts: readonly string[];
  /** Sandboxes that no open attempt knew of. */
  readonly releasedSandboxes: readonly string[];
}

/**
 * Puts a store in order after its host died: releases what the ledger and the providers hold, records and closes open
 * attempts as `host-restarted`, settles their sweeps, and forgets every callback and slot. What fails is logged and left
 * for the next time: it keeps nobody from running. Nothing happens after an orderly end.
 */
export async function recover(host: EmbeddedHost): Promise<Recovery> {
  const { unitStore } = host.ports;
  await forgetWaits(unitStore);
  const closedAttempts: string[] = [];
  const settledAttempts: string[] = [];
  for (const row of await rowsOf(unitStore, rowKeys.openAttempt('').pk)) {
    const isLost = await tried(host, row.sk, async () => await settle(host, row.sk, String(row.body['sweepId'])));
    if (isLost !== undefined) (isLost ? closedAttempts : settledAttempts).push(row.sk);
  }
  for (const { sk } of await rowsOf(unitStore, 'active-sweeps')) {
    await tried(host, sk, async () => await endSweep(host, sk));
  }
  await forget(unitStore, 'slots');
  await forget(unitStore, rowKeys.slotCounters().pk);
  const releasedSandboxes = await releaseUnknown(host);
  return { closedAttempts, settledAttempts, releasedSandboxes };
}

/** True when the attempt had not come to its end, undefined when it had not begun. */
async function settle(host: EmbeddedHost, attemptId: string, sweepId: string): Promise<boolean | undefined> {
  const ids = { sweepId, unitId: parseAttemptId(attemptId).unitId, attemptId };
  const found = await host.ports.unitStore.get(rowKeys.attempt(attemptId));
  const row = AttemptRowSchema.safeParse(found?.body).data;
  // A grant that nobody took up is taken back with its sweep.
  if (row !== undefined && Object.keys(row.stageStartedAt).length === 0) return undefined;
  const isLost = row !== undefined && (await close(host, row, ids));
  await host.ports.unitStore.write([{ remove: rowKeys.openAttempt(attemptId), when: 'any' }]);
  return isLost;
}

async function close(host: EmbeddedHost, row: AttemptRow, ids: Readonly<Record<string, string>>): Promise<boolean> {
  const { attemptId } = row;
  if (row.stageEndedAt['release'] === undefined) await host.invoke('expire-sandbox', { attemptId });
  const isLost = row.grade === null && row.error === null && row.closedAt === null;
  const error = isLost ? LOST : null;
  await tried(host, attemptId, async () => await host.invoke('record-unit', { ...ids, error }));
  if (row.closedAt === null) await host.invoke('close-attempt', { ...ids, error });
  return isLost;
}

/** Undefined when it failed. */
async function tried<R>(host: EmbeddedHost, what: string, work: () => Promise<R>): Promise<R | undefined> {
  try {
    return await work();
  } catch (error) {
    host.ports.log.error('recover.failed', { what, message: String(error) });
    return undefined;
  }
}

/** The execution of the sweep ended with its host, and so did those of its units. */
async function endSweep(host: EmbeddedHost, sweepId: string): Promise<void> {
  const row = await host.ports.unitStore.get(rowKeys.sweep(sweepId));
  if (row === undefined) return;
  const { run } = SweepRowSchema.parse(row.body);
  await host.invoke('on-execution-failed', {
    status: 'ABORTED',
    executionArn: '',
    name: `${sweepId}-r${String(run)}`,
    input: JSON.stringify({ sweepId, run }),
    error: LOST.name,
    cause: LOST.message,
  });
}

/** Sandboxes of no open attempt; those that were kept on purpose stay. */
async function releaseUnknown(host: EmbeddedHost): Promise<readonly string[]> {
  const released: string[] = [];
  for (const provider of host.ports.providers.all()) {
    const found: SandboxSummary[] = [];
    let cursor: string | undefined;
    do {
      const page = await provider.list(cursor);
      found.push(...page.sandboxes);
      cursor = page.cursor;
    } while (cursor !== undefined);
    for (const { sandboxId, state } of found) {
      if (state === 'gone' || state === 'stopped') continue;
      const isReleased = await tried(host, sandboxId, async () => {
        await provider.release({ sandboxId, resources: [] }, 'delete');
        return true;
      });
      if (isReleased === true) released.push(sandboxId);
    }
  }
  return released;
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
