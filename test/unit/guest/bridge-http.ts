import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { bridgeFile, type BridgeName } from './bridge-kit.ts';

/** A tool of ours that answers for one the suite expects. */
export type StandIn = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };

export interface BridgeOverHttp {
  readonly url: string;
  close(): Promise<void>;
}

interface Options {
  readonly env: Record<string, string>;
  /** By the name that the suite calls. */
  readonly standIns: Readonly<Record<string, StandIn>>;
}

/** The conformance suite speaks HTTP: each of its sessions gets a bridge of its own, and messages pass as they are. */
export async function serveBridgeOverHttp(name: BridgeName, { env, standIns }: Options): Promise<BridgeOverHttp> {
  const file = await bridgeFile(name);
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const bridges: StdioClientTransport[] = [];

  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const outer = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, outer),
    });
    const inner = new StdioClientTransport({ command: process.execPath, args: [file], env });
    bridges.push(inner);
    inner.onmessage = (message) => void outer.send(message).catch(() => undefined);
    outer.onmessage = (message) => void inner.send(withStandIn(message, standIns)).catch(() => undefined);
    await inner.start();
    await outer.start();
    return outer;
  };
  const handle = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const body = await readJson(request);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known === undefined && !isInitializeRequest(body)) return void response.writeHead(404).end();
    await (known ?? (await open())).handleRequest(request, response, body);
  };
  const server = http.createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await Promise.all(bridges.map((bridge) => bridge.close()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function withStandIn(message: JSONRPCMessage, standIns: Options['standIns']): JSONRPCMessage {
  if (!('method' in message) || message.method !== 'tools/call') return message;
  const standIn = standIns[String(message.params?.['name'])];
  return standIn === undefined ? message : { ...message, params: { ...message.params, ...standIn } };
}

async function readJson(request: http.IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? undefined : JSON.parse(text);
}
