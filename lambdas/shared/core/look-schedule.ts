/** What decides when a guest is asked next about the job that somebody waits for; times are ISO-8601 UTC. */
export interface LookTimes {
  /** Since when the job is waited for. */
  readonly since: string;
  /** By when the cloud has told of the job's end, unless that is lost; null when nobody will tell. */
  readonly eventBy: string | null;
  /** Since when the guest has not answered; null while it does. */
  readonly unreachableSince: string | null;
}

/** How long a guest may leave us without an answer before its state is told. */
export const UNREACHABLE_SECONDS = 600;
/** A short job is asked about after the time it has taken already, a long one this often. */
const LEAST_SECONDS = 60;
const MOST_SECONDS = 300;
/** To ask a guest that is silent takes long. */
const SILENT_SECONDS = 120;

/**
 * The earliest time of the next look: seldom while the event of the job's end is expected, at once when it is overdue or none
 * is to come, and never after the time at which a silent guest's state is told.
 */
export function nextLookAt({ since, eventBy, unreachableSince }: LookTimes, nowIso: string): string {
  if (unreachableSince !== null) {
    const toldAt = plus(unreachableSince, UNREACHABLE_SECONDS);
    const soon = plus(nowIso, SILENT_SECONDS);
    return toldAt > nowIso ? earlier(toldAt, soon) : soon;
  }
  if (eventBy === null || eventBy <= nowIso) return nowIso;
  const ageSeconds = (Date.parse(nowIso) - Date.parse(since)) / 1000;
  return earlier(eventBy, plus(nowIso, Math.min(MOST_SECONDS, Math.max(LEAST_SECONDS, ageSeconds))));
}

function earlier(one: string, other: string): string {
  return one < other ? one : other;
}

function plus(iso: string, seconds: number): string {
  return new Date(Date.parse(iso) + seconds * 1000).toISOString();
}
