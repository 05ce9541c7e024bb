import { rowKeys } from '#core/keys';
import { isStillThere } from '#core/teardown';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { SandboxSummary } from '#ports/sandbox-provider';
import type { Row } from '#ports/unit-store';
import { abandonIfDead } from './steps/abandon-sweep.ts';
import { abandonUnit } from './steps/abandon.ts';
import { answerIfEmpty } from './steps/closing.ts';
import { DETACHED_ROWS, forgetIfGone } from './steps/detached.ts';
import { forEachGuarded } from './steps/for-each.ts';
import { findAttempt, forgetGone, modeOf, reapIfUnwanted } from './steps/reaping.ts';
import { releaseAttempt } from './steps/release.ts';
import { sandboxesOf } from './steps/release-sandboxes.ts';
import { allRows, readUnit } from './steps/rows.ts';
import { freeSlotIfGone } from './steps/slots.ts';
import { teardownRows } from './steps/teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'region' | 'providers' | 'timers' | 'tokens' | 'clock' | 'log'>;

/** How long after a sandbox's end an attempt may still be open: no machine of it can be alive then. */
const OPEN_AFTER_EXPIRY_SECONDS = 3600;

/**
 * Asks each provider what it has of ours and ends what nobody wants, trusting no memory of our own; then goes on with what
 * failed releases and lost events left open. One that fails keeps no other from its turn.
 * @throws the first failure, when all have been looked at.
 */
export async function reapSandboxes(_tick: TickPayload, ports: Needs): Promise<void> {
  const failures: unknown[] = [];
  const fail = (what: string, error: unknown): void => {
    failures.push(error);
    ports.log.error('reap.failed', { what, message: String(error) });
  };
  const guarded = async <T>(items: AsyncIterable<T>, what: (item: T) => string, work: (item: T) => Promise<void>) => {
    const onFailure = (item: T, error: unknown): void => fail(what(item), error);
    await forEachGuarded(items, work, { onFailure }).catch((error: unknown) => {
      if (!failures.includes(error)) fail('listing', error);
    });
  };
  for (const provider of ports.providers.all()) {
    const before = failures.length;
    const seen = new Set<string>();
    const name = (sandbox: SandboxSummary): string => `${provider.name} ${sandbox.sandboxId}`;
    await guarded(sandboxesOf(provider), name, async (sandbox) => {
      if (sandbox.state !== 'gone') seen.add(sandbox.sandboxId);
      await reapIfUnwanted(ports, provider, sandbox);
    });
    // What a listing that broke off does not name may be there.
    if (failures.length === before)
      await forgetGone(ports, provider, seen).catch((error: unknown) => fail('sightings', error));
  }
  const remembered: readonly (readonly [string, (row: Row) => Promise<void>])[] = [
    [rowKeys.openAttempt('').pk, async ({ sk }) => await goOn(ports, sk)],
    [
      rowKeys.closeWait('').pk,
      async ({ sk }) => {
        await answerIfEmpty(ports, sk);
      },
    ],
    [DETACHED_ROWS, async (row) => await forgetIfGone(ports, row)],
    [rowKeys.activeSweep('').pk, async ({ sk }) => await abandonIfDead(ports, sk)],
  ];
  for (const [pk, work] of remembered) await guarded(allRows(ports.unitStore, { pk }), ({ sk }) => sk, work);
  if (failures.length > 0) throw failures[0];
}

/** Goes on with one attempt that is not seen through: abandons a dead one, releases what a closed one still has. */
async function goOn(ports: Needs, attemptId: string): Promise<void> {
  const attempt = await findAttempt(ports, attemptId);
  if (attempt === undefined) {
    await ports.unitStore.write([{ remove: rowKeys.openAttempt(attemptId), when: 'any' }]);
    return;
  }
  if (attempt.closedAt === null) {
    const overdueSeconds = (ports.clock.now().getTime() - Date.parse(attempt.expiresAt)) / 1000;
    if (overdueSeconds >= 0) ports.log.warn('attempt.overdue', { attemptId, overdueSeconds });
    if (overdueSeconds < OPEN_AFTER_EXPIRY_SECONDS) return;
    await abandonUnit(ports, attempt, `${attemptId} was still open long after its sandbox ended`);
    return;
  }
  if ((await teardownRows(ports, attemptId)).some(isStillThere))
    await releaseAttempt(ports, attempt, await modeOf(ports, attempt));
  await freeSlotIfGone(ports, attemptId);
  const { value: unit } = await readUnit(ports.unitStore, attempt.sweepId, attempt.unitId);
  if (unit.closedAt !== null) await answerIfEmpty(ports, attempt.unitId);
}
