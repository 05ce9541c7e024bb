/** Exact fractions: {n, d} with BigInt parts. */

function gcd(a, b) {
  while (b !== 0n) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

export function rational(n, d = 1n) {
  if (d === 0n) throw new Error('division by zero');
  const divisor = gcd(n, d);
  return { n: n / divisor, d: d / divisor };
}

export function parseNumber(text) {
  const scale = 1000000;
  if (!text.includes('.')) return rational(BigInt(text));
  return rational(BigInt(Math.round(Number(text) * scale)), BigInt(scale));
}

export const add = (a, b) => rational(a.n * b.d + b.n * a.d, a.d * b.d);
export const subtract = (a, b) => rational(a.n * b.d - b.n * a.d, a.d * b.d);
export const multiply = (a, b) => rational(a.n * b.n, a.d * b.d);
export const divide = (a, b) => rational(a.n * b.d, a.d * b.n);
export const negate = (a) => rational(-a.n, a.d);
export const compare = (a, b) => {
  const difference = a.n * b.d - b.n * a.d;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};

export function floor(a) {
  return rational(a.n / a.d);
}

export function modulo(a, b) {
  return subtract(a, multiply(b, floor(divide(a, b))));
}

export function power(base, exponent) {
  if (exponent.d !== 1n) throw new Error('exponent must be an integer');
  if (exponent.n >= 0n) return rational(base.n ** exponent.n, base.d ** exponent.n);
  return rational(base.d ** -exponent.n, base.n ** -exponent.n);
}

export function format(a) {
  return a.d === 1n ? String(a.n) : `${a.n}/${a.d}`;
}
