import http from 'node:http';
import https from 'node:https';
import { RemoteError } from './remote-error.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Without a byte for so long, the call is given up. */
  readonly timeoutSeconds: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Above what the API can send: Lambda's answers end at 6 MB. */
const MOST_ANSWER_BYTES = 8 * 1024 * 1024;
/** However slowly an answer drips in. */
const LONGEST_CALL_SECONDS = 120;

/**
 * One request and its whole answer. Follows no redirect, asks for no compression, reads at most 8 MiB.
 * @throws RemoteError
 */
export async function exchange(call: HttpCall): Promise<HttpAnswer> {
  const deadline = AbortSignal.timeout(LONGEST_CALL_SECONDS * 1000);
  const response = await send(call, deadline);
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_ANSWER_BYTES) {
        throw new RemoteError(
          'host',
          `${call.url.host} answered with more than ${String(MOST_ANSWER_BYTES)} bytes; is this the address of the API?`,
        );
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw transportError(call, error);
  } finally {
    response.destroy();
  }
  return {
    status: response.statusCode ?? 0,
    headers: headersOf(response),
    text: Buffer.concat(chunks).toString('utf8'),
  };
}

/** Sends a request and gives back the open answer; whoever called must read or destroy it. @throws RemoteError */
export async function send(call: HttpCall, signal?: AbortSignal): Promise<http.IncomingMessage> {
  const { method, url, body, timeoutSeconds } = call;
  const transport = url.protocol === 'https:' ? https : http;
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  return await new Promise((resolve, reject) => {
    const request = transport.request(
      url,
      { method, headers: { ...call.headers, ...length }, ...(signal === undefined ? {} : { signal }) },
      resolve,
    );
    request.setTimeout(timeoutSeconds * 1000, () => {
      request.destroy(Object.assign(new Error('no answer in time'), { code: 'EXAMHALL_TIMEOUT' }));
    });
    request.once('error', (error) => {
      reject(transportError(call, error));
    });
    request.end(body);
  });
}

function headersOf(response: http.IncomingMessage): Record<string, string> {
  const headers = Object.entries(response.headers);
  return Object.fromEntries(
    headers.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}

const UNSENT_CODES = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN']);
const TLS_CODE =
  /^(?:CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH)|_CERT(?:IFICATE)?(?:_|$)/u;

/** What a failed connection means, in words. */
export function transportError(
  { url, timeoutSeconds }: Pick<HttpCall, 'url' | 'timeoutSeconds'>,
  error: unknown,
): Error {
  if (error instanceof RemoteError) return error;
  const code = codeOf(error);
  const facts = { cause: error, code, isUnsent: UNSENT_CODES.has(code) || TLS_CODE.test(code) };
  if (code === 'EXAMHALL_TIMEOUT' || code === 'ABORT_ERR' || code === 'ETIMEDOUT') {
    const text = `${url.host} gave no answer within ${String(timeoutSeconds)} s; check the network (and a proxy's rules), or give --timeout`;
    return new RemoteError('timeout', text, facts);
  }
  if (TLS_CODE.test(code)) {
    const text = `the certificate of ${url.host} is not accepted (${code}); behind a proxy that opens TLS, set NODE_EXTRA_CA_CERTS to the file of its certificate`;
    return new RemoteError('access', text, facts);
  }
  const why: Readonly<Record<string, string>> = {
    ENOTFOUND: 'the name is not known; check --host, or the network',
    EAI_AGAIN: 'names cannot be looked up now; check the network',
    ECONNREFUSED: `nothing listens there${isLoopback(url) ? '; is `examhall serve` running?' : ''}`,
    ECONNRESET: 'the connection was closed',
    EPROTO: 'it does not speak TLS; is it http:// on this computer, or a proxy in between?',
  };
  const text = `cannot reach ${url.host}: ${why[code] ?? (error instanceof Error ? error.message : String(error))} (${code})`;
  return new RemoteError('unreachable', text, facts);
}

/** True for addresses of this computer, which no request to leaves. */
export function isLoopback({ hostname }: Pick<URL, 'hostname'>): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/u.test(hostname);
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown';
}
