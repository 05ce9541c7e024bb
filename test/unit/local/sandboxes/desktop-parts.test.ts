import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GUEST_COMMANDS } from '#contracts/guest';
import { splitCalls } from '#local/sandboxes/desktop-calls';
import { writeXAuthority, xAuthority } from '#local/sandboxes/x-cookie';

/** Fields of an Xauthority file: family, and then address, display, scheme and data with their lengths. */
function entriesOf(bytes: Buffer): readonly (readonly [number, string, string, string, string])[] {
  const entries: (readonly [number, string, string, string, string])[] = [];
  for (let at = 0; at < bytes.length;) {
    const family = bytes.readUInt16BE(at);
    at += 2;
    const next = (): Buffer => {
      const length = bytes.readUInt16BE(at);
      at += 2 + length;
      return bytes.subarray(at - length, at);
    };
    const [address, display, scheme, data] = [next(), next(), next(), next()];
    entries.push([family, String(address), String(display), String(scheme), data.toString('hex')]);
  }
  return entries;
}

describe('the cookie of a display', () => {
  it('fits every display of any name for Xlib, and of this name for python-xlib', () => {
    const cookie = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
    expect(entriesOf(xAuthority('sbx-1', cookie))).toEqual([
      [0xffff, '', '', 'MIT-MAGIC-COOKIE-1', cookie.toString('hex')],
      [0x100, 'sbx-1', '', 'MIT-MAGIC-COOKIE-1', cookie.toString('hex')],
    ]);
  });

  it('is new each time, its owner’s alone, and stays once it is written', () => {
    const root = mkdtempSync(path.join(os.tmpdir(), 'examhall-cookie-'));
    const [one, two] = [path.join(root, 'one'), path.join(root, 'two')];
    for (const file of [one, two]) writeXAuthority(file, 'host', null);
    expect(statSync(one).mode & 0o777).toBe(0o600);
    const written = readFileSync(one);
    expect(written.equals(readFileSync(two))).toBe(false);
    writeXAuthority(one, 'host', null);
    expect(readFileSync(one).equals(written)).toBe(true);
    rmSync(root, { recursive: true });
  });
});

describe('the calls of a batch for a desktop', () => {
  const names = ['screenshot', 'left_click', 'launch', 'get_screen_size', 'shell', 'ls', ...GUEST_COMMANDS];

  it('keep their order, and files and commands never go to the server', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...names)), (commands) => {
        const runs = splitCalls(commands.map((command) => ({ command, params: {} })));
        const full = commands.map((name) => ({ shell: 'run_command', ls: 'list_dir' })[name] ?? name);
        expect(runs.flatMap(({ calls }) => calls.map(({ command }) => command))).toEqual(full);
        for (const { isScreens, calls } of runs)
          for (const { command } of calls) expect(isScreens).toBe(!GUEST_COMMANDS.some((name) => name === command));
        expect(runs.every((run, index) => run.isScreens !== runs[index + 1]?.isScreens)).toBe(true);
      }),
    );
  });
});
