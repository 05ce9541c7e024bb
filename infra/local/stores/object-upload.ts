import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import busboy from 'busboy';

import { OBJECT_LIMITS } from '#core/object-rules';
import type { ObjectInfo, PutOptions } from '#ports/artifact-store';

import type { ObjectSource } from './object-source.ts';
import { RequestRefusal } from './request-refusal.ts';
import type { RequestSigner } from './request-signer.ts';

const MAX_FIELDS = 40;
/** S3 takes 20 KB of form before the file. */
const MAX_FORM_BYTES = 20 * 1_024;
const MAX_BODY_BYTES = OBJECT_LIMITS.objectBytes + 64 * 1_024;

/** Stores the file of an S3 POST form, streamed. @throws RequestRefusal and whatever the store throws. */
export async function receiveForm(
  request: IncomingMessage,
  url: URL,
  source: ObjectSource,
  signer: RequestSigner,
): Promise<ObjectInfo> {
  checkHeaders(request);
  const fields = new Map<string, string>();
  let formBytes = 0;
  let stored: Promise<ObjectInfo> | undefined;
  const parser = openParser(request);
  parser.on('field', (name, value, info) => {
    // What comes behind the file is ignored, as S3 does.
    if (stored !== undefined) return;
    formBytes += Buffer.byteLength(name) + Buffer.byteLength(value) + (info.valueTruncated ? MAX_FORM_BYTES : 0);
    fields.set(name.toLowerCase(), value);
  });
  parser.on('file', (name, content, info) => {
    // A sender that goes away in the middle is told by the pipeline below; a refused file has no other listener.
    content.on('error', () => undefined);
    if (stored !== undefined || name !== 'file') {
      content.resume();
      return;
    }
    stored = storeFile(source, content, () => {
      if (formBytes > MAX_FORM_BYTES || fields.size > MAX_FIELDS) {
        const message = 'Your POST request fields preceding the upload file were too large.';
        throw new RequestRefusal(400, 'MaxPostPreDataLengthExceeded', message);
      }
      replaceFileName(fields, info.filename);
      return { fields, ...signer.checkForm(url, fields) };
    });
    // Awaited below; what is left of a refused file is read and dropped so that the answer gets through.
    stored.catch(() => content.resume());
  });
  let formError: unknown;
  await pipeline(request, parser).catch((error: unknown) => (formError = error));
  if (stored === undefined && formError === undefined) {
    throw new RequestRefusal(400, 'InvalidArgument', 'POST requires exactly one file upload per request.');
  }
  const info = await stored?.catch((error: unknown) => {
    throw formError === undefined ? error : malformed(formError);
  });
  if (info === undefined) throw malformed(formError);
  return info;
}

interface FormTarget extends ReturnType<RequestSigner['checkForm']> {
  readonly fields: ReadonlyMap<string, string>;
}

async function storeFile(source: ObjectSource, content: Readable, admit: () => FormTarget): Promise<ObjectInfo> {
  const { fields, ref, maxBytes } = admit();
  return source.receive(ref, upTo(content, maxBytes), checksumOf(fields));
}

/** The hash that a form is bound to. */
export function checksumOf(fields: ReadonlyMap<string, string>): Pick<PutOptions, 'sha256'> {
  const checksum = fields.get('x-amz-checksum-sha256');
  return checksum === undefined ? {} : { sha256: Buffer.from(checksum, 'base64').toString('hex') };
}

async function* upTo(content: Readable, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  // The stream stays usable when we stop, so that its rest can be dropped.
  for await (const chunk of content.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Uint8Array).byteLength;
    if (bytes > maxBytes) {
      const message = `Your proposed upload exceeds the maximum allowed size of ${maxBytes} bytes`;
      throw new RequestRefusal(400, 'EntityTooLarge', message);
    }
    yield chunk as Uint8Array;
  }
}

function checkHeaders(request: IncomingMessage): void {
  const length = request.headers['content-length'];
  if (length === undefined) {
    throw new RequestRefusal(411, 'MissingContentLength', 'You must provide the Content-Length HTTP header.');
  }
  if (Number(length) > MAX_BODY_BYTES) {
    throw new RequestRefusal(400, 'EntityTooLarge', `one upload may hold ${OBJECT_LIMITS.objectBytes} bytes`);
  }
  if (!/^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')) {
    const message = 'Bucket POST must be of the enclosure-type multipart/form-data';
    throw new RequestRefusal(412, 'PreconditionFailed', message);
  }
}

function openParser(request: IncomingMessage): busboy.Busboy {
  try {
    return busboy({
      headers: request.headers,
      defParamCharset: 'utf8',
      preservePath: true,
      limits: {
        fields: MAX_FIELDS + 1,
        fieldNameSize: 256,
        fieldSize: MAX_FORM_BYTES,
        files: 2,
        parts: MAX_FIELDS + 4,
      },
    });
  } catch (error) {
    throw malformed(error);
  }
}

function replaceFileName(fields: Map<string, string>, fileName: string): void {
  const key = fields.get('key');
  if (key !== undefined)
    fields.set(
      'key',
      key.replaceAll('${filename}', () => fileName),
    );
}

function malformed(error: unknown): RequestRefusal {
  const seen = error instanceof Error ? error.message : String(error);
  return new RequestRefusal(400, 'MalformedPOSTRequest', `the body is no well-formed multipart form: ${seen}`);
}
