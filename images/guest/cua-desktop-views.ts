import * as z from 'zod';
import type { CuaClient, CuaScreenshot } from '#adapters/cua-client';
import { pause, type DesktopParts, type DesktopTool } from './cua-desktop-calls.ts';
import { defineTool, textResult } from './mcp-tools.ts';

/** Tools that look at the screen, and the one that only waits. */
export function screenTools(parts: DesktopParts): DesktopTool[] {
  const { desktop, screen } = parts;
  return [
    defineTool({
      name: 'wait',
      description: 'Desktop: do nothing for a time, so that a program can catch up.',
      parameters: { duration: z.number().describe('How long, in seconds.') },
      run: async ({ duration }, { signal }) => {
        await pause(duration, signal);
        return textResult(`Waited ${duration} s.`);
      },
    }),
    screenshotTool(parts),
    defineTool({
      name: 'cursor_position',
      description: 'Desktop: say where the pointer is, in the coordinates that the other tools take.',
      parameters: {},
      run: async (_given, { trace }) => {
        const [x, y] = await screen.fromPixels(await desktop.cursorPosition(), trace);
        return textResult(`Cursor position: [${x}, ${y}]`);
      },
    }),
    defineTool({
      name: 'get_screen_size',
      description:
        'Desktop: say how many pixels wide and high the screen is. Other tools take coordinates as they describe.',
      parameters: {},
      result: { width: z.int(), height: z.int() },
      run: async (_given, { trace }) => {
        const { width, height } = await screen.size(trace);
        return textResult(`Screen size: ${width}x${height} pixels`, { width, height });
      },
    }),
  ];
}

function screenshotTool({ client, desktop }: DesktopParts): DesktopTool {
  return defineTool({
    name: 'screenshot',
    description: 'Desktop: take a picture of the screen, and keep it as a file on that machine when a path is given.',
    parameters: {
      save_path: z
        .string()
        .describe('Absolute path of a PNG file on the machine, in a folder that exists. Left out, nothing is kept.')
        .optional(),
    },
    run: async ({ save_path: path }, { trace }) => {
      if (path !== undefined) await checkSavePath(client, path);
      const taken = await desktop.screenshot();
      trace.screen = { width: taken.width, height: taken.height };
      const data = base64Of(taken);
      if (path !== undefined) await client.call('write_bytes', { path, content_b64: data });
      const text = path === undefined ? 'Took a screenshot.' : `Took a screenshot and saved it as ${path}.`;
      return {
        content: [
          { type: 'text', text },
          { type: 'image', data, mimeType: 'image/png' },
        ],
      };
    },
  });
}

function base64Of({ png }: CuaScreenshot): string {
  return Buffer.from(png.buffer, png.byteOffset, png.byteLength).toString('base64');
}

/** @throws RangeError saying what is wrong with the path. */
async function checkSavePath(client: CuaClient, path: string): Promise<void> {
  const isWindows = (await client.osType()) === 'windows';
  const pattern = isWindows ? /^((?:[A-Za-z]:|\\\\[^\\/]+)[\\/](?:.*[\\/])?)[^\\/]+$/s : /^(\/(?:.*\/)?)[^/]+$/s;
  const parent = pattern.exec(path)?.[1];
  if (parent === undefined) {
    const example = isWindows ? 'C:\\tmp\\shot.png' : '/tmp/shot.png';
    throw new RangeError(
      `save_path is ${JSON.stringify(path)}; allowed: the absolute path of a file, such as ${example}`,
    );
  }
  const folder = parent.length > 1 && !parent.endsWith(':\\') ? parent.slice(0, -1) : parent;
  if (await client.directoryExists(folder)) return;
  throw new RangeError(`save_path is ${JSON.stringify(path)}, but the machine has no folder ${folder}; make it first`);
}
