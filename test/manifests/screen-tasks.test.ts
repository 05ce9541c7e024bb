import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodePng, type Session } from '#sdk';
import { localSession } from '#test/builders/local-session';
import { REPOSITORY, scoreOf, TASKS, TEST_SECRET } from '#test/builders/task-folder';
import { openPage } from '../../tasks/demo/_shared/browser.ts';
import { keyedBytes } from '../../tasks/demo/_shared/keyed-bytes.ts';
import { Canvas } from '../../tasks/demo/_shared/canvas.ts';
import { ALPHABET, codeOf } from '../../tasks/demo/hello/codes.ts';
import { FONT } from '../../tasks/demo/hello/font.ts';
import { ORDERS } from '../../tasks/demo/hello/layouts.ts';
import * as hello from '../../tasks/demo/hello/task.ts';
import { answerOf, QUESTIONS, sceneOf } from '../../tasks/demo/seecheck/scenes.ts';

const OTHER_SECRET = 'f'.repeat(64);

describe('what an attempt’s secret decides', () => {
  it('is another code for another secret and for another order', async () => {
    const codes = await Promise.all(
      [TEST_SECRET, OTHER_SECRET].flatMap((secret) => ORDERS.map(({ orderNumber }) => codeOf(secret, orderNumber))),
    );
    expect(new Set(codes).size).toBe(6);
    for (const character of codes.join('')) expect(Object.keys(FONT)).toContain(character);
    expect([...Array.from(ALPHABET), '-'].sort()).toEqual(Object.keys(FONT).sort());
  });

  it.each(QUESTIONS)('is another picture with another answer to %s', async (question) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const scene = await sceneOf(String(at).padStart(64, '0'), question);
        expect(scene).toHaveLength(24);
        expect(scene.filter((cell) => cell === 'mark')).toHaveLength(question === 'around' ? 1 : 0);
        return JSON.stringify(answerOf(scene, question));
      }),
    );
    expect(new Set(answers).size).toBe(20);
    if (question === 'around') expect(answers.join()).not.toContain('nothing');
  });

  it.each([undefined, '', 'abc'])('is nothing without one: %s', async (secret) => {
    await expect(keyedBytes(secret as string, 'x')).rejects.toThrow(/has no secret/u);
  });

  it('stands in no file: no code of the secret that tests use lies in a task or a recording', async () => {
    const codes = await Promise.all(ORDERS.map(({ orderNumber }) => codeOf(TEST_SECRET, orderNumber)));
    const files = [path.join(TASKS, 'demo'), path.join(REPOSITORY, 'agents')].flatMap((folder) =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name)),
    );
    expect(files.length).toBeGreaterThan(30);
    for (const file of files) {
      const text = readFileSync(file, 'latin1');
      expect(
        codes.filter((code) => text.includes(code)),
        file,
      ).toEqual([]);
    }
  });
});

describe('the code of an order', () => {
  const grade = async (text: string | null, secret = TEST_SECRET): Promise<number> => {
    const { orderNumber, variant } = ORDERS[0] ?? expect.fail('no orders');
    const reader = (files: Readonly<Record<string, string>>) => ({
      exists: async (name: string) => Object.hasOwn(files, name),
      sizeBytes: async (name: string) => files[name]?.length ?? 0,
      readText: async (name: string) => files[name] ?? expect.fail(`no ${name}`),
      readBytes: async (name: string) => Buffer.from(files[name] ?? ''),
      list: async () => Object.keys(files),
    });
    const evaluation = await hello.evaluate({
      variant: { name: variant, prompt: '' },
      variantIndex: 0,
      paths: { root: '', input: '', software: '', output: '' },
      output: reader(text === null ? {} : { 'code.txt': text }),
      reference: reader({ 'confirmed.json': JSON.stringify({ orderNumber }) }),
      input: reader({}),
      secret,
      session: null,
    });
    return scoreOf(evaluation);
  };

  it('is right alone, exactly as shown, of this order and of this attempt', async () => {
    const code = await codeOf(TEST_SECRET, ORDERS[0]?.orderNumber ?? '');
    expect(await grade(` ${code}\r\n`)).toBe(1);
    const wrong = [null, '', code.toLowerCase(), code.replace('-', ''), `${code}.`, `${code} ${code}`];
    for (const text of wrong) expect(await grade(text), String(text)).toBe(0);
    expect(await grade(code, OTHER_SECRET)).toBe(0);
    expect(await grade(await codeOf(TEST_SECRET, ORDERS[1]?.orderNumber ?? ''))).toBe(0);
  });
});

interface Scene {
  readonly browser?: string;
  /** What the log of the browser says, look by look. */
  readonly log?: string;
  readonly screens?: readonly Canvas[];
}

const BAR = '#1f4e79';
const plain = new Canvas(320, 240, '#000000');
const shown = new Canvas(320, 240, '#ffffff');
shown.paint({ x: 0, y: 0, width: 320, height: 44 }, BAR, () => true);

/** A session whose screen is painted; tells what was launched. */
function paintedSession({ browser = '/usr/bin/chromium', log = '', screens = [plain] }: Scene) {
  const launched: (readonly string[])[] = [];
  let looks = 0;
  const session: Session = {
    ...localSession(),
    runCommand: async (command) => {
      const stdout = command.includes('command -v') ? browser : command.includes('mktemp') ? '/data/test\n' : log;
      return { success: stdout !== '', stdout, stderr: '', returnCode: stdout === '' ? 1 : 0 };
    },
    launch: async (app, args = []) => {
      launched.push([app, ...args]);
      return { pid: 7 };
    },
    screenshot: async () => {
      const screen = screens[Math.min(looks, screens.length - 1)] ?? plain;
      looks += 1;
      return await encodePng(screen);
    },
  };
  return { session, launched, looks: () => looks };
}

describe('a page on the screen', () => {
  const page = { port: 4711, name: 'test-page', bar: BAR };
  const patience = { polls: 3, pollMilliseconds: 1 };

  it('is there once its bar is seen, and not before', async () => {
    const { session, launched, looks } = paintedSession({ screens: [plain, plain, shown] });
    await openPage(session, page, patience);
    expect(looks()).toBe(3);
    const [command = []] = launched;
    expect(launched).toHaveLength(1);
    expect(command).toEqual(expect.arrayContaining(['/usr/bin/chromium', '--no-sandbox', 'http://127.0.0.1:4711/']));
    expect(command).toContain('--user-data-dir=/data/test/profile');
  });

  it.each<[string, Scene, RegExp]>([
    ['there is no browser', { browser: '' }, /no browser \(looked for chromium, .*install the package chromium/u],
    [
      'the browser ends',
      { log: 'cannot open display\nexamhall: the browser ended with 1' },
      /ended before it showed .*cannot open display/su,
    ],
    [
      'nothing appears',
      { log: 'waiting' },
      /did not show http:\/\/127\.0\.0\.1:4711\/ within 0 s; the screen of 320x240 shows one colour only; its log ends: waiting/u,
    ],
    ['something else is there', { screens: [new Canvas(320, 240, '#123456'), shownAside()] }, /shows something else/u],
  ])('is refused with the reason when %s', async (_, scene, message) => {
    await expect(openPage(paintedSession(scene).session, page, patience)).rejects.toThrow(message);
  });
});

/** The right colour in the wrong place. */
function shownAside(): Canvas {
  const canvas = new Canvas(320, 240, '#ffffff');
  canvas.paint({ x: 0, y: 0, width: 40, height: 240 }, BAR, () => true);
  return canvas;
}
