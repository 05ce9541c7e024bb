import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export interface TestServer {
  readonly url: string;
  readonly requests: readonly { readonly method: string; readonly url: string; readonly range: string | undefined }[];
  close(): Promise<void>;
}

/** A loopback server that writes down what it is asked. */
export async function serve(handler: Handler): Promise<TestServer> {
  const requests: { method: string; url: string; range: string | undefined }[] = [];
  const server = createServer((request, response) => {
    requests.push({ method: request.method ?? '', url: request.url ?? '', range: request.headers.range });
    void Promise.resolve(handler(request, response)).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Reads a multipart form by its own boundary. */
export async function readForm(request: IncomingMessage): Promise<{ order: string[]; fields: Map<string, Buffer> }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  if (Number(request.headers['content-length']) !== body.length) throw new Error('content-length is wrong');
  const boundary = Buffer.from(`--${/boundary=(.+)$/.exec(request.headers['content-type'] ?? '')?.[1] ?? ''}`);
  const fields = new Map<string, Buffer>();
  const order: string[] = [];
  for (let at = body.indexOf(boundary); at >= 0;) {
    const next = body.indexOf(boundary, at + boundary.length);
    if (next < 0) break;
    const part = body.subarray(at + boundary.length + 2, next - 2);
    const head = part.indexOf('\r\n\r\n');
    const name = /name="([^"]*)"/.exec(part.subarray(0, head).toString())?.[1] ?? '';
    fields.set(name, part.subarray(head + 4));
    order.push(name);
    at = next;
  }
  return { order, fields };
}
