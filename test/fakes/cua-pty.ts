import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

interface FakeTerminal {
  readonly process: ChildProcessWithoutNullStreams;
  readonly followers: Set<http.ServerResponse>;
  hasEnded: boolean;
}

export interface FakePtyServer {
  readonly url: string;
  /** Cuts the streams that are open. */
  cutStreams(): void;
  /** How often a stream was asked for. */
  readonly streams: () => number;
  close(): Promise<void>;
}

/**
 * The terminals of the wire protocol, real ones by `script`, with the real server's traps: output that nobody follows is lost,
 * and whoever follows a terminal that has ended hears nothing. Everything else goes on to `commands`.
 */
export async function startFakePtyServer(commands: { readonly url: string }): Promise<FakePtyServer> {
  const terminals = new Map<number, FakeTerminal>();
  let streams = 0;
  const server = http.createServer((request, response) => {
    const [, top, pid, verb] = (request.url ?? '').split('/');
    if (top !== 'pty') {
      forward(commands.url, request, response);
      return;
    }
    void readJson(request).then((body) => {
      const terminal = terminals.get(Number(pid));
      if (pid === undefined) answer(response, create(terminals, body));
      else if (verb === 'stream') {
        streams += 1;
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        if (terminal?.hasEnded === false) terminal.followers.add(response);
      } else if (terminal === undefined) response.writeHead(500).end('Internal Server Error');
      else {
        if (verb === 'stdin') terminal.process.stdin.write(Buffer.from(String(body['data']), 'base64'));
        if (request.method === 'DELETE') terminal.process.kill('SIGKILL');
        answer(response, request.method === 'DELETE' ? { killed: true } : { ok: true });
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutStreams: () => {
      for (const { followers } of terminals.values()) {
        for (const response of followers) response.socket?.destroy();
        followers.clear();
      }
    },
    streams: () => streams,
    close: async () => {
      for (const { process: child } of terminals.values()) child.kill('SIGKILL');
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function create(terminals: Map<number, FakeTerminal>, body: Record<string, unknown>): Record<string, unknown> {
  const { command = 'bash', cwd, envs = {}, cols = 80, rows = 24 } = body;
  const child = spawn('script', ['-qefc', String(command), '/dev/null'], {
    env: { ...process.env, TERM: 'xterm-256color', SHELL: '/bin/sh', ...(envs as Record<string, string>) },
    ...(typeof cwd === 'string' ? { cwd } : {}),
  });
  const terminal: FakeTerminal = { process: child, followers: new Set(), hasEnded: false };
  const tell = (event: unknown): void => {
    for (const response of terminal.followers) response.write(`data: ${JSON.stringify(event)}\n\n`);
  };
  child.stdin.on('error', () => undefined);
  child.stdout.on('data', (bytes: Buffer) => tell({ type: 'output', data: bytes.toString('base64') }));
  child.once('close', (code) => {
    terminal.hasEnded = true;
    tell({ type: 'exit', code: code ?? -9 });
    for (const response of terminal.followers) response.end();
  });
  const pid = child.pid ?? 0;
  terminals.set(pid, terminal);
  return { pid, cols, rows };
}

function answer(response: http.ServerResponse, body: Record<string, unknown>): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readJson(request: http.IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

function forward(to: string, request: http.IncomingMessage, response: http.ServerResponse): void {
  const { method, headers, url = '/' } = request;
  const passed = http.request(`${to}${url}`, { method, headers, agent: false }, (answered) => {
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.pipe(response);
  });
  passed.once('error', () => response.destroy());
  request.pipe(passed);
}
