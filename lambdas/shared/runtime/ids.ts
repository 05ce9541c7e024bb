import { randomBytes, randomFillSync } from 'node:crypto';
import { ulid } from 'ulid';
import type { Ids } from '#ports/hosting';

/** The library's own source asks the system for each of a ULID's characters. */
const pool = new Uint8Array(4096);
let poolUsed = pool.length;

function randomFraction(): number {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const byte = pool[poolUsed] ?? 0;
  poolUsed += 1;
  return byte / 256;
}

/** ULIDs in lower case, and secrets from the system's source of chance. */
export const systemIds: Ids = {
  next: () => ulid(undefined, randomFraction).toLowerCase(),
  secret: () => randomBytes(32).toString('hex'),
};
