import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { folderOfPrefix, pathOfKey, readEntry } from '#local/stores/object-paths';

const anyKey = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom(
        '/',
        '/',
        '.',
        '..',
        '...',
        '^',
        '%',
        '+',
        '%2e',
        'A',
        'a',
        '\u0000',
        '\\',
        'con',
        'x'.repeat(250),
      ),
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((parts) => parts.join(''))
  .filter((key) => key !== '');

function keyOfPath(pieces: readonly string[]): string {
  let [text, carried] = ['', ''];
  for (const piece of pieces) {
    const entry = readEntry(piece, carried);
    carried = entry.kind === 'continuation' ? entry.text : '';
    if (entry.kind !== 'continuation') text += entry.segment + (entry.kind === 'folder' ? '/' : '');
  }
  return text;
}

describe('file names of object keys', () => {
  it('give the key back', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(keyOfPath(pathOfKey(key))).toBe(key);
      }),
      { numRuns: 500 },
    );
  });

  it('cannot leave their folder and fit any file system: short plain ASCII, no capitals, never "." or ".."', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        for (const piece of pathOfKey(key)) expect(piece).toMatch(/^[a-z0-9_=^%-][a-z0-9_=^%.-]{0,201}\+?$/);
      }),
      { numRuns: 500 },
    );
    expect(pathOfKey('../../etc/passwd').every((piece) => !/^\.+$/.test(piece))).toBe(true);
  });

  it('differ for different keys, and no file is where another key needs a folder', () => {
    fc.assert(
      fc.property(anyKey, anyKey, (left, right) => {
        const [a, b] = [pathOfKey(left).join('/'), pathOfKey(right).join('/')];
        expect(a === b).toBe(left === right);
        expect(a.startsWith(`${b}/`)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it('of a prefix are the folders that every key with it lies in', () => {
    fc.assert(
      fc.property(anyKey, fc.nat(40), (key, cut) => {
        const { pieces, covered } = folderOfPrefix(key.slice(0, cut));
        expect(key.slice(0, cut).startsWith(covered)).toBe(true);
        expect(pathOfKey(key).slice(0, pieces.length)).toEqual(pieces);
      }),
    );
  });

  it('stay readable where keys are plain', () => {
    expect(pathOfKey('sweeps/01JABC/r1/report.html').join('/')).toBe('sweeps/01^jabc/r1/report.html');
    expect(pathOfKey('a/README').join('/')).toBe('a/^readme.');
    expect(pathOfKey('').join('/')).toBe('%.');
  });
});
