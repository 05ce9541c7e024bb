import type { SweepRequest } from '#contracts/sweep-request';
import type { Ports } from '#ports/ports';
import { readRequest } from './inputs.ts';

/** The request of a sweep that has a row. One that is missing is our fault, not the caller's. */
export async function storedRequest({ artifacts }: Pick<Ports, 'artifacts'>, key: string): Promise<SweepRequest> {
  try {
    return await readRequest(artifacts, key);
  } catch (error) {
    throw new Error(`the request ${key} of a known sweep cannot be read`, { cause: error });
  }
}

/** Revision in the key of a manifest, whose last folder is named by it. */
export function revisionInKey(manifestKey: string): string {
  const hex = /\/([0-9a-f]{64})\/manifest\.json$/u.exec(manifestKey)?.[1];
  if (hex === undefined) throw new Error(`${manifestKey} is no key of a manifest`);
  return `sha256:${hex}`;
}
