import { rowKeys } from '#core/keys';
import { DetachedRowSchema, type DetachedRow } from '#core/rows';
import { readBody } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { SandboxState } from '#ports/sandbox-provider';
import type { Row } from '#ports/unit-store';

export const DETACHED_ROWS = rowKeys.detached('').pk;

export function detachedRow(row: Row): DetachedRow {
  return readBody(DetachedRowSchema, row);
}

/** Whether a provider still has a sandbox, lost to its attempt or not. */
export function isThere(state: SandboxState): boolean {
  return state.state !== 'gone' || state.isStillThere === true;
}

/**
 * How something that was detached is now: gone only when its provider has it no more, since what it stopped is billed for its disk.
 * A machine that has lost our tags may be out of sight: `unknown`.
 */
export async function stateOfDetached(
  { provider, sandboxId }: DetachedRow,
  { providers }: Pick<Ports, 'providers'>,
): Promise<SandboxState['state'] | 'unknown'> {
  try {
    const seen = await providers.get(provider).describe({ sandboxId });
    return seen.state === 'gone' && isThere(seen) ? 'stopped' : seen.state;
  } catch {
    return 'unknown';
  }
}

/** Forgets what was detached once its provider says that it is gone; touches no machine. */
export async function forgetIfGone(ports: Pick<Ports, 'providers' | 'unitStore'>, row: Row): Promise<void> {
  const detached = detachedRow(row);
  if ((await stateOfDetached(detached, ports)) !== 'gone') return;
  await ports.unitStore.write([{ remove: rowKeys.detached(detached.sandboxId), when: 'any' }]);
}
