import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Signature Version 4 as its documentation describes it, for the side that checks: the canonical request is made from what
 * arrived, and the signature compared. Written apart from the signer, so that one cannot share the other's mistakes.
 */
export function isSignedRight(
  request: IncomingMessage,
  body: string,
  { secretKey }: { readonly secretKey: string },
): boolean {
  const parsed =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/u.exec(
      request.headers.authorization ?? '',
    );
  const [, , day = '', region = '', service = '', signedHeaders = '', signature] = parsed ?? [];
  if (signature === undefined || !signedHeaders.split(';').includes('host')) return false;
  const [rawPath = '', rawQuery = ''] = (request.url ?? '').split('?');
  const canonical = [
    request.method ?? '',
    rawPath.split('/').map(encodeURIComponent).join('/'),
    rawQuery.split('&').toSorted().join('&'),
    ...signedHeaders.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}`),
    '',
    signedHeaders,
    hash(body),
  ].join('\n');
  const scope = [day, region, service, 'aws4_request'].join('/');
  const text = ['AWS4-HMAC-SHA256', String(request.headers['x-amz-date']), scope, hash(canonical)].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<Buffer>(
    (before, part) => hmac(before, part),
    Buffer.from(`AWS4${secretKey}`),
  );
  return hmac(key, text).toString('hex') === signature;
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
