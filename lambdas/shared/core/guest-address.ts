/** Where the cua-server of a sandbox on EC2 listens. */
export const SANDBOX_CUA_PORT = 5000;

/** `address:port` of a guest's URL, as lists have it; null for a URL that names none. */
export function hostOfGuest(url: string): string | null {
  return /^http:\/\/(\d{1,3}(?:\.\d{1,3}){3}:\d{1,5})\/?$/u.exec(url)?.[1] ?? null;
}

/** Ranges that a network of one's own is made of; loopback and link-local addresses lead to the caller itself. */
const PRIVATE_RANGES: readonly (readonly [first: string, bits: number])[] = [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
];

/**
 * Why a function inside the network may not call this address, or null: it must be a private IPv4 address on the cua port, or
 * one of the listed `address:port`. Names are refused, since nobody knows where they lead by the time of the call.
 */
export function guestAddressProblem(url: string, listed: readonly string[]): string | null {
  const [host = '', port = ''] = hostOfGuest(url)?.split(':') ?? [];
  const value = ipv4(host);
  if (value === null) return 'must be http://<private IPv4 address>:<port> and nothing more';
  if (listed.includes(`${host}:${port}`)) return null;
  if (!PRIVATE_RANGES.some((range) => isWithin(value, range))) {
    return 'must be a private address (10/8, 172.16/12, 192.168/16, 100.64/10) or one of sandboxes.staticHosts in the settings';
  }
  if (Number(port) === SANDBOX_CUA_PORT) return null;
  return `must be on port ${String(SANDBOX_CUA_PORT)}, or be one of sandboxes.staticHosts in the settings`;
}

function isWithin(value: number, [first, bits]: readonly [string, number]): boolean {
  const size = 2 ** (32 - bits);
  const start = ipv4(first) ?? 0;
  return value >= start && value < start + size;
}

/** As a number; null for what is no address, or is written with leading zeros, which some read as octal. */
function ipv4(text: string): number | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/u.test(part) && Number(part) <= 255))
    return null;
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0);
}
