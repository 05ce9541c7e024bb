/** Networks a sandbox can be given, ours and upstream's. */
export const NETWORK_MODES = ['open', 'sealed', 'allowlist', 'off'] as const;
export type NetworkMode = (typeof NETWORK_MODES)[number];

const reasons: Readonly<Record<Exclude<NetworkMode, 'open'>, string>> = {
  sealed: 'network "sealed" is not available: it needs the LLM gateway, which does not exist yet',
  allowlist: 'network "allowlist" is not available: no host-level filter is enforced outside the sandbox yet',
  off: 'network "off" is not available: an agent needs a route to its model, and the LLM gateway that would be the only one does not exist yet',
};

/** Why a network mode cannot be given now, or null when it can. */
export function networkRefusal(mode: NetworkMode): string | null {
  return mode === 'open' ? null : reasons[mode];
}
