import * as z from 'zod';
import { checkPause, pause, type DesktopParts, type DesktopTool } from './cua-desktop-calls.ts';
import { cut, defineTool, textResult } from './mcp-tools.ts';

const KEY_NAMES =
  'Key names: ctrl, shift, alt, cmd (also meta, super, win), enter, esc, tab, space, backspace, delete, insert, up, down, ' +
  'left, right, home, end, page_up, page_down, f1 to f12; a single character is its own name.';
const SHOWN_TEXT = 50;

const keys = z.array(z.string()).describe('Names of the keys, modifiers first, for example ["ctrl", "c"].');

/** Tools that press keys and type text. */
export function keyboardTools(parts: DesktopParts): DesktopTool[] {
  const { desktop } = parts;
  return [
    defineTool({
      name: 'key',
      description: `Desktop: press keys and let them go. Several keys are pressed together as one shortcut. ${KEY_NAMES}`,
      parameters: { keys },
      run: async (given) => {
        await desktop.pressKeys(given.keys);
        return textResult(`Pressed ${given.keys.join('+')}.`);
      },
    }),
    defineTool({
      name: 'key_down',
      description: `Desktop: press keys and keep them down until key_up. ${KEY_NAMES}`,
      parameters: { keys },
      run: async (given) => {
        await desktop.keyDown(given.keys);
        return textResult(`Holding ${given.keys.join('+')} down.`);
      },
    }),
    defineTool({
      name: 'key_up',
      description: `Desktop: let go of keys that key_down holds. ${KEY_NAMES}`,
      parameters: { keys },
      run: async (given) => {
        await desktop.keyUp(given.keys);
        return textResult(`Let go of ${given.keys.join('+')}.`);
      },
    }),
    typeTool(parts),
    holdKeyTool(parts),
  ];
}

const MODES = { auto: 'auto', keystroke: 'server', clipboard: 'clipboard' } as const;

function typeTool({ desktop, settings }: DesktopParts): DesktopTool {
  return defineTool({
    name: 'type',
    description: 'Desktop: type text into whatever has the keyboard focus. A line feed presses Enter.',
    parameters: { text: z.string().describe('The text to type.') },
    run: async ({ text }) => {
      await desktop.type(text, MODES[settings.textInputMode]);
      return textResult(`Typed ${JSON.stringify(cut(text, SHOWN_TEXT))}.`);
    },
  });
}

function holdKeyTool({ desktop }: DesktopParts): DesktopTool {
  return defineTool({
    name: 'hold_key',
    description: `Desktop: press keys, keep them down for a time, then let them go. ${KEY_NAMES}`,
    parameters: { keys, duration: z.number().describe('How long the keys are held, in seconds.') },
    run: async (given, { signal }) => {
      checkPause(given.duration);
      try {
        await desktop.keyDown(given.keys);
        await pause(given.duration, signal);
      } finally {
        await desktop.keyUp(given.keys);
      }
      return textResult(`Held ${given.keys.join('+')} for ${given.duration} s.`);
    },
  });
}
