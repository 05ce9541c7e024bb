import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GUEST_COMMANDS } from '#contracts/guest';
import { isBlackPng } from '#local/sandboxes/black-picture';
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

/** A PNG without checksums, which nobody here reads. */
function png(width: number, colourType: number, rows: readonly (readonly number[])[], depth = 8): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type, 'latin1'), data, Buffer.alloc(4)]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  header[8] = depth;
  header[9] = colourType;
  const pixels = deflateSync(Buffer.from(rows.flat()));
  const half = Math.ceil(pixels.length / 2);
  const data = [pixels.subarray(0, half), pixels.subarray(half)].map((part) => chunk('IDAT', part));
  return Buffer.concat([Buffer.alloc(8), chunk('IHDR', header), ...data, chunk('IEND', Buffer.alloc(0))]);
}

describe('a black screenshot', () => {
  it('is one in which no pixel has a colour, under any filter and whatever its alpha', () => {
    expect(isBlackPng(png(2, 2, [[0, 0, 0, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0]]))).toBe(true); // prettier-ignore
    expect(isBlackPng(png(2, 6, [[1, 0, 0, 0, 255, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0, 0]]))).toBe(true); // prettier-ignore
    expect(isBlackPng(png(2, 6, [[1, 0, 0, 0, 255, 0, 0, 1, 0]]))).toBe(false);
  });

  it('is not one with a single coloured pixel anywhere', () => {
    fc.assert(
      fc.property(fc.nat({ max: 29 }), fc.integer({ min: 1, max: 255 }), (at, value) => {
        const rows = [0, 1].map((row) => [0, ...Array.from({ length: 15 }, (_, column) => (row * 15 + column === at ? value : 0))]); // prettier-ignore
        expect(isBlackPng(png(5, 2, rows))).toBe(false);
      }),
    );
  });

  it('is refused as a question about pictures of another kind', () => {
    expect(() => isBlackPng(png(1, 3, [[0, 0]]))).toThrow('colour type 2 or 6');
    expect(() => isBlackPng(png(1, 2, [[0, 0]], 16))).toThrow('this has 16 and 2');
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
