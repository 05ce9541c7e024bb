import { describe, expect, it } from 'vitest';
import type { RpcCall, RpcResult } from '#contracts/guest';
import { createNoopProvider } from '#local/sandboxes/noop-provider';
import type { Channels } from '#ports/ports';
import type { Sandbox } from '#ports/sandbox-provider';
import { prepareScreen } from '#usecases/steps/screen-setting';
import { fakeChannel, sandboxSpec } from '#test/fakes/sandbox';

const DESKTOP = {
  serverUrl: 'http://127.0.0.1:5000',
  endpoint: { url: 'http://127.0.0.1:5000', socketPath: '/run/x/cua.sock' },
  env: { DISPLAY: ':0', XAUTHORITY: '/home/user/.Xauthority' },
  bridge: '/opt/examhall/bridge/cua-desktop.mjs',
} as const;

/** A channel that answers every call alike and writes down what it was asked. */
function channelsWith(answer: RpcResult): { readonly channels: Channels; readonly asked: RpcCall[] } {
  const asked: RpcCall[] = [];
  const call = async (_: Sandbox, calls: readonly RpcCall[]): Promise<readonly RpcResult[]> => {
    asked.push(...calls);
    return calls.map(() => answer);
  };
  return { asked, channels: { for: () => ({ ...fakeChannel().channel, call }) } };
}

async function sandboxWith(desktop: Sandbox['desktop']): Promise<Sandbox> {
  return { ...(await createNoopProvider().acquire(sandboxSpec())), desktop };
}

describe("the agent's way to its screen", () => {
  it('is an MCP configuration that names the bridge, and its path, display and server in the environment', async () => {
    const { channels, asked } = channelsWith({ success: true });
    const sandbox = await sandboxWith(DESKTOP);
    const env = await prepareScreen({ channels }, sandbox, '/home/user/.ale/a');
    const events = '/home/user/.ale/a/gui_events.jsonl';
    expect(env).toEqual({
      ...DESKTOP.env,
      CUA_SERVER_URL: DESKTOP.serverUrl,
      EXAMHALL_GUI_EVENTS: events,
      EXAMHALL_MCP_CONFIG: '/home/user/.ale/a/mcp.json',
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ command: 'write_text', params: { path: '/home/user/.ale/a/mcp.json' } });
    expect(JSON.parse(String(asked[0]?.params['content']))).toEqual({
      mcpServers: {
        cua: {
          command: sandbox.paths.node,
          args: [DESKTOP.bridge],
          env: { CUA_SERVER_URL: DESKTOP.serverUrl, EXAMHALL_GUI_EVENTS: events },
        },
      },
    });
  });

  it('is nothing without a screen, and has no configuration without a bridge', async () => {
    const { channels, asked } = channelsWith({ success: true });
    expect(await prepareScreen({ channels }, await sandboxWith(null), '/w')).toEqual({});
    const env = await prepareScreen({ channels }, await sandboxWith({ ...DESKTOP, bridge: null }), '/w');
    expect(Object.keys(env)).not.toContain('EXAMHALL_MCP_CONFIG');
    expect(asked).toEqual([]);
  });

  it('says when it cannot be laid', async () => {
    const { channels } = channelsWith({ success: false, error: 'no space' });
    await expect(prepareScreen({ channels }, await sandboxWith(DESKTOP), '/w')).rejects.toMatchObject({
      name: 'AgentLaunchError',
      message: '/w/mcp.json cannot be written: no space',
    });
  });
});
