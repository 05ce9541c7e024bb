import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startFakeCuaServer, type CuaRequest, type FakeCuaServer } from '#test/fakes/cua-server';
import { makePng } from '#test/fakes/cua-server-commands';
import { startBridge, type Bridge } from './bridge-kit.ts';

const screen = { width: 1280, height: 800 };
let server: FakeCuaServer;
let bridge: Bridge;
let folder: string;

/** What reached the server since the last time, without the questions about the screen and its tools. */
let seen = 0;
function acts(): CuaRequest[] {
  const fresh = server.requests.slice(seen);
  seen = server.requests.length;
  return fresh.filter(({ command }) => !['get_screen_size', 'run_command'].includes(command));
}

const png = (): string => makePng(screen.width, screen.height, [1, 2, 3]).toString('base64');

function startServer(osType = 'linux'): Promise<FakeCuaServer> {
  return startFakeCuaServer({
    osType,
    handlers: {
      run_command: () => ({ stdout: '', stderr: '', return_code: 1 }),
      get_screen_size: () => ({ size: { ...screen } }),
      screenshot: () => ({ image_data: png(), format: 'png' }),
      get_cursor_position: () => ({ position: { x: 640, y: 200 } }),
    },
  });
}

beforeAll(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-bridge-'));
  server = await startServer();
  bridge = await startBridge('cua-desktop', { CUA_SERVER_URL: `${server.url}/` });
});
beforeEach(() => {
  Object.assign(screen, { width: 1280, height: 800 });
  seen = server.requests.length;
});
afterAll(async () => {
  await bridge.close();
  await server.close();
  rmSync(folder, { recursive: true });
});

describe('the desktop bridge', () => {
  it.each([
    ['key', { keys: ['Return'] }, [['press_key', { key: 'enter' }]]],
    ['key', { keys: ['Control', 'c'] }, [['hotkey', { keys: ['ctrl', 'c'] }]]],
    ['key_down', { keys: ['Shift'] }, [['key_down', { key: 'shift' }]]],
    ['key_up', { keys: ['Shift'] }, [['key_up', { key: 'shift' }]]],
    ['mouse_move', { coordinate: [500, 250] }, [['move_cursor', { x: 640, y: 200 }]]],
    ['click', { coordinate: [0, 0] }, [['left_click', { x: 0, y: 0 }]]],
    ['click', {}, [['left_click', {}]]],
    ['click', { coordinate: [1000, 1000], button: 'right' }, [['right_click', { x: 1279, y: 799 }]]],
    ['click', { coordinate: [500, 500], clicks: 2 }, [['double_click', { x: 640, y: 400 }]]],
    ['mouse_down', {}, [['mouse_down', { button: 'left' }]]],
    ['mouse_up', { button: 'middle' }, [['mouse_up', { button: 'middle' }]]],
  ])('%s %j', async (tool, given, expected) => {
    const answer = await bridge.call(tool, given);
    expect(answer).toMatchObject({ isError: false, text: expect.stringMatching(/\S/) as string, image: null });
    expect(acts().map(({ command, params }) => [command, params])).toEqual(expected);
  });

  it('presses a middle button, which the server has no click for', async () => {
    await bridge.call('click', { coordinate: [500, 500], button: 'middle' });
    expect(acts().map(({ command }) => command)).toEqual(['move_cursor', 'mouse_down', 'mouse_up']);
  });

  it('drags from the start to the end with the button held in between', async () => {
    await bridge.call('drag', { start_coordinate: [0, 0], coordinate: [500, 500] });
    const done = acts();
    expect(done[0]).toEqual({ command: 'move_cursor', params: { x: 0, y: 0 } });
    expect(done[1]?.command).toBe('mouse_down');
    expect(done.at(-2)).toEqual({ command: 'move_cursor', params: { x: 640, y: 400 } });
    expect(done.at(-1)?.command).toBe('mouse_up');
  });

  it('scrolls where it is told', async () => {
    await bridge.call('scroll', { direction: 'down', amount: 3, coordinate: [500, 500] });
    const done = acts();
    expect(done[0]).toEqual({ command: 'move_cursor', params: { x: 640, y: 400 } });
    expect(done.slice(1)).toHaveLength(1);
  });

  it('says where the pointer is in the coordinates that it takes, and how large the screen is', async () => {
    expect((await bridge.call('cursor_position')).text).toContain('[500, 250]');
    expect(await bridge.call('get_screen_size')).toMatchObject({ structured: { width: 1280, height: 800 } });
  });

  it('gives a screenshot as text and a PNG', async () => {
    expect(await bridge.call('screenshot')).toMatchObject({ isError: false, image: png() });
  });

  it('holds keys and lets go of them', async () => {
    expect((await bridge.call('hold_key', { keys: ['ctrl', 'a'], duration: 0.01 })).isError).toBe(false);
    expect(acts().map(({ command, params }) => `${command} ${String(params['key'])}`)).toEqual([
      'key_down ctrl',
      'key_down a',
      'key_up a',
      'key_up ctrl',
    ]);
  });

  it('clicks in the right place after the screen has changed its size', async () => {
    await bridge.call('click', { coordinate: [500, 500] });
    Object.assign(screen, { width: 1920, height: 1080 });
    await bridge.call('click', { coordinate: [500, 500] });
    expect(acts().map(({ params }) => params)).toEqual([
      { x: 640, y: 400 },
      { x: 960, y: 540 },
    ]);
  });
});

describe('save_path of a screenshot', () => {
  it('is written there', async () => {
    const file = path.join(folder, 'shot with spaces é.png');
    const answer = await bridge.call('screenshot', { save_path: file });
    expect(answer).toMatchObject({ isError: false, image: png(), text: expect.stringContaining(file) as string });
    expect(readFileSync(file).toString('base64')).toBe(png());
  });

  it.each(['shot.png', './shot.png', '~/shot.png', '/', '', 'C:\\shot.png'])('may not be %j', async (given) => {
    const answer = await bridge.call('screenshot', { save_path: given });
    expect(answer).toMatchObject({ isError: true, image: null, text: expect.stringContaining('absolute') as string });
    expect(acts()).toEqual([]);
  });

  it('needs a folder that is there, and says which', async () => {
    const answer = await bridge.call('screenshot', { save_path: path.join(folder, 'no/such/shot.png') });
    expect(answer).toMatchObject({
      isError: true,
      text: expect.stringContaining(path.join(folder, 'no/such')) as string,
    });
    expect(existsSync(path.join(folder, 'no'))).toBe(false);
  });
});

describe('bad input', () => {
  it.each([
    ['click', { coordinate: [1001, 5] }, /1001.*0 to 1000.*1280x800/],
    ['click', { coordinate: [5, -1] }, /-1.*0 to 1000/],
    ['click', { coordinate: [5] }, /coordinate/],
    ['click', { clicks: 4 }, /clicks/],
    ['click', { coordinates: [5, 5] }, /"coordinates".*coordinate, button, clicks/],
    ['mouse_move', {}, /coordinate/],
    ['scroll', { direction: 'sideways', amount: 1 }, /direction.*up/],
    ['scroll', { direction: 'up', amount: -1 }, /-1/],
    ['key', { keys: ['hyper'] }, /hyper.*page_up/],
    ['wait', { duration: -1 }, /-1.*0 to 3600/],
    ['hold_key', { keys: ['shift'], duration: 1e9 }, /0 to 3600/],
  ])('%s %j is answered with what is allowed', async (tool, given, message) => {
    const answer = await bridge.call(tool, given);
    expect(answer).toMatchObject({ isError: true, text: expect.stringMatching(message) as string });
    expect(acts()).toEqual([]);
  });
});

describe('on Windows', () => {
  let windows: FakeCuaServer;
  let other: Bridge;
  beforeAll(async () => {
    windows = await startServer('windows');
    other = await startBridge('cua-desktop', { CUA_SERVER_URL: windows.url });
  });
  afterAll(async () => {
    await other.close();
    await windows.close();
  });
  afterEach(() => {
    seen = server.requests.length;
  });

  it('measures the screenshot, since the server may be wrong about its screen', async () => {
    windows.answer('get_screen_size', { kind: 'frame', fields: { success: true, size: { width: 1024, height: 768 } } });
    await other.call('click', { coordinate: [500, 500] });
    expect(windows.requests.at(-1)).toEqual({ command: 'left_click', params: { x: 640, y: 400 } });
  });

  it('has drive letters in its paths', async () => {
    expect(await other.call('screenshot', { save_path: '/tmp/a.png' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('C:\\') as string,
    });
    await other.call('screenshot', { save_path: 'C:\\Users\\shots\\a.png' });
    expect(windows.requests.at(-1)).toEqual({ command: 'directory_exists', params: { path: 'C:\\Users\\shots' } });
  });
});
