import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { UploadGrant } from '#contracts/guest';

/** More or fewer bytes came than were announced. */
export class SizeMismatchError extends Error {
  override readonly name = 'SizeMismatchError';
}

export interface PostedObject {
  readonly sizeBytes: number;
  readonly signal: AbortSignal;
  /** Hands the content on piece by piece. */
  send(piece: (bytes: Uint8Array) => Promise<void>): Promise<unknown>;
}

/** POSTs one object as an S3 form while its content comes in. Returns the content's SHA-256. */
export async function postObject(grant: UploadGrant, key: string, object: PostedObject): Promise<string> {
  const boundary = `examhall${randomBytes(16).toString('hex')}`;
  const head = headOf(boundary, { ...grant.fields, key });
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const request = (new URL(grant.url).protocol === 'https:' ? https : http).request(grant.url, {
    method: 'POST',
    signal: object.signal,
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + object.sizeBytes + tail.length,
    },
  });
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
  answered.catch(() => undefined);
  try {
    const sha256 = createHash('sha256');
    let left = object.sizeBytes;
    request.write(head);
    await object.send(async (bytes) => {
      left -= bytes.length;
      if (left < 0) throw new SizeMismatchError(`more than ${object.sizeBytes} bytes came`);
      sha256.update(bytes);
      if (!request.write(bytes)) await Promise.race([once(request, 'drain'), answered]);
    });
    if (left > 0) throw new SizeMismatchError(`${left} of ${object.sizeBytes} bytes did not come`);
    request.end(tail);
    await refuseBadStatus(key, (await answered)[0]);
    return sha256.digest('hex');
  } catch (error) {
    request.destroy();
    throw error;
  }
}

function headOf(boundary: string, fields: Readonly<Record<string, string>>): Buffer {
  const part = (disposition: string, content: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${content}`;
  const texts = Object.entries(fields).map(([name, value]) => part(`name="${name}"`, `\r\n${value}\r\n`));
  const file = part('name="file"; filename="file"', 'Content-Type: application/octet-stream\r\n\r\n');
  return Buffer.from(`${texts.join('')}${file}`);
}

async function refuseBadStatus(key: string, answer: http.IncomingMessage): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const status = answer.statusCode ?? 0;
  if (status >= 200 && status < 300) return;
  const body = Buffer.concat(chunks).toString('utf8').slice(0, 500);
  throw new Error(`the upload of ${key} was answered with HTTP ${status}: ${body}`);
}
