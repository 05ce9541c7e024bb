import type { KeyObject } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { codeOf } from './job-folder.ts';
import { lazy, uniqueSuffix } from './lazy-builtins.ts';
import { whileBusy } from './windows-files.ts';

/** The guest's own key pair; requests are sealed for its public half. */
export interface GuestKey {
  readonly privateKey: KeyObject;
  /** The 32 bytes of the public key. */
  readonly publicKey: Buffer;
}

/** The key of this guest, if it has one. @throws when the file holds something else. */
export function readKey(stateFolder: string): GuestKey | undefined {
  let pem: string;
  try {
    pem = readFileSync(keyFile(stateFolder), 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  const { createPrivateKey, createPublicKey } = lazy.crypto();
  const privateKey = createPrivateKey(pem);
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (privateKey.asymmetricKeyType !== 'x25519' || typeof x !== 'string')
    throw new TypeError(`${keyFile(stateFolder)} holds no X25519 key; remove it, and the next hello makes one`);
  return { privateKey, publicKey: Buffer.from(x, 'base64url') };
}

/** The key of this guest, made at the first call with the folders that jobs need; of several callers one makes it. */
export function ensureKey(stateFolder: string): GuestKey {
  mkdirSync(path.join(stateFolder, 'jobs'), { recursive: true, mode: 0o700 });
  const known = readKey(stateFolder);
  if (known !== undefined) return known;
  const { privateKey } = lazy.crypto().generateKeyPairSync('x25519');
  const draft = path.join(stateFolder, `.key-${uniqueSuffix()}`);
  writeFileSync(draft, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600, flag: 'wx' });
  try {
    whileBusy(() => linkSync(draft, keyFile(stateFolder)));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    whileBusy(() => unlinkSync(draft));
  }
  const made = readKey(stateFolder);
  if (made === undefined) throw new Error(`${keyFile(stateFolder)} was removed while it was made`);
  return made;
}

function keyFile(stateFolder: string): string {
  return path.join(stateFolder, 'key');
}
