import { GUI_EVENTS_FILE, GUI_EVENTS_VARIABLE } from '#core/cua/gui-event';
import { ExamHallError } from '#core/errors';
import { joinGuestPath } from '#core/guest-paths';
import type { Ports } from '#ports/ports';
import type { Sandbox } from '#ports/sandbox-provider';

const CONFIG_FILE = 'mcp.json';
/** The name under which upstream's agents know the desktop bridge. */
const BRIDGE_NAME = 'cua';
const WRITE_SECONDS = 60;

/**
 * Lays the agent's way to its screen into its work folder: an MCP configuration that names the desktop bridge.
 * @returns what the agent's job has in its environment for that; nothing in a sandbox without a screen.
 * @throws AgentLaunchError when the file cannot be written.
 */
export async function prepareScreen(
  ports: Pick<Ports, 'channels'>,
  sandbox: Sandbox,
  work: string,
): Promise<Readonly<Record<string, string>>> {
  const { desktop } = sandbox;
  if (desktop === null) return {};
  const events = { [GUI_EVENTS_VARIABLE]: joinGuestPath(sandbox.os, work, GUI_EVENTS_FILE) };
  const env = { ...desktop.env, CUA_SERVER_URL: desktop.serverUrl, ...events };
  if (desktop.bridge === null) return env;
  const path = joinGuestPath(sandbox.os, work, CONFIG_FILE);
  const server = {
    command: sandbox.paths.node,
    args: [desktop.bridge],
    env: { CUA_SERVER_URL: desktop.serverUrl, ...events },
  };
  const content = `${JSON.stringify({ mcpServers: { [BRIDGE_NAME]: server } }, null, 2)}\n`;
  const calls = [{ command: 'write_text', params: { path, content } }];
  const [answer] = await ports.channels.for(sandbox).call(sandbox, calls, WRITE_SECONDS);
  if (answer?.success === true) return { ...env, EXAMHALL_MCP_CONFIG: path };
  throw new ExamHallError('AgentLaunchError', `${path} cannot be written: ${answer?.error ?? 'no answer'}`);
}
