import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { CUA_COMMANDS, runCuaCommand } from './cua-server-commands.ts';

/** One way a server can answer. `done-then-cut` does what it is asked and cuts the connection instead of saying so. */
export type CuaShape =
  | { readonly kind: 'frame'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'raw'; readonly body: string; readonly statusCode?: number }
  | { readonly kind: 'detail'; readonly statusCode: number; readonly detail: unknown }
  | { readonly kind: 'silence' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'cut'; readonly part: string }
  | { readonly kind: 'cut-at-once' }
  | { readonly kind: 'done-then-cut' }
  | { readonly kind: 'slow'; readonly milliseconds: number }
  | { readonly kind: 'huge'; readonly bytes: number };

export interface CuaRequest {
  readonly command: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface FakeCuaServerOptions {
  /** Any free one by default. */
  readonly port?: number;
  readonly osType?: string;
  /** What `GET /commands` says; null is a server without it. */
  readonly commands?: readonly string[] | null;
  /** Besides this process's: what shell commands find. */
  readonly env?: Readonly<Record<string, string>>;
  /** Answers to commands of one's own. */
  readonly handlers?: Readonly<Record<string, (params: CuaRequest['params']) => Record<string, unknown>>>;
}

export interface FakeCuaServer {
  readonly url: string;
  /** Everything that arrived, in order. */
  readonly requests: readonly CuaRequest[];
  /** The next `times` requests of this command are answered like this. */
  answer(command: string, shape: CuaShape, times?: number): void;
  close(): Promise<void>;
}

/** A server of the wire protocol: files and shell commands are real ones of this machine, the screen is made up. */
export async function startFakeCuaServer(options: FakeCuaServerOptions = {}): Promise<FakeCuaServer> {
  const requests: CuaRequest[] = [];
  const planned = new Map<string, CuaShape[]>();
  const sockets = new Set<Socket>();
  const perform = async ({ command, params }: CuaRequest): Promise<Record<string, unknown> | undefined> => {
    const own = options.handlers?.[command];
    return own === undefined ? runCuaCommand(command, params, { ...process.env, ...options.env }) : own(params);
  };
  const server = http.createServer((request, response) => {
    void readText(request).then(async (body) => {
      if (request.method === 'GET') {
        answerGet(request.url ?? '', options, response);
        return;
      }
      const { command = '', params = {} } = JSON.parse(body) as Partial<CuaRequest>;
      requests.push({ command, params });
      const shape = planned.get(command)?.shift();
      if (shape === undefined) {
        const fields = await perform({ command, params });
        if (fields === undefined) sendDetail(response, 400, `Unknown command: ${command}`);
        else sendFrame(response, fields);
        return;
      }
      await answerShape(shape, response, () => perform({ command, params }));
    });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (command, shape, times = 1) => {
      planned.set(command, [...(planned.get(command) ?? []), ...Array.from({ length: times }, () => shape)]);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readText(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function answerGet(path: string, options: FakeCuaServerOptions, response: http.ServerResponse): void {
  const { osType = 'linux', commands = CUA_COMMANDS } = options;
  if (path === '/status') sendJson(response, 200, { status: 'ok', os_type: osType, features: ['mcp'] });
  else if (path === '/commands' && commands !== null) {
    const described = Object.fromEntries(commands.map((name) => [name, { params: [] }]));
    sendJson(response, 200, { commands: described, aliases: { type: 'type_text' } });
  } else sendDetail(response, 404, 'Not Found');
}

function sendJson(response: http.ServerResponse, statusCode: number, value: unknown): void {
  response.writeHead(statusCode, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

const sendDetail = (response: http.ServerResponse, statusCode: number, detail: unknown): void =>
  sendJson(response, statusCode, { detail });

/** Headers at once, the frame at the end, as the real one does. */
function openStream(response: http.ServerResponse, statusCode = 200): void {
  response.writeHead(statusCode, { 'content-type': 'text/plain; charset=utf-8' });
  response.flushHeaders();
}

function sendFrame(response: http.ServerResponse, fields: Readonly<Record<string, unknown>>): void {
  openStream(response);
  response.end(`data: ${JSON.stringify({ success: true, ...fields })}\n\n`);
}

async function answerShape(
  shape: CuaShape,
  response: http.ServerResponse,
  perform: () => Promise<Record<string, unknown> | undefined>,
): Promise<void> {
  switch (shape.kind) {
    case 'frame':
      openStream(response);
      response.end(`data: ${JSON.stringify(shape.fields)}\n\n`);
      return;
    case 'raw':
      openStream(response, shape.statusCode);
      response.end(shape.body);
      return;
    case 'detail':
      sendDetail(response, shape.statusCode, shape.detail);
      return;
    case 'silence':
      openStream(response);
      return;
    case 'empty':
      openStream(response);
      response.end();
      return;
    case 'cut':
      openStream(response);
      response.write(shape.part);
      await sleep(30);
      response.socket?.destroy();
      return;
    case 'cut-at-once':
      response.socket?.destroy();
      return;
    case 'done-then-cut':
      await perform();
      response.socket?.destroy();
      return;
    case 'slow':
      openStream(response);
      await sleep(shape.milliseconds);
      response.end(`data: ${JSON.stringify({ success: true, ...(await perform()) })}\n\n`);
      return;
    case 'huge':
      openStream(response);
      await pipeline(Readable.from(blocks(shape.bytes)), response).catch(() => undefined);
  }
}

function* blocks(bytes: number): Generator<Buffer> {
  for (let made = 0; made < bytes; made += 1 << 20) yield Buffer.alloc(1 << 20, 'x');
}
