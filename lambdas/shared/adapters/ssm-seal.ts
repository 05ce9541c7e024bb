import {
  createCipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { SEAL_INFO, SEAL_MARK, type SealedContent } from '#contracts/guest-seal';

const KEY_BYTES = 32;

/** Seals where a request lies for the guest that has the private half of this key (32 bytes, base64url). */
export function sealFor(sealingKey: string, content: SealedContent): string {
  const theirs = Buffer.from(sealingKey, 'base64url');
  if (theirs.length !== KEY_BYTES)
    throw new TypeError(`a sealing key has ${String(KEY_BYTES)} bytes in base64url; this one has ${theirs.length}`);
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const ours = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url');
  const jwk = { kty: 'OKP', crv: 'X25519', x: theirs.toString('base64url') };
  const secret = diffieHellman({ privateKey, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) });
  const key = Buffer.from(hkdfSync('sha256', secret, Buffer.concat([ours, theirs]), SEAL_INFO, 32));
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const text = [cipher.update(JSON.stringify(content), 'utf8'), cipher.final()];
  const sealed = Buffer.concat([ours, nonce, ...text, cipher.getAuthTag()]);
  return `${SEAL_MARK}${sealed.toString('base64url')}`;
}

/** Lower-case hex, as a sealed content names it. */
export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
