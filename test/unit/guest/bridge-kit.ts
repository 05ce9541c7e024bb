import os from 'node:os';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { bundleDesktopBridge, bundlePrimitivesBridge } from '#local/sandboxes/guest-bundle';

export type BridgeName = 'cua-desktop' | 'vm-primitives';

const bundlers = { 'cua-desktop': bundleDesktopBridge, 'vm-primitives': bundlePrimitivesBridge };
const bundled = new Map<BridgeName, Promise<string>>();

/** The bundled bridge, in a folder with no packages near it. */
export function bridgeFile(name: BridgeName): Promise<string> {
  const file =
    bundled.get(name) ?? bundlers[name](path.join(os.tmpdir(), 'examhall-test-bridge')).then((bundle) => bundle.path);
  bundled.set(name, file);
  return file;
}

export interface BridgeAnswer {
  readonly text: string;
  readonly isError: boolean;
  /** Base64 of the image block. */
  readonly image: string | null;
  readonly structured: unknown;
}

export interface Bridge {
  readonly client: Client;
  readonly pid: number;
  readonly stderr: () => string;
  call(tool: string, given?: Record<string, unknown>, signal?: AbortSignal): Promise<BridgeAnswer>;
  /** Closes the bridge's input and waits for it to end; killed after a while. */
  close(): Promise<void>;
}

/** Starts a bridge as a harness does, and speaks to it with the SDK's own client. */
export async function startBridge(name: BridgeName, env: Record<string, string>): Promise<Bridge> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [await bridgeFile(name)],
    env,
    cwd: os.tmpdir(),
    stderr: 'pipe',
  });
  let stderr = '';
  transport.stderr?.on('data', (part: Buffer) => (stderr += part.toString('utf8')));
  const client = new Client({ name: 'bridge-test', version: '1' });
  await client.connect(transport);
  const pid = transport.pid;
  if (pid === null) throw new Error('the bridge has no process');
  return {
    client,
    pid,
    stderr: () => stderr,
    call: async (tool, given = {}, signal) => {
      const options = { timeout: 60_000, ...(signal === undefined ? {} : { signal }) };
      return readAnswer(await client.callTool({ name: tool, arguments: given }, undefined, options));
    },
    close: () => client.close(),
  };
}

function readAnswer(result: Awaited<ReturnType<Client['callTool']>>): BridgeAnswer {
  const blocks = Array.isArray(result.content) ? (result.content as Record<string, unknown>[]) : [];
  const texts = blocks.filter(({ type }) => type === 'text').map(({ text }) => String(text));
  const image = blocks.find(({ type, mimeType }) => type === 'image' && mimeType === 'image/png')?.['data'];
  if (texts.length !== 1) throw new Error(`an answer has one text, not ${texts.length}`);
  return {
    text: texts[0] ?? '',
    isError: result.isError === true,
    image: typeof image === 'string' ? image : null,
    structured: result.structuredContent,
  };
}

type Summary = Readonly<Record<string, string>>;

interface JsonSchema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly additionalProperties?: JsonSchema | boolean;
}

/** A tool's schema in the words of the fixture. */
export function summariseSchema(schema: unknown): Summary {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, JsonSchema>; required?: string[] };
  return Object.fromEntries(
    Object.entries(properties).map(([name, part]) => [
      required.includes(name) && part.default === undefined ? `*${name}` : name,
      summarisePart(part),
    ]),
  );
}

function summarisePart(part: JsonSchema): string {
  if (part.type === 'array' && part.items !== undefined) {
    const isFixed = part.minItems !== undefined && part.minItems === part.maxItems;
    return `${summarisePart(part.items)}[${isFixed ? String(part.minItems) : ''}]`;
  }
  if (part.type === 'object' && typeof part.additionalProperties === 'object') {
    return `${summarisePart(part.additionalProperties)} by name`;
  }
  const choices = part.enum === undefined ? '' : `: ${part.enum.join(' | ')}`;
  const least = part.minimum === undefined ? '' : ` >= ${part.minimum}`;
  const above = part.exclusiveMinimum === undefined ? '' : ` > ${part.exclusiveMinimum}`;
  const otherwise = part.default === undefined ? '' : ` = ${JSON.stringify(part.default).replaceAll('"', '')}`;
  return `${String(part.type)}${choices}${least}${above}${otherwise}`;
}
