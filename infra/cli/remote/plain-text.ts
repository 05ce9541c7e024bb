/** Control characters and those that turn the direction of text: what could write over a terminal or lie about what is there. */
const UNPRINTABLE = /[\0-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** A text from elsewhere as it may be printed: one line, no escapes, not endless. */
export function plainText(text: string, most = 2000): string {
  const safe = text.replaceAll(UNPRINTABLE, (character) => (/[\t\n\r]/u.test(character) ? ' ' : '\ufffd'));
  return safe.length <= most ? safe : `${safe.slice(0, most - 3)}...`;
}
