import { setTimeout as sleep } from 'node:timers/promises';
import { keysOf, mapKeys, type CuaOs } from '#core/cua/keys';
import { needsXdotool, xdotoolKeys, xdotoolTyping } from '#core/cua/x-typing';
import type { CuaClient } from './cua-client.ts';

/** How text gets onto the screen: `auto` takes what is reliable there, `server` the server's own typing, `clipboard` pastes. */
export type TypingMode = 'auto' | 'server' | 'clipboard';

export interface Keyboard {
  press(keys: string | readonly string[]): Promise<void>;
  down(keys: string | readonly string[]): Promise<void>;
  up(keys: string | readonly string[]): Promise<void>;
  type(text: string, mode: TypingMode): Promise<void>;
}

type Act = (command: string, params?: Readonly<Record<string, unknown>>) => Promise<void>;

/** How long a program may take to read the clipboard before it holds its old text again. */
const PASTE_MS = 300;

/**
 * Keys and text. On Linux the server sends characters to windows in a way that terminals ignore and that corrupts what has
 * no key, so there `xdotool` does it where it is installed.
 */
export function createKeyboard(client: CuaClient, act: Act): Keyboard {
  let tools: Promise<boolean> | undefined;
  const hasXdotool = async (): Promise<boolean> => {
    if ((await client.osType()) !== 'linux') return false;
    tools ??= client.call('run_command', { command: 'command -v xdotool' }, { timeoutSeconds: 10 }).then(
      (fields) => fields['return_code'] === 0,
      // A server without a shell has its own typing only.
      () => false,
    );
    return tools;
  };
  const keysFor = async (keys: string | readonly string[]): Promise<readonly string[]> =>
    namesOf(await client.osType(), keys);
  const xdotool = async (command: string, timeoutSeconds = 20): Promise<void> => {
    const fields = await client.call('run_command', { command }, { timeoutSeconds });
    if (fields['return_code'] === 0) return;
    throw new Error(`the cua-server at ${client.url}: xdotool failed: ${String(fields['stderr']).trim()}`);
  };
  const each = async (command: 'key_down' | 'key_up', keys: readonly string[]): Promise<void> => {
    for (const key of keys) await act(command, { key });
  };
  const send = async (verb: 'keydown' | 'keyup', keys: readonly string[]): Promise<void> => {
    if (needsXdotool(keys) && (await hasXdotool())) await xdotool(xdotoolKeys(verb, keys));
    else await each(verb === 'keydown' ? 'key_down' : 'key_up', keys);
  };
  const press = async (keys: readonly string[]): Promise<void> => {
    if (needsXdotool(keys) && (await hasXdotool())) return xdotool(xdotoolKeys('key', keys));
    if (keys.length === 1) return act('press_key', { key: keys[0] });
    try {
      await act('hotkey', { keys });
    } catch (error) {
      // The server may have stopped half-way, with a modifier held.
      for (const key of [...keys].reverse()) await act('key_up', { key }).catch(() => undefined);
      throw error;
    }
  };
  return {
    press: async (keys) => press(await keysFor(keys)),
    down: async (keys) => send('keydown', await keysFor(keys)),
    up: async (keys) => send('keyup', [...(await keysFor(keys))].reverse()),
    type: async (text, mode) => {
      if (text === '') return;
      const pasteKeys = async (): Promise<void> => press([(await client.osType()) === 'darwin' ? 'cmd' : 'ctrl', 'v']);
      if (mode === 'clipboard') return paste(client, pasteKeys, text);
      if (mode === 'auto' && (await client.osType()) === 'linux') {
        if (await hasXdotool()) {
          for (const piece of xdotoolTyping(text)) await xdotool(piece.command, piece.timeoutSeconds);
          return;
        }
        if (!/^[\n\t\x20-\x7e]*$/.test(text)) return paste(client, pasteKeys, text);
      }
      await act('type_text', { text });
    },
  };
}

function namesOf(osType: CuaOs, keys: string | readonly string[]): readonly string[] {
  const mapped = mapKeys(osType, keys);
  if ('keys' in mapped) return mapped.keys;
  const named = keysOf(osType).filter((name) => !/^f\d/.test(name));
  throw new RangeError(
    `there is no key ${JSON.stringify(mapped.unknown)} on ${osType}; allowed: single characters, f1 to f12 and ${named.join(', ')}`,
  );
}

/** Puts the text on the clipboard, pastes it, and puts back what was there. */
async function paste(client: CuaClient, pressPaste: () => Promise<void>, text: string): Promise<void> {
  const before = await client.call('copy_to_clipboard').then(
    (fields) => fields['content'],
    // An empty or unreadable clipboard has nothing to put back.
    () => undefined,
  );
  await client.call('set_clipboard', { text });
  try {
    await pressPaste();
    await sleep(PASTE_MS);
  } finally {
    if (typeof before === 'string') await client.call('set_clipboard', { text: before }).catch(() => undefined);
  }
}
