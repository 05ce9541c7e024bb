import { createCuaClient } from '#adapters/cua-client';
import { createCuaPty } from '#adapters/cua-client-pty';
import { serveOnStdio } from './mcp-stdio.ts';
import { createToolServer, messageOf } from './mcp-tools.ts';
import { readServerSettings } from './cua-desktop-settings.ts';
import { createPrimitiveTools } from './vm-primitives-tools.ts';
import type { TerminalHost } from './vm-primitives-terminal.ts';

/** The upstream interface that the tools keep. */
const INFO = { name: 'vm-primitives', version: '0.1.0' };

/** For agents outside the sandbox: commands, files, clipboard and terminals of the cua-server at CUA_SERVER_URL. */
async function main(): Promise<void> {
  const { serverUrl, commandSeconds } = readServerSettings(process.env);
  const endpoint = { url: serverUrl };
  const client = createCuaClient(endpoint, {
    defaultTimeoutSeconds: commandSeconds * 0.6,
    marginSeconds: commandSeconds * 0.4,
  });
  const pty = createCuaPty(endpoint, { deadlineSeconds: commandSeconds });
  const terminals = async (): Promise<TerminalHost> => ({
    pty,
    isPosix: ['linux', 'darwin'].includes(await client.osType()),
    isAlive: async (pid) => (await client.exec(`kill -0 ${pid} 2>/dev/null`, { timeoutSeconds: 10 })).exitCode === 0,
  });
  const primitives = createPrimitiveTools(client, terminals);
  const ending = new AbortController();
  await serveOnStdio(createToolServer(INFO, primitives.tools, ending.signal), ending, async () => {
    await primitives.close();
    client.close();
  });
}

await main().catch((error: unknown) => {
  process.stderr.write(`vm-primitives: ${messageOf(error)}\n`);
  process.exitCode = 1;
});
