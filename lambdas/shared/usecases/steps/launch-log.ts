import { rowKeys } from '#core/keys';
import {
  CoolingPoolRowSchema,
  LaunchBrakeRowSchema,
  LaunchRowSchema,
  type AttemptRow,
  type CoolingPoolRow,
  type LaunchBrakeRow,
  type LaunchRow,
} from '#core/rows';
import { readBody, withConflictRetry } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { LaunchLog } from '#ports/sandbox-provider';
import { allRows, findRow } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'log'>;

const COOLING_SECONDS = 600;
const BRAKE_SECONDS = 600;
/** Refusals that come together are one: launches of one pass all meet the same quota. */
const BRAKE_AGAIN_SECONDS = 60;
const LEAST_FACTOR = 1 / 64;

/** What is kept of launches in rows, for one attempt: its own last launch, and what all attempts have met lately. */
export async function openLaunchLog(
  ports: Needs,
  { attemptId, provider }: Pick<AttemptRow, 'attemptId' | 'provider'>,
): Promise<LaunchLog> {
  const { unitStore } = ports;
  const before = await findRow(unitStore, rowKeys.launch(attemptId), LaunchRowSchema);
  let noted: LaunchRow | null = before?.value ?? null;
  const write = async (row: LaunchRow): Promise<void> => {
    await unitStore.write([{ put: { ...rowKeys.launch(attemptId), body: row }, when: 'any' }]);
  };
  return {
    coolingPools: await coolingPools(ports, provider),
    last: noted,
    note: async ({ launchTry, pool }) => {
      noted = { attemptId, launchTry, pool, notedAt: ports.clock.now().toISOString(), refused: false };
      await write(noted);
    },
    refused: async (pool, refusal) => {
      ports.log.warn('launch.refused', { attemptId, pool, refusal });
      if (noted?.pool === pool) await write({ ...noted, refused: true });
      await (refusal === 'capacity' ? coolDown(ports, provider, pool) : brake(ports, provider));
    },
  };
}

async function coolingPools({ unitStore, clock }: Needs, provider: string): Promise<readonly string[]> {
  const nowIso = clock.now().toISOString();
  const pools: string[] = [];
  for await (const row of allRows(unitStore, { pk: rowKeys.coolingPool(provider, '').pk })) {
    const { pool, until } = readBody(CoolingPoolRowSchema, row);
    if (until > nowIso) pools.push(pool);
  }
  return pools;
}

async function coolDown({ unitStore, clock }: Needs, provider: string, pool: string): Promise<void> {
  const body: CoolingPoolRow = { provider, pool, until: later(clock.now(), COOLING_SECONDS) };
  await unitStore.write([{ put: { ...rowKeys.coolingPool(provider, pool), body }, when: 'any' }]);
}

/**
 * Halves the launches that the provider has in a minute, and again for each further minute with a refusal; one that has no bound
 * in a minute gets half of what one pass grants, and no more in that minute.
 */
async function brake({ unitStore, clock }: Needs, provider: string): Promise<void> {
  const key = rowKeys.launchBrake(provider);
  await withConflictRetry(async () => {
    const now = clock.now();
    const before = await findRow(unitStore, key, LaunchBrakeRowSchema);
    const holds = before !== undefined && before.value.until > now.toISOString();
    if (holds && before.value.until > later(now, BRAKE_SECONDS - BRAKE_AGAIN_SECONDS)) return;
    const factor = Math.max(LEAST_FACTOR, (holds ? before.value.factor : 1) / 2);
    const body: LaunchBrakeRow = { provider, factor, until: later(now, BRAKE_SECONDS) };
    const when = before === undefined ? 'absent' : ({ version: before.version } as const);
    await unitStore.write([{ put: { ...key, body }, when }]);
  });
}

/** Brakes that hold now, by provider. */
export async function launchBrakes({
  unitStore,
  clock,
}: Pick<Ports, 'unitStore' | 'clock'>): Promise<Record<string, number>> {
  const nowIso = clock.now().toISOString();
  const brakes: Record<string, number> = {};
  for await (const row of allRows(unitStore, { pk: rowKeys.launchBrake('').pk })) {
    const { provider, factor, until } = readBody(LaunchBrakeRowSchema, row);
    if (until > nowIso) brakes[provider] = factor;
  }
  return brakes;
}

/** A launch that may have happened is not known to have failed before its machine had the time to show itself. */
const SHOWN_AFTER_SECONDS = 300;

/** Whether a machine of this attempt may be there though nobody can see it yet. */
export async function mayAppear(ports: Pick<Ports, 'unitStore' | 'clock'>, attemptId: string): Promise<boolean> {
  const noted = await findRow(ports.unitStore, rowKeys.launch(attemptId), LaunchRowSchema);
  if (noted === undefined || noted.value.refused) return false;
  return later(new Date(noted.value.notedAt), SHOWN_AFTER_SECONDS) > ports.clock.now().toISOString();
}

function later(from: Date, seconds: number): string {
  return new Date(from.getTime() + seconds * 1000).toISOString();
}
