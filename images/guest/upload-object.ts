import { once } from 'node:events';
import type { FileHandle } from 'node:fs/promises';
import type { UploadGrant } from '#contracts/guest';
import { answerOf, HttpStatusError, openRequest, readBody, retrying, TransferCutError } from './http-client.ts';
import { lazy } from './lazy-builtins.ts';

/** The file is not what it was when its upload began. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError';
}

/** The disk under the file failed, not the network. */
export class FileUnreadableError extends Error {
  override readonly name = 'FileUnreadableError';
}

export interface UploadSource {
  readonly sizeBytes: number;
  /** The content from its beginning, exactly `sizeBytes` of it. @throws FileChangedError | FileUnreadableError. */
  chunks(): AsyncIterable<Uint8Array>;
}

export function bufferSource(content: Buffer): UploadSource {
  return {
    sizeBytes: content.length,
    async *chunks() {
      yield content;
    },
  };
}

const CHUNK_BYTES = 256 * 1024;

/** An open file of a known size. */
export function fileSource(file: FileHandle, sizeBytes: number): UploadSource {
  return {
    sizeBytes,
    async *chunks() {
      for (let at = 0; at < sizeBytes;) {
        const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, sizeBytes - at));
        const { bytesRead } = await file.read(buffer, 0, buffer.length, at).catch((error: unknown) => {
          throw new FileUnreadableError((error as Error).message, { cause: error });
        });
        if (bytesRead === 0) throw new FileChangedError('the file became shorter while it was read');
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    },
  };
}

/** POSTs one object as an S3 form (fields, key, file), streamed; tries again when it may help. Returns the content's SHA-256. */
export async function uploadObject(grant: UploadGrant, key: string, source: UploadSource): Promise<string> {
  if (!key.startsWith(grant.keyPrefix)) throw new TypeError(`the key ${key} does not begin with ${grant.keyPrefix}`);
  return retrying(() => post(grant, key, source));
}

async function post(grant: UploadGrant, key: string, source: UploadSource): Promise<string> {
  const boundary = `examhall${lazy.crypto().randomBytes(16).toString('hex')}`;
  const head = Buffer.from(
    Object.entries({ ...grant.fields, key })
      .map(([name, value]) => formPart(boundary, `name="${quoteName(name)}"`, value))
      .join('') +
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n` +
      'Content-Type: application/octet-stream\r\n\r\n',
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const request = openRequest(grant.url, {
    method: 'POST',
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': head.length + source.sizeBytes + tail.length,
    },
  });
  const answered = answerOf(request);
  answered.catch(() => undefined);
  const sha256 = lazy.crypto().createHash('sha256');
  const sending = { isOver: false };
  request.once('close', () => (sending.isOver = true));
  request.once('response', () => (sending.isOver = true));
  try {
    request.write(head);
    for await (const chunk of source.chunks()) {
      sha256.update(chunk);
      if (!sending.isOver && !request.write(chunk)) await Promise.race([once(request, 'drain'), answered]);
    }
    request.end(tail);
  } catch (error) {
    request.destroy();
    throw error;
  }
  const answer = await answered;
  const body = await readBody(answer, 64 * 1024).catch(() => '');
  const status = answer.statusCode ?? 0;
  if (status < 200 || status >= 300) {
    request.destroy();
    throw new HttpStatusError(`the upload of ${key}`, status, body);
  }
  if (!request.writableFinished) throw new TransferCutError(`the upload of ${key} was answered before it was sent`);
  return sha256.digest('hex');
}

function formPart(boundary: string, disposition: string, value: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${value}\r\n`;
}

function quoteName(name: string): string {
  return name.replace(
    /["\r\n]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
