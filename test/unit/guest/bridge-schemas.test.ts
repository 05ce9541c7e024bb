import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import upstream from '../../fixtures/upstream-mcp-tools.json' with { type: 'json' };
import { startBridge, summariseSchema, type Bridge } from './bridge-kit.ts';

const NOWHERE = 'http://127.0.0.1:9';

describe.each(['cua-desktop', 'vm-primitives'] as const)('%s', (name) => {
  let bridge: Bridge;
  beforeAll(async () => {
    bridge = await startBridge(name, { CUA_SERVER_URL: NOWHERE });
  });
  afterAll(() => bridge.close());

  it('gives its name as upstream does', () => {
    expect(bridge.client.getServerVersion()?.name).toBe(name);
  });

  it("has upstream's tools, with upstream's parameters", async () => {
    const { tools } = await bridge.client.listTools();
    const summaries = Object.fromEntries(tools.map((tool) => [tool.name, summariseSchema(tool.inputSchema)]));
    expect(summaries).toEqual(upstream[name]);
  });

  it("promises upstream's structured results and no others", async () => {
    const { tools } = await bridge.client.listTools();
    const results = tools.flatMap((tool) =>
      tool.outputSchema === undefined ? [] : [[tool.name, summariseSchema(tool.outputSchema)]],
    );
    expect(Object.fromEntries(results)).toEqual(upstream[`${name} results`]);
  });

  it('describes every tool and every parameter', async () => {
    const { tools } = await bridge.client.listTools();
    expect(tools.length).toBeGreaterThan(0);
    for (const tool of tools) {
      expect(tool.description, tool.name).toMatch(/\S.{20}/);
      for (const [parameter, schema] of Object.entries(tool.inputSchema.properties ?? {})) {
        expect(schema, `${tool.name} ${parameter}`).toHaveProperty('description');
      }
    }
  });

  it('refuses parameters that a tool does not have', async () => {
    const { tools } = await bridge.client.listTools();
    for (const tool of tools) {
      const answer = await bridge.call(tool.name, { nonsense: 1 });
      expect(answer, tool.name).toMatchObject({ isError: true, text: expect.stringContaining('nonsense') as string });
    }
  });

  it('answers for a tool that is not there with the names of those that are', async () => {
    await expect(bridge.call('fly')).rejects.toThrow(/no tool "fly"; the tools are .+, /);
  });

  it('says which server cannot be reached', async () => {
    const tool = name === 'cua-desktop' ? 'get_screen_size' : 'read_clipboard';
    const answer = await bridge.call(tool);
    expect(answer).toMatchObject({ isError: true, text: expect.stringContaining(NOWHERE) as string });
  });
});
