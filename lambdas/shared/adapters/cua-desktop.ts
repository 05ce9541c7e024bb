import { setTimeout as sleep } from 'node:timers/promises';
import type { Point, ScreenSize } from '#core/cua/coordinates';
import { xdotoolClicks } from '#core/cua/x-typing';
import { CuaCommandError } from './cua-client-errors.ts';
import type { CuaClient, CuaScreenshot } from './cua-client.ts';
import { createKeyboard, type TypingMode } from './cua-desktop-keyboard.ts';
import { createXdotool, type Xdotool } from './cua-desktop-xdotool.ts';

export type MouseButton = 'left' | 'right' | 'middle';
export type ScrollDirection = 'up' | 'down' | 'left' | 'right';

/** GUI actions in pixels, one at a time in the order they are asked for. Keys go by any usual name. */
export interface CuaDesktop {
  move(point: Point): Promise<void>;
  /** At the cursor when no point is given; `clicks` 2 and 3 are a double and a triple click. */
  click(options?: {
    readonly point?: Point;
    readonly button?: MouseButton;
    readonly clicks?: 1 | 2 | 3;
  }): Promise<void>;
  /** Presses at `from` (or the cursor), moves in several steps, releases at `to`. */
  drag(options: { readonly from?: Point; readonly to: Point; readonly button?: MouseButton }): Promise<void>;
  mouseDown(button?: MouseButton, point?: Point): Promise<void>;
  mouseUp(button?: MouseButton, point?: Point): Promise<void>;
  /** `amount` is in clicks of the wheel. */
  scroll(options: {
    readonly direction: ScrollDirection;
    readonly amount: number;
    readonly point?: Point;
  }): Promise<void>;
  /** One key, or several together: a list, or a text such as `ctrl+shift+t`. */
  pressKeys(keys: string | readonly string[]): Promise<void>;
  keyDown(keys: string | readonly string[]): Promise<void>;
  keyUp(keys: string | readonly string[]): Promise<void>;
  holdKeys(keys: string | readonly string[], seconds: number): Promise<void>;
  /** Types any text, also where the server's own typing loses characters. */
  type(text: string, mode?: TypingMode): Promise<void>;
  cursorPosition(): Promise<Point>;
  /** The size of a screenshot taken now: what coordinates count in. */
  screenSize(): Promise<ScreenSize>;
  screenshot(): Promise<CuaScreenshot>;
}

const DRAG_STEPS = 12;
const DRAG_STEP_MS = 15;
const LOCKED_TRIES = 4;
const LOCKED_DELAY_MS = 400;

export function createCuaDesktop(client: CuaClient): CuaDesktop {
  let last: Promise<unknown> = Promise.resolve();
  /** Waits for the action before; a failed one does not fail the next. */
  const inTurn = <T>(action: () => Promise<T>): Promise<T> => {
    const mine = last.then(action, action);
    last = mine.catch(() => undefined);
    return mine;
  };
  const call: Act = (command, params = {}) => whileLocked(() => client.call(command, params));
  const cursor = async (): Promise<Point> => {
    const position = (await client.call('get_cursor_position'))['position'] as Partial<Point> | undefined;
    if (typeof position?.x === 'number' && typeof position.y === 'number') return { x: position.x, y: position.y };
    throw new TypeError(`the cua-server at ${client.url} gave no cursor position: ${JSON.stringify(position)}`);
  };
  const xdotool = createXdotool(client);
  const keyboard = createKeyboard(client, call, xdotool);

  return {
    move: (point) => inTurn(() => call('move_cursor', { ...point })),
    click: (options = {}) => inTurn(() => click(call, xdotool, options)),
    drag: (options) => inTurn(() => drag(call, cursor, options)),
    mouseDown: (button = 'left', point) => inTurn(() => call('mouse_down', { ...point, button })),
    mouseUp: (button = 'left', point) => inTurn(() => call('mouse_up', { ...point, button })),
    scroll: (options) => inTurn(() => scroll(call, options)),
    pressKeys: (keys) => inTurn(() => keyboard.press(keys)),
    keyDown: (keys) => inTurn(() => keyboard.down(keys)),
    keyUp: (keys) => inTurn(() => keyboard.up(keys)),
    holdKeys: (keys, seconds) =>
      inTurn(async () => {
        try {
          await keyboard.down(keys);
          await sleep(seconds * 1_000);
        } finally {
          await keyboard.up(keys);
        }
      }),
    type: (text, mode = 'auto') => inTurn(() => keyboard.type(text, mode)),
    cursorPosition: () => inTurn(cursor),
    screenSize: () =>
      inTurn(async () => {
        const { width, height } = await client.screenshot();
        return { width, height };
      }),
    screenshot: () => inTurn(() => client.screenshot()),
  };
}

/** Windows says it is locked in any moment without a foreground window; nothing was done then, so it is asked again. */
async function whileLocked(action: () => Promise<unknown>): Promise<void> {
  for (let tryNumber = 1; ; tryNumber += 1) {
    try {
      await action();
      return;
    } catch (error) {
      const isLocked = error instanceof CuaCommandError && /desktop is locked/i.test(error.reason);
      if (!isLocked || tryNumber === LOCKED_TRIES) throw error;
      await sleep(LOCKED_DELAY_MS);
    }
  }
}

type Act = (command: string, params?: Readonly<Record<string, unknown>>) => Promise<void>;

/** What the server has no command for is made in one call by xdotool, else of several: programs then may see them as single ones. */
async function click(
  call: Act,
  xdotool: Xdotool,
  { point, button = 'left', clicks = 1 }: Parameters<CuaDesktop['click']>[0] & object,
): Promise<void> {
  if (clicks === 1 && button !== 'middle') return call(`${button}_click`, { ...point });
  if (clicks === 2 && button === 'left') return call('double_click', { ...point });
  if (point !== undefined) await call('move_cursor', { ...point });
  if (clicks > 1 && (await xdotool.isThere())) return xdotool.run(xdotoolClicks(button, clicks));
  if (clicks === 3 && button === 'left') {
    await call('double_click');
    return call('left_click');
  }
  for (let at = 0; at < clicks; at += 1) {
    await call('mouse_down', { button });
    await call('mouse_up', { button });
  }
}

/** The server's own drag jumps or lets go at every point; programs see a drag only when the pointer really moves. */
async function drag(
  call: Act,
  cursor: () => Promise<Point>,
  { from, to, button = 'left' }: Parameters<CuaDesktop['drag']>[0],
): Promise<void> {
  const start = from ?? (await cursor());
  await call('move_cursor', { ...start });
  await call('mouse_down', { button });
  try {
    for (let step = 1; step <= DRAG_STEPS; step += 1) {
      const along = (a: number, b: number): number => Math.round(a + ((b - a) * step) / DRAG_STEPS);
      await sleep(DRAG_STEP_MS);
      await call('move_cursor', { x: along(start.x, to.x), y: along(start.y, to.y) });
    }
  } finally {
    await call('mouse_up', { button });
  }
}

/** `scroll_direction` turns 300 clicks for one sideways, so all four directions go by `scroll`. */
async function scroll(call: Act, { direction, amount, point }: Parameters<CuaDesktop['scroll']>[0]): Promise<void> {
  if (!Number.isFinite(amount) || amount < 0) throw new RangeError(`amount is ${amount}; allowed: 0 or more`);
  if (point !== undefined) await call('move_cursor', { ...point });
  const clicks = Math.round(amount);
  const [x, y] = { up: [0, clicks], down: [0, -clicks], left: [-clicks, 0], right: [clicks, 0] }[direction] as [
    number,
    number,
  ];
  if (clicks > 0) await call('scroll', { x, y });
}
