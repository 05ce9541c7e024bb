/** What the provider knows of one sandbox, and what we remember of it. */
export interface SandboxSighting {
  readonly nowIso: string;
  readonly expiresAt: string;
  /** An attempt of ours is open for it. */
  readonly isWanted: boolean;
  /** First time it was seen without an owner; null when this is the first. */
  readonly firstSeenAt: string | null;
}

/** Least time between the two sightings that make an orphan. */
export const SIGHTING_GAP_SECONDS = 300;

/**
 * `keep` what is wanted and in time; `reap` what has expired, or has been seen without an owner twice, five minutes
 * apart; `note` the first sighting.
 */
export function reapDecision(seen: SandboxSighting): 'keep' | 'note' | 'reap' {
  if (seen.nowIso >= seen.expiresAt) return 'reap';
  if (seen.isWanted) return 'keep';
  if (seen.firstSeenAt === null) return 'note';
  const apartSeconds = (Date.parse(seen.nowIso) - Date.parse(seen.firstSeenAt)) / 1000;
  return apartSeconds >= SIGHTING_GAP_SECONDS ? 'reap' : 'keep';
}
