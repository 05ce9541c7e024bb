import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { ToolServer } from './mcp-tools.ts';

/** A file handed to `write_bytes` is one message; the SDK's own limit of 10 MiB would end the connection. */
const LONGEST_MESSAGE_BYTES = 128 * 1024 * 1024;
/** How long calls may go on after the client has closed its end. */
const LAST_CALLS_MS = 30_000;

/**
 * Serves on standard input and output until the client closes its end or the process is told to end. Calls that run by then
 * are finished within 30 s, so that no key stays pressed; a signal ends waits at once. The process ends by itself afterwards.
 */
export async function serveOnStdio(
  server: ToolServer,
  ending: AbortController,
  close: () => void | Promise<void>,
): Promise<void> {
  const { stdin, stdout } = process;
  const end = (): void => {
    if (!ending.signal.aborted) ending.abort(new Error('the server is ending'));
  };
  const inputClosed = new Promise<void>((resolve) => {
    stdin.once('end', resolve).once('close', resolve);
    ending.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  stdout.on('error', end);
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, end);
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: LONGEST_MESSAGE_BYTES });
  server.protocol.onerror = (error) => process.stderr.write(`${error.message}\n`);
  server.protocol.onclose = end;
  await server.protocol.connect(transport);
  await inputClosed;
  const timer = setTimeout(end, LAST_CALLS_MS);
  await server.idle();
  clearTimeout(timer);
  await close();
  stdin.destroy();
}
