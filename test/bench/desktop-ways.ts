import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { createCuaClient } from '#adapters/cua-client';
import { createCuaDesktop } from '#adapters/cua-desktop';

/** One way to the server. What it cannot do is not there. */
export interface Way {
  readonly name: string;
  screenshot?(): Promise<void>;
  click?(): Promise<void>;
  /** A click at a coordinate of 0 to 1000. */
  clickAt?(): Promise<void>;
  upload?(local: string, bytes: Buffer, remote: string): Promise<void>;
  download?(remote: string, sizeBytes: number): Promise<void>;
  close(): Promise<void>;
}

const PIXEL = { x: 640, y: 400 };
const CUA_COMPUTER = 'cua-computer==0.5.19';

/** One request on a kept connection, its body read and thrown away. */
function exchange(agent: http.Agent, url: string, method: string, body?: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { agent, method }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => resolve(Buffer.concat(chunks).toString('latin1')));
      response.once('error', reject);
    });
    request.once('error', reject);
    request.end(body);
  });
}

/** Requests with nothing around them. */
export function rawWay(url: string): Way {
  const agent = new http.Agent({ keepAlive: true });
  const post = async (command: string, params: Record<string, unknown> = {}): Promise<void> => {
    const text = await exchange(agent, `${url}/cmd`, 'POST', JSON.stringify({ command, params }));
    if (!/"success": ?true/.test(text)) throw new Error(`${command}: ${text.slice(0, 200)}`);
  };
  return {
    name: 'raw HTTP',
    screenshot: () => post('screenshot'),
    click: () => post('left_click'),
    clickAt: () => post('left_click', PIXEL),
    close: () => {
      agent.destroy();
      return Promise.resolve();
    },
  };
}

export function clientWay(url: string): Way {
  const client = createCuaClient({ url });
  const desktop = createCuaDesktop(client);
  return {
    name: 'client',
    screenshot: async () => {
      await desktop.screenshot();
    },
    click: () => desktop.click(),
    clickAt: () => desktop.click({ point: PIXEL }),
    upload: async (_local, bytes, remote) => {
      await client.upload(remote, bytes);
    },
    download: async (remote, sizeBytes) => {
      const { length } = await client.download(remote, sizeBytes);
      if (length !== sizeBytes) throw new Error(`${String(length)} bytes came of ${String(sizeBytes)}`);
    },
    close: () => {
      client.close();
      return Promise.resolve();
    },
  };
}

export async function bridgeWay(url: string, file: string): Promise<Way> {
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [file], env: { CUA_SERVER_URL: url } }),
  );
  const call = async (name: string, given: Record<string, unknown> = {}): Promise<void> => {
    const result = await client.callTool({ name, arguments: given });
    if (result.isError === true) throw new Error(JSON.stringify(result.content));
  };
  return {
    name: 'bridge',
    screenshot: () => call('screenshot'),
    click: () => call('click'),
    clickAt: () => call('click', { coordinate: [500, 500] }),
    close: () => client.close(),
  };
}

/** A server that takes bytes and gives bytes and does nothing else, in a process of its own. */
export async function loopbackWay(): Promise<Way> {
  const program = `let kept=Buffer.alloc(0);require('http').createServer((q,r)=>{if(q.method==='GET')return r.end(kept);
    const c=[];q.on('data',d=>c.push(d)).on('end',()=>{kept=Buffer.concat(c);r.end()})}).listen(0,'127.0.0.1',function(){console.log(this.address().port)})`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) =>
    child.stdout.once('data', (text) => resolve(String(text).trim())),
  );
  const agent = new http.Agent({ keepAlive: true });
  return {
    name: 'raw loopback',
    upload: async (_local, bytes) => {
      await exchange(agent, `http://127.0.0.1:${port}/`, 'POST', bytes);
    },
    download: async () => {
      await exchange(agent, `http://127.0.0.1:${port}/`, 'GET');
    },
    close: () => {
      agent.destroy();
      child.kill();
      return Promise.resolve();
    },
  };
}

/** The Python client in a new virtual environment; a text says why there is none. */
export async function pythonWay(url: string, python: string | null): Promise<Way | string> {
  if (python === null) return 'no desktop is set up, so there is no Python 3.12 to run it with';
  const folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-bench-python-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const quiet = { stdio: 'ignore', timeout: 600_000 } as const;
  const isMade = spawnSync(python, ['-m', 'venv', folder], quiet).status === 0;
  const pip = ['install', '-q', '--disable-pip-version-check', CUA_COMPUTER];
  if (!isMade || spawnSync(path.join(folder, 'bin/pip'), pip, quiet).status !== 0) {
    remove();
    return `${CUA_COMPUTER} could not be installed`;
  }
  const env = { ...process.env, CUA_TELEMETRY_ENABLED: 'false', CUA_TELEMETRY: 'off', HOME: folder };
  const script = path.join(import.meta.dirname, 'desktop-python.py');
  const child = spawn(path.join(folder, 'bin/python'), [script, new URL(url).port], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (question: Record<string, unknown>): Promise<void> => {
    child.stdin.write(`${JSON.stringify(question)}\n`);
    for (;;) {
      const next: IteratorResult<string, undefined> = await lines.next();
      if (next.done === true) throw new Error(`the Python client ended at ${JSON.stringify(question)}`);
      // Whatever else it prints is talk.
      if (next.value.startsWith('{"seconds"')) return;
    }
  };
  return {
    name: CUA_COMPUTER.replace('==', ' '),
    screenshot: () => ask({ do: 'screenshot' }),
    clickAt: () => ask({ do: 'click', point: [PIXEL.x, PIXEL.y] }),
    upload: (local, _bytes, remote) => ask({ do: 'upload', from: local, path: remote }),
    download: (remote) => ask({ do: 'download', path: remote }),
    close: async () => {
      child.stdin.end();
      await new Promise((resolve) => (child.exitCode === null ? child.once('close', resolve) : resolve(0)));
      remove();
    },
  };
}

/** From the start of the bridge's process to its answer to `initialize`, in milliseconds. */
export async function startUpMilliseconds(file: string): Promise<number> {
  const begun = performance.now();
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [file], env: {} }));
  const taken = performance.now() - begun;
  await client.close();
  return taken;
}

export function sizeKiB(file: string): number {
  return statSync(file).size / 1024;
}
