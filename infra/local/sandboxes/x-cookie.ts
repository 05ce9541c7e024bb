import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, writeFileSync } from 'node:fs';

/** `FamilyWild`: the entry fits any host. */
const ANY_HOST = 0xffff;
/** `FamilyLocal`: the entry fits displays of one computer, by its name. */
const ONE_HOST = 0x100;
const SCHEME = 'MIT-MAGIC-COOKIE-1';

/** An Xauthority file with one new cookie for every display: who can read it may use the display, and nobody else. */
export function xAuthority(hostname: string, cookie: Buffer = randomBytes(16)): Buffer {
  const entry = (family: number, address: string): Buffer =>
    Buffer.concat([uint16(family), counted(address), counted(''), counted(SCHEME), counted(cookie)]);
  // Xlib takes the first; python-xlib compares the host's name and knows no wild card.
  return Buffer.concat([entry(ANY_HOST, ''), entry(ONE_HOST, hostname)]);
}

/** Writes the file, readable by its owner alone; one that is there stays. */
export function writeXAuthority(file: string, hostname: string, uid: number | null): void {
  if (existsSync(file)) return;
  writeFileSync(file, xAuthority(hostname), { mode: 0o600, flag: 'wx' });
  if (uid !== null) chownSync(file, uid, uid);
}

function counted(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as Buffer);
  return Buffer.concat([uint16(bytes.length), bytes]);
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
