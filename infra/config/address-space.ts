import type { NetworkSettings } from './network-settings.ts';

/** Addresses of a subnet that AWS keeps. */
const RESERVED_ADDRESSES = 5;
/** Smallest subnet that AWS makes. */
const LONGEST_MASK = 28;

/**
 * Prefix length of each subnet of sandboxes when a VPC's range is cut: equal ones for every profile in each zone, and one
 * more that graders and calls to guests share.
 */
export function subnetMask(cidr: string, profiles: number, zones: number): number {
  const count = (profiles + 1) * zones;
  return Number(cidr.slice(cidr.indexOf('/') + 1)) + Math.ceil(Math.log2(count));
}

/** Of the subnets of graders and of calls to guests: each has half of a sandbox's. */
export function halfSubnetMask(cidr: string, profiles: number, zones: number): number {
  return subnetMask(cidr, profiles, zones) + 1;
}

/** Why the VPC is too small for as many sandboxes as one sweep may hold, or null. */
export function addressProblem({ vpc, profiles }: NetworkSettings, sweepConcurrency: number): string | null {
  if (vpc.kind === 'existing') return null;
  const mask = subnetMask(vpc.cidr, profiles.length, vpc.zones);
  const isCut = halfSubnetMask(vpc.cidr, profiles.length, vpc.zones) <= LONGEST_MASK;
  const addresses = isCut ? (2 ** (32 - mask) - RESERVED_ADDRESSES) * vpc.zones : 0;
  if (isCut && addresses >= sweepConcurrency) return null;
  return (
    `leaves ${String(addresses)} addresses for the sandboxes of a profile (${String(vpc.zones)} subnets of /${String(mask)}), ` +
    `less than policy.caps.sweepConcurrency (${String(sweepConcurrency)}): widen the range or lower the cap`
  );
}
