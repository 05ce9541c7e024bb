import { createCuaClient } from '#adapters/cua-client';
import { createCuaDesktop } from '#adapters/cua-desktop';
import { createGuiLog } from './cua-desktop-log.ts';
import { readDesktopSettings } from './cua-desktop-settings.ts';
import { createDesktopTools } from './cua-desktop-tools.ts';
import { serveOnStdio } from './mcp-stdio.ts';
import { createToolServer, messageOf } from './mcp-tools.ts';
import { createTurns } from './mcp-turns.ts';

/** The upstream interface that the tools keep. */
const INFO = { name: 'cua-desktop', version: '0.3.0' };

/** The desktop bridge: an MCP server on standard input and output whose tools drive the cua-server at CUA_SERVER_URL. */
async function main(): Promise<void> {
  const settings = readDesktopSettings(process.env);
  const client = createCuaClient(
    { url: settings.serverUrl },
    { defaultTimeoutSeconds: settings.commandSeconds * 0.6, marginSeconds: settings.commandSeconds * 0.4 },
  );
  const turns = createTurns();
  const ending = new AbortController();
  const parts = { client, desktop: createCuaDesktop(client), settings };
  const tools = createDesktopTools(parts, { turns, log: createGuiLog(settings.guiEvents) });
  await serveOnStdio(createToolServer(INFO, tools, ending.signal), ending, () => client.close());
}

await main().catch((error: unknown) => {
  process.stderr.write(`cua-desktop: ${messageOf(error)}\n`);
  process.exitCode = 1;
});
