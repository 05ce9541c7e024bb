import { WaitRowSchema, type WaitRow } from '#core/rows';
import { readBody } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { Row, RowKey } from '#ports/unit-store';
import { forEachGuarded } from './for-each.ts';
import { allRows } from './rows.ts';
import { forgetWait } from './waits.ts';

/** A callback that somebody waits with, as the store had it. */
export interface Waiting {
  readonly key: RowKey;
  readonly wait: WaitRow;
}

export type OnFailure = (what: RowKey, error: unknown) => void;

const BEATS_AT_ONCE = 32;

/** Does `work` for each, some at a time; what fails is told and keeps no other from its turn. */
export async function eachWaiting<T extends Waiting>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  { atOnce, onFailure }: { readonly atOnce: number; readonly onFailure: OnFailure },
): Promise<void> {
  const guard = { atOnce, onFailure: ({ key }: T, error: unknown): void => onFailure(key, error) };
  await forEachGuarded(items, work, guard).catch(() => undefined);
}

/** Every wait of a partition; a row that cannot be read keeps no other from being. */
export async function waitsIn(
  { unitStore }: Pick<Ports, 'unitStore'>,
  { pk }: RowKey,
  onFailure: OnFailure,
): Promise<readonly Waiting[]> {
  const waits: Waiting[] = [];
  const read = (row: Row): void => {
    try {
      waits.push({ key: { pk: row.pk, sk: row.sk }, wait: readBody(WaitRowSchema, row) });
    } catch (error) {
      onFailure(row, error);
    }
  };
  try {
    for await (const row of allRows(unitStore, { pk })) read(row);
  } catch (error) {
    onFailure({ pk, sk: '' }, error);
  }
  return waits;
}

/**
 * Beats all tokens, whatever is known of what they wait for: a fault of ours must not cost a unit its token.
 * @returns the waits whose state still waits; the others are forgotten.
 */
export async function beatAll(
  ports: Pick<Ports, 'unitStore' | 'tokens'>,
  waits: readonly Waiting[],
  onFailure: OnFailure,
): Promise<ReadonlySet<Waiting>> {
  const live = new Set(waits);
  const beat = async (waiting: Waiting): Promise<void> => {
    const { key, wait } = waiting;
    if (await ports.tokens.heartbeat(wait.token)) return;
    live.delete(waiting);
    await forgetWait(ports, key, wait.token);
  };
  await eachWaiting(waits, beat, { atOnce: BEATS_AT_ONCE, onFailure });
  return live;
}
