import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPlainPath, keptName } from '#core/collected-names';

describe('the name of a collected file', () => {
  it.each(['answer.txt', 'Final Report.docx', 'grüße/日本.txt', '-rf', '...', 'quote"\'', 'a:b*?'])(
    'stays as the agent gave it: %s',
    (name) => {
      expect(isPlainPath(name)).toBe(true);
      expect(keptName(name, 'escaped%20')).toBe(name);
    },
  );

  it.each([
    ['a line feed', 'line\nfeed'],
    ['bytes that are no UTF-8', 'bad\ufffd'],
    ['a mark that turns what follows', '\u202egnp.exe'],
    ['a name longer than disks take', 'é'.repeat(101)],
    ['a path longer than disks take', `${'d'.repeat(150)}/`.repeat(5).slice(0, -1)],
    ['a parent folder', 'a/../b'],
    ['an empty part', 'a//b'],
  ])('is that of its key for %s', (_, name) => {
    expect(isPlainPath(name)).toBe(false);
    expect(keptName(name, 'escaped')).toBe('escaped');
  });

  it.each(['100%', 'back\\slash'])('is that of its key in the run folder, though graders see it: %s', (name) => {
    expect(isPlainPath(name)).toBe(true);
    expect(keptName(name, 'escaped')).toBe('escaped');
  });

  it('is that of no other file', () => {
    const escape = (name: string): string => encodeURIComponent(name).replaceAll('%2F', '/').replaceAll('*', '%2A');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.string({ minLength: 1 }), (one, other) => {
        fc.pre(one !== other);
        expect(keptName(one, escape(one))).not.toBe(keptName(other, escape(other)));
      }),
    );
  });
});
