import { rowKeys } from '#core/keys';
import { DetachedRowSchema, type DetachedRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { SandboxState } from '#ports/sandbox-provider';
import type { Row } from '#ports/unit-store';
import { readBody } from './rows.ts';

export const DETACHED_ROWS = rowKeys.detached('').pk;

export function detachedRow(row: Row): DetachedRow {
  return readBody(DetachedRowSchema, row);
}

/** How something that was detached is now. A machine that has lost our tags may be out of sight: `unknown`. */
export async function stateOfDetached(
  { provider, sandboxId }: DetachedRow,
  { providers }: Pick<Ports, 'providers'>,
): Promise<SandboxState['state'] | 'unknown'> {
  try {
    return (await providers.get(provider).describe({ sandboxId })).state;
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
