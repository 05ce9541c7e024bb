import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isBlackPicture } from '#adapters/png-pixels';
import { tier } from '#test/runner/tier';
import { until } from '#test/unit/guest/guest-kit';
import { openPage, openRealServer, type Page, type PageEvent, type RealServer } from './real-desktop.ts';

tier('desktop')('the cua client and the real server', () => {
  let real: RealServer;
  let folder: string;
  beforeAll(async () => {
    real = await openRealServer();
    folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-real-'));
  }, 120_000);
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await real.close();
  }, 60_000);

  describe('commands', () => {
    it('tells what it is and what it can do', async () => {
      expect(await real.client.status()).toMatchObject({ osType: 'linux' });
      expect(await real.client.version()).toMatchObject({ protocol: 1 });
      const commands = await real.client.commands();
      for (const name of ['run_command', 'screenshot', 'shell', 'type']) expect([...(commands ?? [])]).toContain(name);
    });

    it('fails in its three shapes, each by name', async () => {
      const { client } = real;
      const limits = { timeoutSeconds: 1 };
      await expect(client.call('no_such_command')).rejects.toMatchObject({ name: 'CuaRequestError', statusCode: 400 });
      await expect(client.call('delete_file', { path: '/nowhere' })).rejects.toMatchObject({ name: 'CuaCommandError' });
      await expect(client.call('run_command', { command: 'sleep 9' }, limits)).rejects.toMatchObject({
        name: 'CuaCommandError',
        reason: expect.stringContaining('timed out') as string,
      });
      await expect(client.call('move_cursor', {})).rejects.toMatchObject({ name: 'CuaCommandError' });
    });

    it('runs commands of every kind, short and detached, without being held up', async () => {
      const { client } = real;
      const command = `printf 'é\\n'; printf '\\377' >&2; sleep 77 & exit 3`;
      for (const timeoutSeconds of [20, 61]) {
        expect(await client.exec(command, { timeoutSeconds })).toEqual({
          ...{ exitCode: 3, stdout: 'é\n', stderr: '\ufffd', timedOut: false },
        });
      }
      const late = await client.exec('echo part; sleep 77', { timeoutSeconds: 1 });
      expect(late).toEqual({ exitCode: null, stdout: 'part\n', stderr: '', timedOut: true });
      await client.exec('pkill -x sleep -f "sleep 77"; true', { timeoutSeconds: 20 });
    });

    it('moves files whole in both directions', async () => {
      const content = Buffer.alloc(3 * 1024 * 1024 + 5, 'exam');
      const file = path.join(folder, `it's ä "file"`);
      await real.client.upload(file, content);
      expect(readFileSync(file).equals(content)).toBe(true);
      expect(Buffer.from(await real.client.download(file, content.length)).equals(content)).toBe(true);
      expect(await real.client.listDir(folder)).toEqual([path.basename(file)]);
    });

    it('shows a screen that is not black, in the size of its picture', async () => {
      const { png, width, height } = await real.client.screenshot();
      expect([width, height, await isBlackPicture(png)]).toEqual([1280, 800, false]);
    });
  });

  describe('a page in a browser', () => {
    let page: Page;
    beforeAll(async () => {
      page = await openPage(real.client);
    }, 90_000);
    afterAll(() => page.close(), 30_000);

    /** What the page sees from now on, once it has seen something of the kind. */
    const seen = async (act: () => Promise<void>, last: (event: PageEvent) => boolean): Promise<PageEvent[]> => {
      const before = page.events.length;
      await act();
      await until(() => page.events.slice(before).some(last), 20);
      return page.events.slice(before);
    };
    /** Clicks several times until the page counts them as one: on a busy computer they may come too far apart. */
    const seenClicks = async (clicks: 2 | 3, point: { x: number; y: number }): Promise<void> => {
      const isWhole = ({ type, detail }: PageEvent): boolean => type === 'click' && detail === clicks;
      for (let round = 0; round < 5; round += 1) {
        const before = page.events.length;
        await real.desktop.click({ point, clicks });
        const came = (): PageEvent[] => page.events.slice(before).filter(({ type }) => type === 'click');
        await until(() => came().length >= clicks, 20);
        if (came().some(isWhole)) return;
      }
      throw new Error(`the page never counted ${clicks} clicks: ${JSON.stringify(page.events.slice(-20))}`);
    };
    const at = { x: 700, y: 500 };

    it('sees clicks of every button where they were made, double and triple ones too', async () => {
      const { desktop } = real;
      const left = await seen(
        () => desktop.click({ point: at }),
        (event) => event.type === 'click',
      );
      expect(left.find((event) => event.type === 'click')).toMatchObject({ ...at, button: 0, detail: 1 });
      for (const [button, code] of [
        ['right', 2],
        ['middle', 1],
      ] as const) {
        const events = await seen(
          () => desktop.click({ point: at, button }),
          (event) => event.type === 'mouseup',
        );
        expect(events.find((event) => event.type === 'mousedown')).toMatchObject({ ...at, button: code });
      }
      await seenClicks(2, { x: 800, y: 600 });
      await seenClicks(3, { x: 900, y: 600 });
    });

    it('sees a drag as a held button that moves in several steps', async () => {
      const drag = { from: { x: 500, y: 400 }, to: { x: 900, y: 700 } };
      const events = await seen(
        () => real.desktop.drag(drag),
        (event) => event.type === 'mouseup',
      );
      expect(events.find((event) => event.type === 'mousedown')).toMatchObject(drag.from);
      expect(events.filter((event) => event.type === 'mousemove' && event.isHeld).length).toBeGreaterThan(2);
      expect(events.find((event) => event.type === 'mouseup')).toMatchObject(drag.to);
      expect(await real.desktop.cursorPosition()).toEqual(drag.to);
    });

    it('sees the wheel turn in four directions', async () => {
      const turned = async (direction: 'up' | 'down' | 'left' | 'right'): Promise<[number, number]> => {
        const events = await seen(
          () => real.desktop.scroll({ direction, amount: 1, point: at }),
          (event) => event.type === 'wheel',
        );
        const wheel = events.find((event) => event.type === 'wheel');
        return [Math.sign(wheel?.deltaX ?? 0), Math.sign(wheel?.deltaY ?? 0)];
      };
      expect(await turned('down')).toEqual([0, 1]);
      expect(await turned('up')).toEqual([0, -1]);
      expect(await turned('right')).toEqual([1, 0]);
      expect(await turned('left')).toEqual([-1, 0]);
    });

    it('gets every character that is typed, by xdotool and by way of the clipboard', async () => {
      const { desktop, client } = real;
      const text = `Hello, World! ~ñ é à € 你好 Ω 'q' "dq" $HOME \`x\` \\ #@!%^&*()_+-=[]{};:<>?/|\nsecond line`;
      await desktop.click({ point: { x: 200, y: 150 } });
      await desktop.type(text);
      await until(() => page.text() === text, 20).catch(() => undefined);
      expect(page.text()).toBe(text);
      await client.call('set_clipboard', { text: 'what was there' });
      await desktop.pressKeys('ctrl+a');
      await desktop.type('ß → 😀', 'clipboard');
      await until(() => page.text() === 'ß → 😀', 20).catch(() => undefined);
      expect(page.text()).toBe('ß → 😀');
      expect(await client.call('copy_to_clipboard')).toMatchObject({ content: 'what was there' });
    });

    it('sees keys by their names, and combinations', async () => {
      const { desktop } = real;
      await desktop.click({ point: { x: 200, y: 150 } });
      for (const [name, key] of [
        ['pagedown', 'PageDown'],
        ['del', 'Delete'],
        ['ArrowLeft', 'ArrowLeft'],
      ]) {
        await seen(
          () => desktop.pressKeys(name ?? ''),
          (event) => event.type === 'keyup' && event.key === key,
        );
      }
      const events = await seen(
        () => desktop.pressKeys('ctrl+shift+K'),
        ({ type, key }) => type === 'keydown' && /^k$/i.test(key),
      );
      expect(events.filter(({ type }) => type === 'keydown').map(({ key }) => key.toLowerCase())).toEqual([
        ...['control', 'shift', 'k'],
      ]);
      const held = await seen(
        () => desktop.holdKeys('shift', 0.2),
        ({ type, key }) => type === 'keyup' && key === 'Shift',
      );
      expect(held.filter(({ type }) => type === 'keydown').length).toBeGreaterThan(0);
    });
  });
});
