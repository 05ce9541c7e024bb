import { describe } from 'vitest';
import { parseTierNames, tierTitle, tiers } from './tiers.ts';

const decided = new Map<string, boolean>();

/** Whether tests of a tier run: as `EXAMHALL_TIERS` lists them, else wherever it is present. */
export function isTierOn(name: string): boolean {
  const listed = process.env['EXAMHALL_TIERS'];
  if (listed !== undefined) return parseTierNames(listed).includes(name);
  const known = decided.get(name);
  if (known !== undefined) return known;
  const present = tiers.find((tier) => tier.name === name)?.detect().present ?? false;
  decided.set(name, present);
  return present;
}

/**
 * `describe` for tests that need a tier: `tier('dynamodb')('unit store', () => ...)`. Skips them where the tier is off; the
 * title carries the tier's name, by which the runner reports the skip with the command that enables it.
 */
export function tier(name: string): (title: string, body: () => void) => void {
  parseTierNames(name);
  return (title, body) => {
    const suite = isTierOn(name) ? describe : describe.skip;
    suite(tierTitle(title, name), body);
  };
}
