import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';
import type { BridgeName } from './bridge-kit.ts';
import { serveBridgeOverHttp, type BridgeOverHttp, type StandIn } from './bridge-http.ts';

/** The suite exports no such path; it lies beside its package.json. */
const suite = path.join(
  path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')),
  'dist/index.js',
);

const OFF_SCREEN: StandIn = { name: 'click', arguments: { coordinate: [5000, 0] } };
const STAND_INS: Readonly<Record<BridgeName, Readonly<Record<string, StandIn>>>> = {
  'cua-desktop': {
    test_simple_text: { name: 'cursor_position', arguments: {} },
    test_image_content: { name: 'screenshot', arguments: {} },
    test_error_handling: OFF_SCREEN,
  },
  'vm-primitives': {
    test_error_handling: { name: 'read_text', arguments: { path: '/no/such/file' } },
  },
};

/** What the suite asks of every server with tools; the rest is about resources, prompts, sampling and HTTP itself. */
const GENERIC = ['server-initialize', 'ping', 'tools-list', 'tools-call-simple-text', 'tools-call-error'];

let server: FakeCuaServer;
beforeAll(async () => {
  server = await startFakeCuaServer({ handlers: { get_screen_size: () => ({ size: { width: 64, height: 48 } }) } });
});
afterAll(() => server.close());

/** Runs one scenario; its exit code is 0 when every check of it passed. */
async function runScenario(url: string, scenario: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [suite, 'server', '--url', url, '--scenario', scenario], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 25_000,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => (output += part));
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, output };
}

describe.each([
  ['cua-desktop', [...GENERIC, 'tools-call-image']],
  ['vm-primitives', ['server-initialize', 'tools-list', 'tools-call-error']],
] as const)('%s in the conformance suite', (name, scenarios) => {
  let bridge: BridgeOverHttp;
  beforeAll(async () => {
    bridge = await serveBridgeOverHttp(name, { env: { CUA_SERVER_URL: server.url }, standIns: STAND_INS[name] });
  });
  afterAll(() => bridge.close());

  it.each(scenarios)('passes %s', async (scenario) => {
    const { code, output } = await runScenario(bridge.url, scenario);
    expect(code, output).toBe(0);
    expect(output).toMatch(/Passed: [1-9]\d*\/|[1-9]\d* passed/);
  });
});

it('the suite can fail here', async () => {
  const standIns = { test_error_handling: { name: 'cursor_position', arguments: {} } };
  const bridge = await serveBridgeOverHttp('cua-desktop', { env: { CUA_SERVER_URL: server.url }, standIns });
  try {
    const { code, output } = await runScenario(bridge.url, 'tools-call-error');
    expect(code, output).toBe(1);
  } finally {
    await bridge.close();
  }
});
