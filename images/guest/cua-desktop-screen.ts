import { toNormalized, toPixels, type CoordinateSpace, type Point, type ScreenSize } from '#core/cua/coordinates';
import type { GuiPoint } from '#core/cua/gui-event';
import type { CuaClient } from '#adapters/cua-client';

/** What a call did, for the log: filled in while the call runs. */
export interface ActionTrace {
  readonly pixels: GuiPoint[];
  screen?: ScreenSize;
}

/** Translates between the agent's coordinates and pixels of the screen as it is now: nothing is remembered. */
export interface Screen {
  size(trace: ActionTrace): Promise<ScreenSize>;
  /** @throws RangeError for a coordinate outside the screen. */
  toPixels(coordinates: readonly (readonly number[])[], trace: ActionTrace): Promise<Point[]>;
  /** A point of the screen in whole coordinates of the agent's. */
  fromPixels(point: Point, trace: ActionTrace): Promise<readonly [number, number]>;
}

export function createScreen(client: CuaClient, space: CoordinateSpace): Screen {
  const size = async (trace: ActionTrace): Promise<ScreenSize> => {
    trace.screen = await askSize(client);
    return trace.screen;
  };
  return {
    size,
    toPixels: async (coordinates, trace) => {
      if (coordinates.length === 0) return [];
      const now = await size(trace);
      for (const [x = Number.NaN, y = Number.NaN] of coordinates) trace.pixels.push(pixelOf({ x, y }, space, now));
      return trace.pixels;
    },
    fromPixels: async (point, trace) => {
      const now = await size(trace);
      trace.pixels.push(point);
      const shown = space === 'pixel' ? point : toNormalized(point, now);
      return [Math.round(shown.x), Math.round(shown.y)];
    },
  };
}

function pixelOf(point: Point, space: CoordinateSpace, size: ScreenSize): Point {
  try {
    return toPixels(point, space, size);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const screen = `the screen is ${size.width}x${size.height} pixels`;
    throw new RangeError(`[${point.x}, ${point.y}] is not on the screen: ${error.message}; ${screen}`);
  }
}

/**
 * The screen's size now. On Windows the server's own figure may differ from what it captures, so there a screenshot is
 * measured; elsewhere the server measures a capture itself, which costs less than sending one.
 */
async function askSize(client: CuaClient): Promise<ScreenSize> {
  if ((await client.osType()) === 'windows') {
    const { width, height } = await client.screenshot();
    return { width, height };
  }
  const fields = await client.call('get_screen_size');
  const nested = fields['size'];
  const { width, height } = (typeof nested === 'object' && nested !== null ? nested : fields) as Partial<ScreenSize>;
  if (isLength(width) && isLength(height)) return { width, height };
  throw new TypeError(`the cua-server at ${client.url} gave no screen size: ${JSON.stringify(fields).slice(0, 200)}`);
}

const isLength = (value: unknown): value is number => Number.isInteger(value) && Number(value) > 0;
