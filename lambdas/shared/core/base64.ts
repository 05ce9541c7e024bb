/** Base64 or base64url, with or without padding, white space or a `data:` prefix; null for anything else or nothing. */
export function decodeBase64(text: string): Uint8Array | null {
  const digits = text
    .replace(/^data:[^,]*;base64,/u, '')
    .replace(/\s+/gu, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .replace(/=+$/u, '');
  if (digits === '' || digits.length % 4 === 1 || /[^A-Za-z0-9+/]/u.test(digits)) return null;
  return Uint8Array.from(atob(digits), (character) => character.charCodeAt(0));
}

const PIECE = 0x6000;

/** Base64 with padding. */
export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bytes.length; from += PIECE) {
    text += btoa(String.fromCharCode(...bytes.subarray(from, from + PIECE)));
  }
  return text;
}
