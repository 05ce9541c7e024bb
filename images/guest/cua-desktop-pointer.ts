import * as z from 'zod';
import type { CoordinateSpace } from '#core/cua/coordinates';
import type { DesktopParts, DesktopTool } from './cua-desktop-calls.ts';
import { defineTool, textResult } from './mcp-tools.ts';

const MEANINGS: Readonly<Record<CoordinateSpace, string>> = {
  normalized:
    '[x, y], each from 0 to 1000: [0, 0] is the upper left corner of the screen, [1000, 1000] the lower right.',
  pixel: '[x, y] in pixels of the screenshot, counted from its upper left corner.',
};

const BUTTONS = ['left', 'right', 'middle'] as const;

function button(description: string) {
  return z.enum(BUTTONS).default('left').describe(description);
}

/** Tools that move the pointer and press its buttons. */
export function pointerTools(parts: DesktopParts): DesktopTool[] {
  const point = (description = ''): z.ZodArray<z.ZodNumber> =>
    z.array(z.number()).length(2).describe(`${description}${MEANINGS[parts.settings.coordinateSpace]}`);
  return [
    moveTool(parts, point),
    clickTool(parts, point),
    dragTool(parts, point),
    ...buttonTools(parts),
    scrollTool(parts, point),
  ];
}

type DescribePoint = (description?: string) => z.ZodArray<z.ZodNumber>;

const at = (coordinate: readonly number[] | undefined): string =>
  coordinate === undefined ? '' : ` at ${shown(coordinate)}`;

const shown = (coordinate: readonly number[]): string => `[${coordinate.join(', ')}]`;

function moveTool({ desktop, screen }: DesktopParts, point: DescribePoint): DesktopTool {
  return defineTool({
    name: 'mouse_move',
    description: 'Desktop: move the pointer.',
    parameters: { coordinate: point('Where to: ') },
    run: async ({ coordinate }, { trace }) => {
      for (const target of await screen.toPixels([coordinate], trace)) await desktop.move(target);
      return textResult(`Moved the pointer to ${shown(coordinate)}.`);
    },
  });
}

function clickTool({ desktop, screen }: DesktopParts, point: DescribePoint): DesktopTool {
  return defineTool({
    name: 'click',
    description: 'Desktop: click, double-click or triple-click.',
    parameters: {
      coordinate: point('Where; left out, the pointer clicks where it is. ').optional(),
      button: button('Which mouse button.'),
      clicks: z.literal([1, 2, 3]).default(1).describe('1 for a click, 2 for a double-click, 3 for a triple-click.'),
    },
    run: async (given, { trace }) => {
      const [target] = await screen.toPixels(given.coordinate === undefined ? [] : [given.coordinate], trace);
      await desktop.click({
        ...(target === undefined ? {} : { point: target }),
        button: given.button,
        clicks: given.clicks,
      });
      return textResult(`Clicked ${given.button}, ${given.clicks}x${at(given.coordinate)}.`);
    },
  });
}

function dragTool({ desktop, screen }: DesktopParts, point: DescribePoint): DesktopTool {
  return defineTool({
    name: 'drag',
    description: 'Desktop: press a mouse button, move the pointer, let the button go.',
    parameters: {
      coordinate: point('Where the drag ends: '),
      start_coordinate: point('Where the drag begins; left out, where the pointer is. ').optional(),
      button: button('The mouse button held on the way.'),
    },
    run: async (given, { trace }) => {
      const { coordinate, start_coordinate: start } = given;
      const points = await screen.toPixels(start === undefined ? [coordinate] : [start, coordinate], trace);
      const [first, to = first] = points;
      if (first === undefined || to === undefined) throw new TypeError('a drag needs a point');
      await desktop.drag({ ...(start === undefined ? {} : { from: first }), to, button: given.button });
      const from = start === undefined ? 'where the pointer was' : shown(start);
      return textResult(`Dragged ${given.button} from ${from} to ${shown(coordinate)}.`);
    },
  });
}

function buttonTools({ desktop }: DesktopParts): DesktopTool[] {
  return [
    defineTool({
      name: 'mouse_down',
      description: 'Desktop: press a mouse button where the pointer is and keep it down until mouse_up.',
      parameters: { button: button('Which mouse button.') },
      run: async (given) => {
        await desktop.mouseDown(given.button);
        return textResult(`Holding the ${given.button} mouse button down.`);
      },
    }),
    defineTool({
      name: 'mouse_up',
      description: 'Desktop: let go of a mouse button where the pointer is.',
      parameters: { button: button('Which mouse button.') },
      run: async (given) => {
        await desktop.mouseUp(given.button);
        return textResult(`Let go of the ${given.button} mouse button.`);
      },
    }),
  ];
}

function scrollTool({ desktop, screen }: DesktopParts, point: DescribePoint): DesktopTool {
  return defineTool({
    name: 'scroll',
    description: 'Desktop: turn the mouse wheel.',
    parameters: {
      direction: z.enum(['up', 'down', 'left', 'right']).describe('Which way the content is to go past.'),
      amount: z.number().describe('How far, in notches of the wheel.'),
      coordinate: point('Where; the pointer is moved there first. ').optional(),
    },
    run: async ({ direction, amount, coordinate }, { trace }) => {
      const [target] = await screen.toPixels(coordinate === undefined ? [] : [coordinate], trace);
      await desktop.scroll({ direction, amount, ...(target === undefined ? {} : { point: target }) });
      return textResult(`Scrolled ${direction} by ${amount}${at(coordinate)}.`);
    },
  });
}
