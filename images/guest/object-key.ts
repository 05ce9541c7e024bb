import { lazy } from './lazy-builtins.ts';

/** S3 takes 1,024 bytes; what comes before a path may have the rest. */
const MAX_PATH_KEY_LENGTH = 640;
/** A folder or file name on most disks may have 255 bytes. */
const MAX_NAME_LENGTH = 200;

/**
 * The object key of a path inside a collected folder. Letters, digits, `.`, `_`, `-` stay; `/` separates; every other byte
 * of the name, `%` too, becomes `%XX` (upper case), so a name of any bytes has one key and no two have the same. Where a
 * name would have more than 200 characters, or the whole more than 640, the key is `%%` and the SHA-256 of the path's bytes:
 * `%%` occurs in no other key. The name itself is in the manifest.
 */
export function objectKeyOf(relativePath: Buffer): string {
  const names: string[] = [];
  let name = '';
  for (const byte of relativePath) {
    if (byte === 0x2f) {
      names.push(name);
      name = '';
    } else {
      name += isSafe(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    }
  }
  names.push(name);
  const key = names.join('/');
  if (key.length <= MAX_PATH_KEY_LENGTH && names.every((each) => each.length <= MAX_NAME_LENGTH)) return key;
  return `%%${lazy.crypto().createHash('sha256').update(relativePath).digest('hex')}`;
}

function isSafe(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    byte === 0x2d ||
    byte === 0x2e ||
    byte === 0x5f
  );
}
