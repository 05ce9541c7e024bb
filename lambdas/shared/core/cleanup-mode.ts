/** What becomes of a sandbox when its attempt is over: upstream's three, and `detach`, which leaves it running and ours no more. */
export const CLEANUP_MODES = ['delete', 'stop', 'keep', 'detach'] as const;
export type CleanupMode = (typeof CLEANUP_MODES)[number];

/** What a provider cannot do with its machines, and why; all else every provider can. */
const REFUSALS: Readonly<Record<string, Partial<Record<CleanupMode, string>>>> = {
  static: {
    stop: 'its machines are switched on and off by whoever gave them',
  },
};

/** Why sandboxes of a provider cannot be left in that way, and what to do; null when they can. */
export function cleanupRefusal(provider: string, mode: CleanupMode): string | null {
  const refusals = Object.hasOwn(REFUSALS, provider) ? REFUSALS[provider] : undefined;
  const why = refusals?.[mode];
  if (why === undefined) return null;
  return `provider ${provider} cannot be asked for cleanup mode ${mode}: ${why}`;
}

export function cleanupModesOf(provider: string): readonly CleanupMode[] {
  const refusals = Object.hasOwn(REFUSALS, provider) ? REFUSALS[provider] : undefined;
  return CLEANUP_MODES.filter((mode) => refusals?.[mode] === undefined);
}
