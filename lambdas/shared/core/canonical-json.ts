/** A value that JSON can say. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** One text per value: keys in UTF-16 order, no white space, ASCII only (other characters as `\uXXXX`). */
export function canonicalJson(value: unknown): string {
  return asciiOnly(JSON.stringify(ordered(value, '$')));
}

/** As `canonicalJson`, but indented for people; ends with a line feed. */
export function canonicalJsonText(value: unknown): string {
  return `${asciiOnly(JSON.stringify(ordered(value, '$'), null, 2))}\n`;
}

/** Copies a value with its keys in order. @throws TypeError naming the place of what JSON cannot say. */
function ordered(value: unknown, place: string): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((item, index) => ordered(item, `${place}[${String(index)}]`));
  if (typeof value === 'object') {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    entries.sort(([left], [right]) => (left < right ? -1 : 1));
    return Object.fromEntries(entries.map(([key, item]) => [key, ordered(item, `${place}.${key}`)]));
  }
  throw new TypeError(
    `${place} is a ${typeof value}${typeof value === 'number' ? ` (${String(value)})` : ''}, which JSON cannot say; allowed are text, finite numbers and the like`,
  );
}

function asciiOnly(json: string): string {
  return json.replace(/[^ -~\n]/gu, (character) =>
    Array.from({ length: character.length }, (_, at) => escaped(character.charCodeAt(at))).join(''),
  );
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
