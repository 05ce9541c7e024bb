import { rowKeys, rowPrefixes } from '#core/keys';
import { AttemptRowSchema, UnitRowSchema } from '#core/rows';
import { readBody } from '#core/stored-rows';
import type { SweepPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { abandonUnit } from './abandon.ts';
import { forEachGuarded } from './for-each.ts';
import { allRows, findRow, readSweep } from './rows.ts';
import { closeSweep } from './sweeps.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'region' | 'providers' | 'timers' | 'tokens' | 'clock' | 'log'>;

/** How long after its deadline a sweep with nothing under way is still given for its report. */
const REPORT_SECONDS = 3600;

/**
 * Settles what a sweep whose execution has ended left open, as the platform's fault, and closes it as failed. Safe to repeat.
 * @throws the first failure, when every unit has been tried.
 */
export async function abandonSweep(ports: Needs, { sweepId, run }: SweepPayload, cause: string): Promise<void> {
  const units = allRows(ports.unitStore, { pk: rowKeys.sweep(sweepId).pk, skPrefix: rowPrefixes.unit });
  await forEachGuarded(
    units,
    async (row) => {
      const unit = readBody(UnitRowSchema, row);
      if (unit.run === run && unit.class === 'open') await abandonUnit(ports, unit, cause);
    },
    { onFailure: ({ sk }, error) => ports.log.error('abandon.failed', { sweepId, row: sk, message: String(error) }) },
  );
  await closeSweep(ports, sweepId, run, cause);
}

/** Abandons a sweep whose execution ended unheard: nothing can begin after its deadline, and nothing of it is under way. */
export async function abandonIfDead(ports: Needs, sweepId: string): Promise<void> {
  const { value: sweep } = await readSweep(ports.unitStore, sweepId);
  const lateSeconds = (ports.clock.now().getTime() - Date.parse(sweep.deadlineAt)) / 1000;
  if (lateSeconds < REPORT_SECONDS || (await isUnderWay(ports, sweepId))) return;
  await abandonSweep(ports, sweep, `${sweepId} was still open long after its deadline, with nothing under way`);
}

async function isUnderWay(ports: Pick<Needs, 'unitStore'>, sweepId: string): Promise<boolean> {
  for await (const { sk } of allRows(ports.unitStore, { pk: rowKeys.openAttempt('').pk })) {
    const attempt = await findRow(ports.unitStore, rowKeys.attempt(sk), AttemptRowSchema);
    // An attempt without a row is none of anybody's; the reaper forgets it.
    if (attempt?.value.sweepId === sweepId) return true;
  }
  return false;
}
