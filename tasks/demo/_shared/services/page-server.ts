import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Answer {
  readonly status?: number;
  readonly type: 'text/html; charset=utf-8' | 'image/png';
  readonly body: string | Uint8Array;
}

/** Answers a request; `form` holds the fields of a POST. Null is a 404. */
export type Route = (method: string, path: string, form: URLSearchParams) => Answer | null | Promise<Answer | null>;

const MAX_BODY_BYTES = 4096;
const HEADERS = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff' };

/** The service's input, as the host gives it on standard input. */
export async function readInput<T>(): Promise<T> {
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  return JSON.parse(text) as T;
}

/** Serves on a free port of 127.0.0.1 and tells it on standard output. */
export function servePage(route: Route): void {
  const server = createServer((request, response) => {
    answer(request, response, route).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      response.destroy();
    });
  });
  server.requestTimeout = 10_000;
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
  });
}

/** A page with a bar across its top and the given body. */
export function htmlPage(page: { readonly title: string; readonly style: string; readonly body: string }): Answer {
  const base = 'html,body{margin:0;height:100%;overflow:hidden;font:20px sans-serif;cursor:default}';
  const bar = '.bar{height:44px;line-height:44px;padding-left:16px;color:#fff}';
  const parts = [
    `<!doctype html><meta charset="utf-8"><title>${page.title}</title>`,
    `<link rel="icon" href="data:,"><style>${base}${bar}${page.style}</style>`,
    `<div class="bar">${page.title}</div>${page.body}`,
  ];
  return { type: 'text/html; charset=utf-8', body: parts.join('\n') };
}

async function answer(request: IncomingMessage, response: ServerResponse, route: Route): Promise<void> {
  const form = await readForm(request);
  const path = new URL(request.url ?? '/', 'http://127.0.0.1').pathname;
  const found = form === null ? null : await route(request.method ?? 'GET', path, form);
  const { status = 200, type, body } = found ?? { status: 404, type: 'text/html; charset=utf-8', body: 'Not found' };
  response.writeHead(status, { ...HEADERS, 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** Null for a body that is too large. */
async function readForm(request: IncomingMessage): Promise<URLSearchParams | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) return null;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}
