import type { NetworkSettings } from './network-settings.ts';

/** Addresses of a subnet that AWS keeps. */
const RESERVED_ADDRESSES = 5;

/** Prefix length of each subnet when a VPC's range is cut into equal ones: every profile and the graders, in each zone. */
export function subnetMask(cidr: string, profiles: number, zones: number): number {
  const count = (profiles + 1) * zones;
  return Number(cidr.slice(cidr.indexOf('/') + 1)) + Math.ceil(Math.log2(count));
}

/** Why the VPC is too small for as many sandboxes as one sweep may hold, or null. */
export function addressProblem({ vpc, profiles }: NetworkSettings, sweepConcurrency: number): string | null {
  if (vpc.kind === 'existing') return null;
  const mask = subnetMask(vpc.cidr, profiles.length, vpc.zones);
  const addresses = Math.max(0, 2 ** (32 - mask) - RESERVED_ADDRESSES) * vpc.zones;
  if (mask <= 28 && addresses >= sweepConcurrency) return null;
  return (
    `leaves ${String(addresses)} addresses for the sandboxes of a profile (${String(vpc.zones)} subnets of /${String(mask)}), ` +
    `less than policy.caps.sweepConcurrency (${String(sweepConcurrency)}): widen the range or lower the cap`
  );
}
