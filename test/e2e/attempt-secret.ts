import path from 'node:path';
import { rowKeys } from '#core/keys';
import { AttemptRowSchema } from '#core/rows';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';
import type { UnitOutput } from './json-output.ts';

/** The secret of a unit's last attempt, from the store of a run that has ended. @throws when there is none. */
export async function attemptSecret(treeRoot: string, unit: UnitOutput): Promise<string> {
  const store = new SqliteUnitStore(path.join(treeRoot, '.examhall/state.db'));
  try {
    const row = await store.get(rowKeys.attempt(`${unit.unitId}.${String(unit.attempts)}`));
    const { secret } = AttemptRowSchema.parse(row?.body);
    if (secret === null) throw new Error(`the last attempt of ${unit.unitId} has no secret`);
    return secret;
  } finally {
    store.close();
  }
}
