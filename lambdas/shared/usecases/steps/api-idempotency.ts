import { callerOf } from '#core/api-access';
import { ApiRefusal } from '#core/api-refusal';
import { IdempotencyRowSchema, type IdempotencyRow } from '#core/idempotency';
import { rowKeys } from '#core/keys';
import type { Ports } from '#ports/ports';
import type { RowWrite } from '#ports/unit-store';
import { findRow } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'digest' | 'clock'>;

/** How long a key stands for its request. */
const HELD_MS = 24 * 3600 * 1000;

export interface HeldKey {
  /** What the key has started already; null when it is free. */
  readonly before: IdempotencyRow | null;
  /** Takes the key for a sweep, and fails its transaction when somebody else has taken it. */
  take(
    sweepId: string,
    told: Pick<IdempotencyRow, 'largestCostUsd'> & { readonly warnings: readonly string[] },
  ): RowWrite;
}

/**
 * Looks a caller's key up, under whatever session; null when the request has none. A key that is a day old is free again, whether or not its
 * row is still there.
 * @throws ApiRefusal IdempotencyConflictError when it was used for another body.
 */
export async function holdKey(
  asked: { readonly principalArn: string; readonly key: string | null; readonly bodySha256: string },
  { unitStore, digest, clock }: Needs,
): Promise<HeldKey | null> {
  const { principalArn, key, bodySha256 } = asked;
  if (key === null) return null;
  const place = rowKeys.idempotency(digest.sha256(JSON.stringify([callerOf(principalArn), key])));
  const found = await findRow(unitStore, place, IdempotencyRowSchema);
  const now = clock.now().getTime();
  const isHeld = found !== undefined && now < Date.parse(found.value.createdAt) + HELD_MS;
  if (isHeld && found.value.bodySha256 !== bodySha256) {
    const message = `the Idempotency-Key was used at ${found.value.createdAt} for another body (sweep ${found.value.sweepId}); use a new key for a new request`;
    throw new ApiRefusal('IdempotencyConflictError', message);
  }
  return {
    before: isHeld ? found.value : null,
    take: (sweepId, { warnings, largestCostUsd }) => {
      const createdAt = new Date(now).toISOString();
      const body: IdempotencyRow = { bodySha256, sweepId, createdAt, warnings: [...warnings], largestCostUsd };
      return { put: { ...place, body }, when: found === undefined ? 'absent' : { version: found.version } };
    },
  };
}
