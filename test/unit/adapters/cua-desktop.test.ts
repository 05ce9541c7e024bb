import { afterEach, describe, expect, it } from 'vitest';
import { createCuaClient } from '#adapters/cua-client';
import { createCuaDesktop, type CuaDesktop } from '#adapters/cua-desktop';
import { startFakeCuaServer, type CuaRequest, type FakeCuaServer } from '#test/fakes/cua-server';

const closers: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function open(osType = 'linux', xdotool = false): Promise<{ server: FakeCuaServer; desktop: CuaDesktop }> {
  const run_command = ({ command }: CuaRequest['params']): Record<string, unknown> => {
    const isLook = command === 'command -v xdotool';
    const isList = command === 'xmodmap -pke';
    return { stdout: isList ? 'keycode 93 =\nkeycode 97 =' : '', stderr: '', return_code: isLook && !xdotool ? 1 : 0 };
  };
  const server = await startFakeCuaServer({ osType, handlers: { run_command } });
  const client = createCuaClient({ url: server.url });
  closers.push(() => server.close(), client.close);
  return { server, desktop: createCuaDesktop(client) };
}

/** What arrived, without looks at what the server has. */
const done = (server: FakeCuaServer): unknown[][] =>
  server.requests
    .filter(({ params }) => !['command -v xdotool', 'xmodmap -pke'].includes(String(params['command'])))
    .map(({ command, params }) => [command, ...Object.values(params).filter((value) => value !== 20)]);

describe('the mouse', () => {
  it('clicks by the commands there are, and by presses where there are none', async () => {
    const { server, desktop } = await open();
    await desktop.click({ point: { x: 3, y: 4 } });
    await desktop.click({ button: 'right' });
    await desktop.click({ point: { x: 3, y: 4 }, clicks: 2 });
    await desktop.click({ point: { x: 3, y: 4 }, button: 'middle' });
    await desktop.click({ clicks: 3 });
    expect(done(server)).toEqual([
      ['left_click', 3, 4],
      ['right_click'],
      ['double_click', 3, 4],
      ['move_cursor', 3, 4],
      ['mouse_down', 'middle'],
      ['mouse_up', 'middle'],
      ['double_click'],
      ['left_click'],
    ]);
  });

  it('clicks several times in one call where xdotool is', async () => {
    const { server, desktop } = await open('linux', true);
    await desktop.click({ point: { x: 3, y: 4 }, clicks: 3 });
    await desktop.click({ button: 'right', clicks: 2 });
    expect(done(server)).toEqual([
      ['move_cursor', 3, 4],
      ['run_command', 'xdotool click --repeat 3 --delay 40 1'],
      ['run_command', 'xdotool click --repeat 2 --delay 40 3'],
    ]);
  });

  it('drags through several points from where it is told or where it is, and always lets go', async () => {
    const { server, desktop } = await open();
    await desktop.drag({ from: { x: 0, y: 0 }, to: { x: 120, y: 60 } });
    const all = done(server);
    expect(all.slice(0, 2)).toEqual([
      ['move_cursor', 0, 0],
      ['mouse_down', 'left'],
    ]);
    expect(all.slice(-2)).toEqual([
      ['move_cursor', 120, 60],
      ['mouse_up', 'left'],
    ]);
    expect(all.length).toBeGreaterThan(10);
    server.answer('move_cursor', { kind: 'frame', fields: {} });
    server.answer('move_cursor', { kind: 'frame', fields: { success: false, error: 'no display' } });
    await expect(desktop.drag({ to: { x: 1, y: 1 }, button: 'middle' })).rejects.toThrow('no display');
    expect(
      done(server)
        .slice(all.length)
        .map(([command]) => command),
    ).toEqual([...['get_cursor_position', 'move_cursor', 'mouse_down', 'move_cursor', 'mouse_up']]);
  });

  it('scrolls in four directions by clicks of the wheel', async () => {
    const { server, desktop } = await open();
    await desktop.scroll({ direction: 'up', amount: 3 });
    await desktop.scroll({ direction: 'down', amount: 2, point: { x: 5, y: 6 } });
    await desktop.scroll({ direction: 'left', amount: 1 });
    await desktop.scroll({ direction: 'right', amount: 1 });
    await desktop.scroll({ direction: 'right', amount: 0 });
    await expect(desktop.scroll({ direction: 'up', amount: -1 })).rejects.toThrow('amount is -1');
    expect(done(server)).toEqual([
      ['scroll', 0, 3],
      ['move_cursor', 5, 6],
      ['scroll', 0, -2],
      ['scroll', -1, 0],
      ['scroll', 1, 0],
    ]);
  });

  it('does one action at a time, and goes on after one that failed', async () => {
    const { server, desktop } = await open();
    server.answer('move_cursor', { kind: 'slow', milliseconds: 60 });
    server.answer('left_click', { kind: 'frame', fields: { success: false } });
    const work = [desktop.move({ x: 1, y: 1 }), desktop.click(), desktop.move({ x: 2, y: 2 })];
    const ends = await Promise.allSettled(work);
    expect(ends.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(done(server)).toEqual([['move_cursor', 1, 1], ['left_click'], ['move_cursor', 2, 2]]);
  });

  it('asks a desktop again that says it is locked, since nothing was done', async () => {
    const { server, desktop } = await open('windows');
    const error = 'Windows desktop is locked. Automation input is blocked by OS security.';
    server.answer('left_click', { kind: 'frame', fields: { success: false, error } }, 2);
    await desktop.click();
    expect(done(server)).toHaveLength(3);
  });

  it('takes the size of the screen from the picture', async () => {
    const { desktop } = await open();
    expect(await desktop.screenSize()).toEqual({ width: 64, height: 48 });
    expect(await desktop.cursorPosition()).toEqual({ x: 10, y: 20 });
  });
});

describe('the keyboard', () => {
  it('knows keys by the names of the system', async () => {
    const { server, desktop } = await open('windows');
    await desktop.pressKeys('PageDown');
    await desktop.pressKeys('ctrl+S');
    await desktop.keyDown(['shift', 'alt']);
    await desktop.keyUp(['shift', 'alt']);
    await desktop.holdKeys('a', 0.01);
    await expect(desktop.pressKeys('insert')).rejects.toThrow('there is no key "insert" on windows; allowed: single');
    expect(done(server)).toEqual([
      ['press_key', 'pagedown'],
      ['hotkey', ['ctrl', 's']],
      ['key_down', 'shift'],
      ['key_down', 'alt'],
      ['key_up', 'alt'],
      ['key_up', 'shift'],
      ['key_down', 'a'],
      ['key_up', 'a'],
    ]);
  });

  it('leaves no key held when a combination failed half-way', async () => {
    const { server, desktop } = await open('windows');
    server.answer('hotkey', { kind: 'frame', fields: { success: false, error: 'Unknown key in hotkey' } });
    await expect(desktop.pressKeys('ctrl+alt+delete')).rejects.toThrow('Unknown key');
    expect(done(server).slice(1)).toEqual([
      ['key_up', 'delete'],
      ['key_up', 'alt'],
      ['key_up', 'ctrl'],
    ]);
  });

  it('on Linux presses characters by xdotool where it is, named keys by the server', async () => {
    const { server, desktop } = await open('linux', true);
    await desktop.pressKeys('enter');
    await desktop.pressKeys('ctrl+alt+delete');
    await desktop.pressKeys('ctrl+C');
    await desktop.keyDown(['shift', '€']);
    expect(done(server)).toEqual([
      ['press_key', 'enter'],
      ['hotkey', ['ctrl', 'alt', 'delete']],
      ['run_command', 'xdotool key -- Control_L+c'],
      ['run_command', 'xdotool keydown -- Shift_L U20AC'],
    ]);
    expect(server.requests.filter(({ params }) => params['command'] === 'command -v xdotool')).toHaveLength(1);
  });
});

describe('typing', () => {
  it('goes by xdotool on Linux, with a key lent to each character that has none', async () => {
    const { server, desktop } = await open('linux', true);
    await desktop.type("it's 你好\n");
    await desktop.type('你');
    await desktop.type('');
    const typed = (text: string): unknown => expect.stringMatching(new RegExp(`${text}' \\| xdotool type`)) as unknown;
    expect(done(server)).toEqual([
      [
        'run_command',
        expect.any(Number),
        expect.stringMatching(/^xmodmap -e 'keycode 93 = U4F60 .*s 你' \| xdotool type/),
      ],
      [
        'run_command',
        expect.any(Number),
        expect.stringMatching(/^xmodmap -e 'keycode 97 = U597D .*'好\n' \| xdotool type/),
      ],
      ['run_command', expect.any(Number), typed('^printf %s .你')],
    ]);
  });

  it('without xdotool pastes what the server would corrupt, and puts the clipboard back', async () => {
    const { server, desktop } = await open('linux');
    await desktop.type('plain\n');
    await desktop.type('ñ');
    expect(done(server)).toEqual([
      ['type_text', 'plain\n'],
      ['copy_to_clipboard'],
      ['set_clipboard', 'ñ'],
      ['hotkey', ['ctrl', 'v']],
      ['set_clipboard', 'what was there'],
    ]);
  });

  it('an empty or unreadable clipboard does not stop pasting', async () => {
    const { server, desktop } = await open('windows');
    server.answer('copy_to_clipboard', { kind: 'frame', fields: { success: false, error: 'empty' } });
    await desktop.type('x', 'clipboard');
    expect(done(server).slice(1)).toEqual([
      ['set_clipboard', 'x'],
      ['hotkey', ['ctrl', 'v']],
    ]);
  });

  it('is the server’s own elsewhere, and where it is asked for', async () => {
    const { server, desktop } = await open('windows');
    await desktop.type('ñ');
    const linux = await open('linux', true);
    await linux.desktop.type('ñ', 'server');
    expect([done(server), done(linux.server)]).toEqual([[['type_text', 'ñ']], [['type_text', 'ñ']]]);
  });
});
