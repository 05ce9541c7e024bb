import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readGuiEvents } from '#core/gui-event';
import { startFakeCuaServer, type CuaShape, type FakeCuaServer } from '#test/fakes/cua-server';
import { startBridge, type Bridge } from './bridge-kit.ts';

let server: FakeCuaServer;
let folder: string;
const bridges: Bridge[] = [];

async function start(env: Record<string, string> = {}): Promise<Bridge> {
  const bridge = await startBridge('cua-desktop', { CUA_SERVER_URL: server.url, ...env });
  bridges.push(bridge);
  return bridge;
}

const commands = (): string[] => server.requests.map(({ command }) => command);

async function until(isThere: () => boolean): Promise<void> {
  for (let turn = 0; turn < 400 && !isThere(); turn += 1) await sleep(25);
  if (!isThere()) throw new Error('what was waited for did not come');
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-bridge-'));
  server = await startFakeCuaServer({
    handlers: {
      get_screen_size: () => ({ size: { width: 1000, height: 500 } }),
      // Nothing is installed beside this server.
      run_command: () => ({ stdout: '', stderr: '', return_code: 1 }),
    },
  });
});
afterEach(async () => {
  for (const bridge of bridges.splice(0)) await bridge.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

describe('a server that does not answer well', () => {
  const shapes: readonly (readonly [string, CuaShape, RegExp])[] = [
    ['refuses', { kind: 'detail', statusCode: 400, detail: 'Unknown command: left_click' }, /400.*Unknown command/],
    ['fails', { kind: 'frame', fields: { success: false, error: 'Display is gone' } }, /Display is gone/],
    ['fails without a word', { kind: 'frame', fields: { success: false } }, /left_click/],
    ['answers nothing', { kind: 'empty' }, /left_click/],
    ['answers nonsense', { kind: 'raw', body: '<html>' }, /left_click/],
    ['is cut off', { kind: 'cut', part: 'data: {"succ' }, /left_click.*not sent again/],
    ['is silent', { kind: 'silence' }, /left_click.*no answer within/],
  ];

  it.each(shapes)('that %s gives a tool error, and the bridge goes on', async (_what, shape, message) => {
    const bridge = await start({ CUA_TIMEOUT_SECONDS: '3' });
    server.answer('left_click', shape);
    const answer = await bridge.call('click');
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(message) as string });
    expect(answer.text).toContain(server.url);
    expect((await bridge.call('click')).isError).toBe(false);
    expect(commands().filter((command) => command === 'left_click')).toHaveLength(2);
  });

  it('is waited for less than 30 s unless told otherwise', async () => {
    const { readDesktopSettings } = await import('#guest/cua-desktop-settings');
    expect(readDesktopSettings({}).commandSeconds).toBeLessThan(30);
  });
});

describe('calls sent together', () => {
  it('are carried out one at a time in their order', async () => {
    const bridge = await start();
    server.answer('left_click', { kind: 'slow', milliseconds: 150 });
    await Promise.all([
      bridge.call('click', { coordinate: [1, 1] }),
      bridge.call('drag', { start_coordinate: [0, 0], coordinate: [1000, 1000] }),
      bridge.call('wait', { duration: 0.05 }),
      bridge.call('screenshot'),
      bridge.call('type', { text: 'abc' }),
    ]);
    const done = commands();
    const drag = done.slice(done.indexOf('mouse_down'), done.indexOf('mouse_up') + 1);
    expect(new Set(drag)).toEqual(new Set(['mouse_down', 'move_cursor', 'mouse_up']));
    const marks = ['left_click', 'mouse_down', 'mouse_up', 'screenshot'].map((command) => done.indexOf(command));
    expect(marks).toEqual([...marks].sort((a, b) => a - b));
    expect(marks[0]).toBeGreaterThanOrEqual(0);
    expect(done.length).toBeGreaterThan(done.indexOf('screenshot') + 1);
  });

  it('are not begun when they were cancelled before their turn', async () => {
    const bridge = await start();
    const cancelling = new AbortController();
    const first = bridge.call('wait', { duration: 2 });
    const second = bridge.call('click', {}, cancelling.signal);
    second.catch(() => undefined);
    await sleep(50);
    cancelling.abort('changed my mind');
    await expect(second).rejects.toThrow();
    await first;
    await bridge.call('key', { keys: ['enter'] });
    expect(commands()).toEqual(['press_key']);
  });

  it('end a wait that is cancelled', async () => {
    const bridge = await start();
    const cancelling = new AbortController();
    const waiting = bridge.call('wait', { duration: 3_000 }, cancelling.signal);
    waiting.catch(() => undefined);
    await sleep(50);
    cancelling.abort('enough');
    await expect(waiting).rejects.toThrow();
    expect((await bridge.call('click')).isError).toBe(false);
  });
});

describe('settings', () => {
  it('take coordinates in pixels of the screenshot', async () => {
    const bridge = await start({ CUA_COORDINATE_SPACE: 'pixel' });
    await bridge.call('click', { coordinate: [999, 499] });
    expect(server.requests.at(-1)).toEqual({ command: 'left_click', params: { x: 999, y: 499 } });
    expect((await bridge.call('cursor_position')).text).toContain('[10, 20]');
    expect(await bridge.call('click', { coordinate: [1001, 0] })).toMatchObject({ isError: true });
    const { tools } = await bridge.client.listTools();
    expect(JSON.stringify(tools.find(({ name }) => name === 'click'))).toMatch(/pixels of the screenshot/);
  });

  it.each([
    ['keystroke', 'é', ['type_text é']],
    ['clipboard', 'abc', ['set_clipboard abc', 'hotkey ctrl,v', 'set_clipboard what was there']],
  ])('text goes by %s', async (mode, text, expected) => {
    const bridge = await start({ CUA_TEXT_INPUT_MODE: mode });
    expect((await bridge.call('type', { text })).isError).toBe(false);
    const done = server.requests
      .filter(({ params }) => 'text' in params || 'keys' in params)
      .map(({ command, params }) => `${command} ${String(params['text'] ?? params['keys'])}`);
    expect(done).toEqual(expected);
  });

  it.each([
    ['CUA_COORDINATE_SPACE', 'percent', 'normalized, pixel'],
    ['CUA_TEXT_INPUT_MODE', 'telepathy', 'auto, keystroke, clipboard'],
    ['CUA_SERVER_URL', 'localhost:5000', 'http'],
    ['CUA_TIMEOUT_SECONDS', '0', 'above 0'],
  ])('%s may not be %s', async (name, value, allowed) => {
    const { readDesktopSettings } = await import('#guest/cua-desktop-settings');
    expect(() => readDesktopSettings({ [name]: value })).toThrow(new RegExp(`${name}.*${value}.*${allowed}`));
    await expect(start({ [name]: value })).rejects.toThrow();
  });
});

describe('GUI events', () => {
  it('are one line for each call, with pixels and errors, as the record reads them', async () => {
    const file = path.join(folder, 'gui_events.jsonl');
    const bridge = await start({ EXAMHALL_GUI_EVENTS: file });
    const startedAt = new Date().toISOString();
    await bridge.call('screenshot');
    await bridge.call('click', { coordinate: [500, 500] });
    await bridge.call('click', { coordinate: [5000, 0] });
    await bridge.call('type', { text: 'x'.repeat(5_000) });
    const { text, counts } = readGuiEvents(
      readFileSync(file, 'utf8'),
      { startedAt, endedAt: new Date().toISOString() },
      false,
    );
    expect(counts).toEqual({ kept: 4, implausibleTimes: 0, failed: 1, malformed: 0, truncated: false });
    const events = text
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    expect(events).toMatchObject([
      { tool: 'screenshot', screen: { width: 64, height: 48 }, ok: true },
      { tool: 'click', pixels: [{ x: 500, y: 250 }], screen: { width: 1000, height: 500 }, ok: true },
      { tool: 'click', ok: false, error: expect.stringContaining('5000') as string },
      { tool: 'type', ok: true },
    ]);
  });

  it('that cannot be written stop no action', async () => {
    const bridge = await start({ EXAMHALL_GUI_EVENTS: path.join(folder, 'no/such/file') });
    expect((await bridge.call('click')).isError).toBe(false);
    expect((await bridge.call('click')).isError).toBe(false);
    expect(bridge.stderr()).toMatch(/no more GUI events/);
  });
});

describe('its end', () => {
  it('comes when the client closes, with keys let go first', async () => {
    const bridge = await start();
    void bridge.call('hold_key', { keys: ['shift'], duration: 0.5 }).catch(() => undefined);
    await until(() => commands().includes('key_down'));
    await bridge.close();
    await until(() => !isRunning(bridge.pid));
    expect(commands()).toEqual(['key_down', 'key_up']);
  });

  it('comes with a signal, which ends a wait and lets keys go', async () => {
    const bridge = await start();
    void bridge.call('hold_key', { keys: ['shift'], duration: 3_000 }).catch(() => undefined);
    await until(() => commands().includes('key_down'));
    process.kill(bridge.pid, 'SIGTERM');
    await until(() => !isRunning(bridge.pid));
    expect(commands()).toEqual(['key_down', 'key_up']);
  });
});
