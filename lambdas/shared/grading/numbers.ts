/** A plain decimal number, with an exponent if need be; text around it, separators and hexadecimals are refused. */
const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** The finite number that `text` spells, or null. */
export function parseDecimal(text: string): number | null {
  const trimmed = text.trim();
  if (!DECIMAL.test(trimmed)) return null;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : null;
}

/** Whether two finite numbers lie within `tolerance` of each other, the bound included up to rounding of doubles. */
export function isWithin(actual: number, expected: number, tolerance: number): boolean {
  const slack = Number.EPSILON * 4 * Math.max(1, Math.abs(actual), Math.abs(expected));
  return Number.isFinite(actual) && Number.isFinite(expected) && Math.abs(actual - expected) <= tolerance + slack;
}
