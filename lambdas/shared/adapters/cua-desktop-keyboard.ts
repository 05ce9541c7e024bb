import { setTimeout as sleep } from 'node:timers/promises';
import { keysOf, mapKeys, type CuaOs } from '#core/cua/keys';
import { needsXdotool, planTyping, readFreeKeys, xdotoolKeys, type KeyLoans } from '#core/cua/x-typing';
import type { CuaClient } from './cua-client.ts';
import type { Xdotool } from './cua-desktop-xdotool.ts';

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
export function createKeyboard(client: CuaClient, act: Act, xdotool: Xdotool): Keyboard {
  const keysFor = async (keys: string | readonly string[]): Promise<readonly string[]> =>
    namesOf(await client.osType(), keys);
  const each = async (command: 'key_down' | 'key_up', keys: readonly string[]): Promise<void> => {
    for (const key of keys) await act(command, { key });
  };
  const send = async (verb: 'keydown' | 'keyup', keys: readonly string[]): Promise<void> => {
    if (needsXdotool(keys) && (await xdotool.isThere())) await xdotool.run(xdotoolKeys(verb, keys));
    else await each(verb === 'keydown' ? 'key_down' : 'key_up', keys);
  };
  const press = async (keys: readonly string[]): Promise<void> => {
    if (needsXdotool(keys) && (await xdotool.isThere())) return xdotool.run(xdotoolKeys('key', keys));
    if (keys.length === 1) return act('press_key', { key: keys[0] });
    try {
      await act('hotkey', { keys });
    } catch (error) {
      // The server may have stopped half-way, with a modifier held.
      for (const key of [...keys].reverse()) await act('key_up', { key }).catch(() => undefined);
      throw error;
    }
  };
  let loans: KeyLoans | undefined;
  const typeByXdotool = async (text: string): Promise<void> => {
    loans ??= await freeKeys(client);
    const plan = planTyping(text, loans);
    // What has been lent stays so, even when a later piece fails.
    loans = plan.loans;
    for (const piece of plan.pieces) await xdotool.run(piece.command, piece.timeoutSeconds);
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
        if (await xdotool.isThere()) {
          await typeByXdotool(text);
          return;
        }
        if (!/^[\n\t\x20-\x7e]*$/.test(text)) return paste(client, pasteKeys, text);
      }
      await act('type_text', { text });
    },
  };
}

/** Without xmodmap there is none. */
async function freeKeys(client: CuaClient): Promise<KeyLoans> {
  const fields = await client.call('run_command', { command: 'xmodmap -pke' }, { timeoutSeconds: 10 });
  const listing = fields['return_code'] === 0 && typeof fields['stdout'] === 'string' ? fields['stdout'] : '';
  return { free: readFreeKeys(listing), lent: new Map() };
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
