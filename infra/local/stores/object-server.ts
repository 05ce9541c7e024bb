import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';

import { isErrorNamed } from '#core/errors';
import type { ByteRange } from '#core/object-rules';

import type { ObjectSource, OpenObject } from './object-source.ts';
import { receiveForm } from './object-upload.ts';
import { RequestRefusal } from './request-refusal.ts';
import type { RequestSigner } from './request-signer.ts';

const MAX_CONNECTIONS = 512;
const IDLE_TIMEOUT_MS = 60_000;

export interface ObjectServer {
  /** `http://127.0.0.1:<port>`, without a slash at its end. */
  readonly baseUrl: string;
  /** Stops listening and cuts what is still open. */
  close(): Promise<void>;
}

/** Serves signed requests for objects on a free loopback port, answering and refusing as S3 does. */
export async function startObjectServer(source: ObjectSource, signer: RequestSigner): Promise<ObjectServer> {
  const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 30_000, requestTimeout: 0 });
  server.maxConnections = MAX_CONNECTIONS;
  server.timeout = IDLE_TIMEOUT_MS;
  server.on('request', (request, response) => {
    void answer(request, response, source, signer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the object server got no port');
  return { baseUrl: `http://127.0.0.1:${address.port}`, close: () => close(server) };
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  source: ObjectSource,
  signer: RequestSigner,
): Promise<void> {
  try {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    if (request.method === 'POST') {
      const info = await receiveForm(request, url, source, signer);
      response.writeHead(204, { ETag: `"${info.sha256}"` }).end();
    } else if (request.method === 'GET' || request.method === 'HEAD') {
      await sendObject(request, response, await openSigned(request, url, source, signer));
    } else {
      throw new RequestRefusal(405, 'MethodNotAllowed', 'The specified method is not allowed against this resource.');
    }
  } catch (error) {
    refuse(request, response, toRefusal(error));
  }
}

async function openSigned(
  request: IncomingMessage,
  url: URL,
  source: ObjectSource,
  signer: RequestSigner,
): Promise<OpenObject> {
  const object = await source.open(signer.checkUrl(request.method ?? '', url));
  if (object !== undefined) return object;
  throw new RequestRefusal(404, 'NoSuchKey', 'The specified key does not exist.');
}

async function sendObject(request: IncomingMessage, response: ServerResponse, object: OpenObject): Promise<void> {
  const { sizeBytes, sha256 } = object.info;
  const etag = `"${sha256}"`;
  const common = { ETag: etag, 'Accept-Ranges': 'bytes', 'Content-Type': object.contentType };
  const end = async (status: number, headers: Record<string, string | number>): Promise<void> => {
    await object.close();
    response.writeHead(status, headers).end();
  };
  if ((request.headers['if-match'] ?? etag) !== etag) {
    await object.close();
    throw new RequestRefusal(
      412,
      'PreconditionFailed',
      'At least one of the pre-conditions you specified did not hold',
    );
  }
  if (request.headers['if-none-match'] === etag) return end(304, { ETag: etag });
  const range = parseRange(request.headers.range, sizeBytes);
  if (range === 'outside') {
    await object.close();
    response.setHeader('Content-Range', `bytes */${sizeBytes}`);
    throw new RequestRefusal(416, 'InvalidRange', 'The requested range is not satisfiable');
  }
  const headers = {
    ...common,
    'Content-Length': range === null ? sizeBytes : range.end - range.start + 1,
    ...(range === null ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${sizeBytes}` }),
  };
  const status = range === null ? 200 : 206;
  if (request.method === 'HEAD') return end(status, headers);
  const small = object.readSmall(range ?? undefined);
  response.writeHead(status, headers);
  if (small === undefined) await pipeline(object.read(range ?? undefined), response);
  else response.end(small);
}

/** Null for no range, or one that S3 ignores: several ranges, or no range at all. */
function parseRange(header: string | undefined, sizeBytes: number): ByteRange | 'outside' | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  const [, first = '', last = ''] = match ?? [];
  if (first === '' && last === '') return null;
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (first !== '' && last !== '' && Number(last) < start) return null;
  return start >= sizeBytes || end < start ? 'outside' : { start, end };
}

function toRefusal(error: unknown): RequestRefusal {
  if (error instanceof RequestRefusal) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isErrorNamed(error, 'ChecksumMismatchError')) return new RequestRefusal(400, 'BadDigest', message);
  if (isErrorNamed(error, 'PayloadInvalidError')) return new RequestRefusal(400, 'InvalidArgument', message);
  if (isErrorNamed(error, 'StorageFullError')) return new RequestRefusal(507, 'StorageFullError', message);
  if (isErrorNamed(error, 'StorageReadOnlyError')) return new RequestRefusal(507, 'StorageReadOnlyError', message);
  return new RequestRefusal(500, 'InternalError', message);
}

function refuse(request: IncomingMessage, response: ServerResponse, refusal: RequestRefusal): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${refusal.code}</Code><Message>${escapeXml(refusal.message)}</Message></Error>`;
  response.writeHead(refusal.status, {
    'Content-Type': 'application/xml',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function escapeXml(text: string): string {
  return text.replace(/[&<>\u0000-\u001f]/g, (char) => `&#${char.charCodeAt(0)};`);
}
