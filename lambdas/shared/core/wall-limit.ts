import { EXECUTION_SECONDS } from './guest-documents.ts';

/** For what comes between the begin of a wait and that of its job, and between the limit and the end of what it stops. */
const SPARE_SECONDS = 3600;

/** By provider, where it has one: the longest time of an agent whose end can be heard of. */
const LONGEST_SECONDS: Readonly<Record<string, number>> = { aws: EXECUTION_SECONDS.wait - SPARE_SECONDS };

/** Why an agent cannot have so much time on a sandbox of the provider, and what is allowed; null when it can. */
export function wallLimitRefusal(provider: string, seconds: number): string | null {
  const longest = Object.hasOwn(LONGEST_SECONDS, provider) ? LONGEST_SECONDS[provider] : undefined;
  if (longest === undefined || seconds <= longest) return null;
  return `provider ${provider} can give an agent at most ${String(longest)} s, not ${String(seconds)}: Systems Manager waits no longer for its end; set a wall time within it`;
}
