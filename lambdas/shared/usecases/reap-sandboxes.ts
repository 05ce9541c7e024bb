import { rowKeys } from '#core/keys';
import { reapDecision } from '#core/reaping';
import { AttemptRowSchema, SightingSchema, type Sighting } from '#core/rows';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { SandboxProvider, SandboxSummary } from '#ports/sandbox-provider';
import { answerIfEmpty } from './steps/closing.ts';
import { releaseAttempt } from './steps/release.ts';
import { allRows, findRow, readAttempt, readUnit } from './steps/rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'timers' | 'tokens' | 'clock' | 'log'>;

/**
 * Asks each provider what it has of ours and ends what nobody wants, trusting no memory of our own; then looks again
 * at units that wait for an empty ledger.
 */
export async function reapSandboxes(_tick: TickPayload, ports: Needs): Promise<void> {
  for (const provider of ports.providers.all()) {
    let cursor: string | undefined;
    do {
      const page = await provider.list(cursor);
      for (const sandbox of page.sandboxes) await look(ports, provider, sandbox);
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
  for await (const row of allRows(ports.unitStore, { pk: rowKeys.closeWait('').pk })) {
    const sweepId = String(row.body['sweepId']);
    const { value: unit } = await readUnit(ports.unitStore, sweepId, row.sk);
    for (let number = 1; number <= unit.attempts; number += 1)
      await releaseLeft(ports, `${unit.unitId}.${String(number)}`);
    await answerIfEmpty(ports, { ...unit, attempts: Math.max(unit.attempts, 1) });
  }
}

/** A unit that is closing has no more use for anything: what a failed release left is released again. */
async function releaseLeft(ports: Needs, attemptId: string): Promise<void> {
  const open = await ports.unitStore.get(rowKeys.openAttempt(attemptId));
  if (open === undefined) return;
  const { value: attempt } = await readAttempt(ports.unitStore, attemptId);
  if (attempt.closedAt !== null && attempt.stageEndedAt['release'] === undefined)
    await releaseAttempt(ports, attempt, 'delete');
}

async function look(ports: Needs, provider: SandboxProvider, sandbox: SandboxSummary): Promise<void> {
  if (sandbox.state === 'gone') return;
  const key = rowKeys.sighting(sandbox.sandboxId);
  const open = await ports.unitStore.get(rowKeys.openAttempt(sandbox.attemptId));
  const before = await findRow(ports.unitStore, key, SightingSchema);
  const nowIso = ports.clock.now().toISOString();
  const decision = reapDecision({
    nowIso,
    expiresAt: sandbox.expiresAt,
    isWanted: open !== undefined,
    firstSeenAt: before?.value.firstSeenAt ?? null,
  });
  if (decision === 'note') {
    const sighting: Sighting = { sandboxId: sandbox.sandboxId, provider: provider.name, firstSeenAt: nowIso };
    ports.log.warn('sandbox.orphan-seen', { sandboxId: sandbox.sandboxId, attemptId: sandbox.attemptId });
    await ports.unitStore.write([{ put: { ...key, body: sighting }, when: 'any' }]);
    return;
  }
  if (decision === 'keep') {
    if (open !== undefined && before !== undefined) await ports.unitStore.write([{ remove: key, when: 'any' }]);
    return;
  }
  await reap(ports, provider, sandbox);
  await ports.unitStore.write([{ remove: key, when: 'any' }]);
}

async function reap(ports: Needs, provider: SandboxProvider, sandbox: SandboxSummary): Promise<void> {
  const attempt = await findRow(ports.unitStore, rowKeys.attempt(sandbox.attemptId), AttemptRowSchema);
  if (attempt === undefined) await provider.release({ sandboxId: sandbox.sandboxId, resources: [] }, 'delete');
  else await releaseAttempt(ports, attempt.value, 'delete');
  ports.log.warn('sandbox.reaped', { sandboxId: sandbox.sandboxId, attemptId: sandbox.attemptId, by: 'reaper' });
}
