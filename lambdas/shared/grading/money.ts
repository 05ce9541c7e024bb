import { isWithin, parseDecimal } from './numbers.ts';

/** Amounts that differ by less than this are the same amount. */
const CENT = 0.01;

/**
 * The dollars that a form field spells: commas, spaces and `$` are dropped, brackets or a minus make it negative.
 * Null when it spells no amount; blank is null too.
 */
export function parseMoney(text: string): number | null {
  const bare = text.replace(/[\s,$]/g, '');
  const bracketed = /^\((.+)\)$/.exec(bare);
  const value = parseDecimal(bracketed?.[1] ?? bare);
  if (value === null) return null;
  return bracketed === null ? value : -value;
}

/** Whether two field texts spell the same amount to within a cent (a difference of a whole cent counts). */
export function isSameMoney(actual: string, expected: string): boolean {
  const [a, b] = [parseMoney(actual), parseMoney(expected)];
  if (a === null || b === null) return false;
  return Math.abs(a - b) < CENT && !isWithin(Math.abs(a - b), CENT, 0);
}
