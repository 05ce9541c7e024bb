import type * as z from 'zod';
import { rowKeys } from '#core/keys';
import { SweepRowSchema, type SweepRow } from '#core/rows';
import type { ReapAnswerSchema, SandboxEntry, StopAnswerSchema } from '#contracts/api-sandboxes';
import type { Permission } from '#core/policy';
import type { Ports } from '#ports/ports';
import { controlSweep } from './api-control.ts';
import { pageOfSandboxes } from './api-sandboxes.ts';
import { forEachGuarded } from './for-each.ts';
import { allRows, findRow } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'events' | 'clock' | 'log'>;

/** The most pages that one answer looks at: a call of the API is over in half a minute. */
const MOST_PAGES = 10;

/**
 * Says what the reaper would note and reap now, by its own rule; unless it is a dry run, tells the reaper to look. It alone
 * ends sandboxes: the API has no right to.
 */
export async function askToReap(
  { dryRun, principalArn }: { readonly dryRun: boolean; readonly principalArn: string },
  ports: Needs,
): Promise<z.infer<typeof ReapAnswerSchema>> {
  if (!dryRun) await askReaper(principalArn, ports);
  const seen: SandboxEntry[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const page = await pageOfSandboxes(cursor === null ? {} : { cursor }, ports);
    seen.push(...page.items);
    cursor = page.cursor;
    pages += 1;
  } while (cursor !== null && pages < MOST_PAGES);
  const items = seen.filter(({ reaper }) => reaper !== 'keep');
  return { dryRun, isAsked: !dryRun, items, kept: seen.length - items.length, isComplete: cursor === null };
}

async function askReaper(principalArn: string, { events, log }: Pick<Ports, 'events' | 'log'>): Promise<void> {
  await events.publish('sandboxes.reap-asked', {});
  log.info('reap.asked', { by: principalArn });
}

type StopAnswer = z.infer<typeof StopAnswerSchema>;

/**
 * Cancels every open sweep: each unit that runs is then stopped, recorded and released by its own machine. What nobody wants
 * is left to the reaper, which is told to look now. One that fails keeps no other from its turn.
 */
export async function stopAll(
  caller: { readonly principalArn: string; readonly permissions: ReadonlySet<Permission> },
  ports: Needs,
): Promise<StopAnswer> {
  const sweeps: StopAnswer['sweeps'] = [];
  await forEachGuarded(
    await openSweeps(ports),
    async (sweep) => void sweeps.push(await stopSweep(sweep, caller, ports)),
    { onFailure: () => undefined },
  );
  await askReaper(caller.principalArn, ports);
  return { sweeps: sweeps.toSorted((one, other) => (one.sweepId < other.sweepId ? -1 : 1)), isReaperAsked: true };
}

/** Those that were planned, and the newest, which may not have been. */
async function openSweeps({ unitStore }: Pick<Ports, 'unitStore'>): Promise<readonly SweepRow[]> {
  const ids = new Set<string>();
  for await (const { sk } of allRows(unitStore, { pk: rowKeys.activeSweep('').pk })) ids.add(sk);
  const newest = await unitStore.query({ pk: rowKeys.knownSweep('').pk, descending: true, limit: NEWEST });
  for (const { sk } of newest.rows) ids.add(sk);
  const open: SweepRow[] = [];
  for (const sweepId of ids) {
    const row = (await findRow(unitStore, rowKeys.sweep(sweepId), SweepRowSchema))?.value;
    if (row?.status === 'accepted' || row?.status === 'running') open.push(row);
  }
  return open;
}

/** A sweep is planned within minutes: none that is older waits for that. */
const NEWEST = 100;

async function stopSweep(
  { sweepId, name, cancelled }: SweepRow,
  caller: Parameters<typeof stopAll>[0],
  ports: Needs,
): Promise<StopAnswer['sweeps'][number]> {
  if (cancelled) return { sweepId, name, result: 'already', error: null };
  try {
    await controlSweep({ sweepId, control: 'cancel', ...caller }, ports);
    return { sweepId, name, result: 'cancelled', error: null };
  } catch (error) {
    const isEnded = error instanceof Error && error.name === 'StateConflictError';
    const message = error instanceof Error ? error.message : String(error);
    if (!isEnded) ports.log.error('api.failed', { sweepId, message });
    return isEnded
      ? { sweepId, name, result: 'ended', error: null }
      : { sweepId, name, result: 'failed', error: 'it could not be written down; ask again' };
  }
}
