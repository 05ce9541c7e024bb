import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPngSize } from '#core/cua/png-size';
import { tier } from '#test/runner/tier';
import { openRealServer, type RealServer } from '#test/unit/adapters/real-desktop';
import { startBridge, type Bridge } from './bridge-kit.ts';

tier('desktop')('the bridges and the real server', () => {
  let real: RealServer;
  let folder: string;
  let desktop: Bridge;
  let primitives: Bridge;
  beforeAll(async () => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-bridge-real-'));
    real = await openRealServer();
    const env = { CUA_SERVER_URL: real.url, EXAMHALL_GUI_EVENTS: path.join(folder, 'events.jsonl') };
    desktop = await startBridge('cua-desktop', env);
    primitives = await startBridge('vm-primitives', env);
  }, 120_000);
  afterAll(async () => {
    await desktop.close();
    await primitives.close();
    await real.close();
    rmSync(folder, { recursive: true, force: true });
  }, 60_000);

  const ok = async (bridge: Bridge, tool: string, given: Record<string, unknown> = {}) => {
    const answer = await bridge.call(tool, given);
    expect(answer.isError, answer.text).toBe(false);
    return answer;
  };

  it('sees the screen in the size that it says', async () => {
    const { image } = await ok(desktop, 'screenshot');
    const { structured } = await ok(desktop, 'get_screen_size');
    expect(readPngSize(Buffer.from(image ?? '', 'base64'))).toEqual(structured);
  });

  it.each([
    [0, 0],
    [250, 750],
    [1000, 1000],
  ])('finds the pointer at [%i, %i] after putting it there', async (x, y) => {
    await ok(desktop, 'mouse_move', { coordinate: [x, y] });
    const [, seenX, seenY] = /\[(\d+), (\d+)\]/.exec((await ok(desktop, 'cursor_position')).text) ?? [];
    expect(Math.abs(Number(seenX) - x)).toBeLessThanOrEqual(1);
    expect(Math.abs(Number(seenY) - y)).toBeLessThanOrEqual(1);
  });

  it('follows the screen when its resolution changes', async () => {
    const script = [
      'xrandr --newmode small 31.5 800 832 896 1048 600 601 604 631',
      'xrandr --addmode screen small',
      'xrandr --output screen --mode small',
    ].join(' && ');
    await ok(desktop, 'mouse_move', { coordinate: [500, 500] });
    expect((await ok(primitives, 'run_command', { command: script })).structured).toMatchObject({ exit_code: 0 });
    try {
      const { image } = await ok(desktop, 'screenshot');
      expect(readPngSize(Buffer.from(image ?? '', 'base64'))).toEqual({ width: 800, height: 600 });
      await ok(desktop, 'click', { coordinate: [250, 750] });
      expect(await real.desktop.cursorPosition()).toEqual({ x: 200, y: 450 });
    } finally {
      await ok(primitives, 'run_command', { command: 'xrandr --output screen --mode 1280x800' });
    }
    expect((await ok(desktop, 'get_screen_size')).structured).toEqual({ width: 1280, height: 800 });
  });

  it('carries out every other action', async () => {
    const point = [500, 500];
    const actions: readonly (readonly [string, Record<string, unknown>])[] = [
      ['click', { coordinate: point }],
      ['click', { coordinate: point, button: 'middle', clicks: 3 }],
      ['click', { clicks: 2 }],
      ['drag', { start_coordinate: [400, 400], coordinate: point }],
      ['scroll', { direction: 'left', amount: 2, coordinate: point }],
      ['key', { keys: ['ctrl', 'a'] }],
      ['hold_key', { keys: ['shift'], duration: 0.05 }],
      ['type', { text: 'é€ plain' }],
      ['key', { keys: ['Escape'] }],
    ];
    for (const [tool, given] of actions) await ok(desktop, tool, given);
    const lines = readFileSync(path.join(folder, 'events.jsonl'), 'utf8').trim().split('\n');
    expect(lines.slice(-actions.length).map((line) => (JSON.parse(line) as { tool: string }).tool)).toEqual(
      actions.map(([tool]) => tool),
    );
  });

  describe('a terminal', () => {
    const readUntil = async (pid: number, wanted: string): Promise<string> => {
      let all = '';
      for (let turn = 0; turn < 40 && !all.includes(wanted); turn += 1) {
        const { text } = await ok(primitives, 'pty_read', { pid, timeout_ms: 500 });
        // A terminal ends its lines with both; a newline alone was put before the state.
        all += text.replace(/(?<!\r)\n(?=\[running\]$)/u, '').replace(/\[running\]$/u, '');
        if (text.includes('[exited')) break;
      }
      return all;
    };
    const start = async (given: Record<string, unknown>): Promise<number> => {
      const { text } = await ok(primitives, 'pty_start', given);
      return Number(/^pid: (\d+)/.exec(text)?.[1]);
    };

    it('loses nothing of what is written at once, and its exit is seen', async () => {
      const pid = await start({ command: "echo first; printf 'é☃\\n'; exit 7" });
      expect(await readUntil(pid, '[exited')).toBe('first\r\né☃\r\n[exited, code 7]');
    });

    it('can be interrupted, resized and killed', async () => {
      const pid = await start({ command: "trap 'stty size; exit 9' INT; echo ready; while :; do sleep 0.05; done" });
      expect(await readUntil(pid, 'ready')).toContain('ready');
      await ok(primitives, 'pty_resize', { pid, cols: 101, rows: 33 });
      await ok(primitives, 'pty_input', { pid, data: '\u0003' });
      expect(await readUntil(pid, '[exited')).toMatch(/33 101[^]*\[exited, code 9\]/);
      const other = await start({ command: 'sleep 600' });
      await ok(primitives, 'pty_kill', { pid: other });
      const gone = await ok(primitives, 'run_command', {
        command: `for i in 1 2 3 4 5 6 7 8 9; do kill -0 ${other} 2>/dev/null || exit 0; sleep 0.1; done; exit 1`,
      });
      expect(gone.structured).toMatchObject({ exit_code: 0 });
    });
  });

  it('keeps the clipboard', async () => {
    await ok(primitives, 'write_clipboard', { text: 'ünï ☃' });
    expect((await ok(primitives, 'read_clipboard')).text).toBe('ünï ☃');
  });
});
