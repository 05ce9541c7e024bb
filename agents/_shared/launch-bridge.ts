import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** What a tool answered: its texts, and its picture where it sent one. */
export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
  /** Base64 of a PNG. */
  readonly picture: string | null;
}

/** An MCP server that this process has started and talks to. */
export interface Bridge {
  call(tool: string, given: Readonly<Record<string, unknown>>): Promise<ToolAnswer>;
  close(): void;
}

interface ServerEntry {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Message {
  readonly id?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message?: string };
}

interface Waiter {
  readonly resolve: (result: Readonly<Record<string, unknown>>) => void;
  readonly reject: (error: Error) => void;
}

const PROTOCOL = '2025-06-18';
const ANSWER_SECONDS = 60;

/** Starts the server of that name from the sandbox's MCP configuration. @throws Error saying what lacks. */
export async function openBridge(name: string): Promise<Bridge> {
  const { command, args = [], env = {} } = serverEntry(name);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  const ask = conversation(child, name);
  await ask('initialize', {
    protocolVersion: PROTOCOL,
    capabilities: {},
    clientInfo: { name: 'examhall-scripted', version: '1.0.0' },
  });
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
  return {
    call: async (tool, given) => answerOf(await ask('tools/call', { name: tool, arguments: given })),
    close: () => void child.kill(),
  };
}

function serverEntry(name: string): ServerEntry {
  const file = process.env['EXAMHALL_MCP_CONFIG'];
  if (file === undefined || file === '') {
    throw new Error('EXAMHALL_MCP_CONFIG is not set: this sandbox has no screen, and the recording needs one');
  }
  const { mcpServers } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly mcpServers?: Record<string, ServerEntry>;
  };
  const entry = mcpServers?.[name];
  if (entry !== undefined) return entry;
  throw new Error(`${file} names no server ${name}; it has ${Object.keys(mcpServers ?? {}).join(', ') || 'none'}`);
}

type Ask = (method: string, params: unknown) => Promise<Readonly<Record<string, unknown>>>;

/** JSON-RPC over lines. What is still asked when the server ends, or goes unanswered for a minute, fails. */
function conversation(child: ChildProcess, name: string): Ask {
  const waiters = new Map<number, Waiter>();
  let lastId = 0;
  let ended: Error | null = null;
  const end = (why: string): void => {
    ended ??= new Error(`the MCP server ${name} is gone: ${why}`);
    for (const waiter of waiters.values()) waiter.reject(ended);
    waiters.clear();
  };
  child.once('error', (error) => end(error.message));
  child.once('exit', (code, signal) => end(`it ended with ${signal ?? String(code)}`));
  child.stdin?.on('error', () => undefined);
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', (line) => settle(waiters, line));
  return (method, params) => {
    if (ended !== null) return Promise.reject(ended);
    lastId += 1;
    const id = lastId;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        waiters.delete(id);
        reject(new Error(`the MCP server ${name} did not answer ${method} within ${ANSWER_SECONDS} s`));
      }, ANSWER_SECONDS * 1000);
      const settled =
        <T>(act: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(late);
          act(value);
        };
      waiters.set(id, { resolve: settled(resolve), reject: settled(reject) });
      child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    });
  };
}

function settle(waiters: Map<number, Waiter>, line: string): void {
  let message: Message;
  try {
    message = JSON.parse(line) as Message;
  } catch {
    return;
  }
  const waiter = message.id === undefined ? undefined : waiters.get(message.id);
  if (waiter === undefined || message.id === undefined) return;
  waiters.delete(message.id);
  if (message.result !== undefined) waiter.resolve(message.result);
  else waiter.reject(new Error(message.error?.message ?? 'the MCP server gave neither result nor error'));
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
}

function answerOf(result: Readonly<Record<string, unknown>>): ToolAnswer {
  const content = Array.isArray(result['content']) ? (result['content'] as readonly Block[]) : [];
  return {
    isError: result['isError'] === true,
    text: content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n'),
    picture: content.find(({ type, data }) => type === 'image' && data !== undefined)?.data ?? null,
  };
}
