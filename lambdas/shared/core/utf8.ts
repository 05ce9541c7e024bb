/** Nearly all texts are; told by the engine faster than unit by unit. */
const ASCII = /^[\u0000-\u007f]*$/;
const UNPAIRED = /\p{Surrogate}/u;
const UNPAIRED_ALL = /\p{Surrogate}/gu;

/** Number of bytes of a text as UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  if (ASCII.test(text)) return bytes;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // Each half of a pair counts two of the four bytes.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}

/** False when the text holds half of a surrogate pair, which UTF-8 cannot say. */
export function isWellFormed(text: string): boolean {
  return ASCII.test(text) || !UNPAIRED.test(text);
}

/** The text with each half of a surrogate pair replaced by U+FFFD, as every UTF-8 encoder does. */
export function toWellFormed(text: string): string {
  return isWellFormed(text) ? text : text.replace(UNPAIRED_ALL, '\ufffd');
}

/** Orders two texts as their UTF-8 bytes do (JavaScript's own order differs above U+FFFF). */
export function compareUtf8(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const a = left.charCodeAt(at);
    const b = right.charCodeAt(at);
    if (a !== b) return rank(a) - rank(b);
  }
  return left.length - right.length;
}

/** Lifts surrogates above the rest of the basic plane: a pair always stands for a larger code point. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The texts one after another as UTF-8; each is encoded as it comes, so that the whole is never held as a text. */
export function encodeParts(parts: Iterable<string>): Uint8Array {
  const encoder = new TextEncoder();
  const encoded = Array.from(parts, (part) => encoder.encode(part));
  const all = new Uint8Array(encoded.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of encoded) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
