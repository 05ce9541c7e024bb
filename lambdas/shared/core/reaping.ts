/** What the provider knows of one sandbox, and what we remember of it. */
export interface SandboxSighting {
  readonly nowIso: string;
  /** Of its tags; a text that is no time stands for a sandbox whose end nobody knows. */
  readonly expiresAt: string;
  /** An attempt of ours is open for it. */
  readonly isWanted: boolean;
  /** First time it was seen without an owner; null when this is the first. */
  readonly firstSeenAt: string | null;
}

/** Least time between the two sightings that make an orphan. */
export const SIGHTING_GAP_SECONDS = 300;

export type ReapDecision = 'keep' | 'note' | 'reap';

/**
 * `keep` what is wanted and in time; `reap` what has expired, or has been seen without an owner twice, five minutes
 * apart; `note` the first sighting.
 */
export function reapDecision(seen: SandboxSighting): ReapDecision {
  if (isExpired(seen)) return 'reap';
  if (seen.isWanted) return 'keep';
  if (seen.firstSeenAt === null) return 'note';
  return secondsBetween(seen.firstSeenAt, seen.nowIso) >= SIGHTING_GAP_SECONDS ? 'reap' : 'keep';
}

/** Why the decision is what it is, in words. */
export function reapReason(seen: SandboxSighting): string {
  if (isExpired(seen)) return `its time ended at ${seen.expiresAt}`;
  if (seen.isWanted) return 'an open attempt uses it';
  if (seen.firstSeenAt === null) return 'nobody wants it; a first sighting is written down, and a second one ends it';
  const apartSeconds = Math.floor(secondsBetween(seen.firstSeenAt, seen.nowIso));
  const since = `nobody wants it since ${seen.firstSeenAt}`;
  if (apartSeconds >= SIGHTING_GAP_SECONDS) return `${since}: seen twice, ${String(apartSeconds)} s apart`;
  return `${since}; ${String(SIGHTING_GAP_SECONDS - apartSeconds)} s are left until a second sighting counts`;
}

function isExpired({ nowIso, expiresAt }: SandboxSighting): boolean {
  return secondsBetween(expiresAt, nowIso) >= 0;
}

/** NaN when one of them is no time, which is never at least anything. */
function secondsBetween(fromIso: string, toIso: string): number {
  return (Date.parse(toIso) - Date.parse(fromIso)) / 1000;
}
