/** Bytes that only who has the secret can tell: HMAC-SHA-256 of the message. @throws TypeError without a secret. */
export async function keyedBytes(secret: string, message: string): Promise<Uint8Array> {
  if (!/^[0-9a-f]{64}$/u.test(secret)) {
    throw new TypeError('this attempt has no secret: it was granted before attempts had one; run the unit again');
  }
  const { subtle } = crypto;
  const bytes = Uint8Array.from(secret.match(/../gu) ?? [], (pair) => Number.parseInt(pair, 16));
  const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await subtle.sign('HMAC', key, new TextEncoder().encode(message)));
}
