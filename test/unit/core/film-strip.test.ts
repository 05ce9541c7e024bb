import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseFrames, evenly, FILM_FRAMES, framesThatFit } from '#core/film-strip';
import { PICTURE_HEAD_BYTES, pictureKindOf } from '#core/picture-kind';

describe('evenly', () => {
  it('takes all of a few, and the first and the last of many', () => {
    expect(evenly([1, 2, 3], 6)).toEqual([1, 2, 3]);
    expect(evenly([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 4)).toEqual([0, 3, 6, 9]);
    expect(evenly([1, 2], 1)).toEqual([1]);
  });

  it('takes exactly as many as there may be, in order', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 2, max: 9 }), (length, most) => {
        const items = Array.from({ length }, (_, n) => n);
        const taken = evenly(items, most);
        expect(taken).toHaveLength(Math.min(length, most));
        expect([...taken].sort((a, b) => a - b)).toEqual(taken);
        if (length > 0) expect([taken[0], taken.at(-1)]).toEqual([0, length - 1]);
      }),
    );
  });
});

describe('chooseFrames', () => {
  const shown = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      path: `screenshots/${String(n)}.png`,
      stepId: n + 1,
      tool: 'x'.repeat(500),
    }));

  it('keeps a place for the final screen, and labels short', () => {
    expect(chooseFrames(shown(100), null)).toHaveLength(FILM_FRAMES);
    const frames = chooseFrames(shown(100), 'screenshots/final.png');
    expect(frames).toHaveLength(FILM_FRAMES);
    expect(frames.at(-1)?.path).toBe('screenshots/final.png');
    expect(frames.at(-2)?.path).toBe('screenshots/99.png');
    expect(frames[0]?.label.length).toBeLessThan(80);
  });

  it('is empty without pictures', () => {
    expect(chooseFrames([], null)).toEqual([]);
    expect(chooseFrames([], 'screenshots/final.png')).toHaveLength(1);
  });
});

describe('framesThatFit', () => {
  it('is all of them until the report is full, and never none', () => {
    expect(framesThatFit([100, 200], 300)).toBe(FILM_FRAMES);
    expect(framesThatFit([300, 300], 300)).toBe(3);
    expect(framesThatFit(Array(1000).fill(100), 300)).toBe(1);
    expect(framesThatFit([])).toBe(FILM_FRAMES);
  });
});

describe('pictureKindOf', () => {
  it.each([
    ['png', [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
    ['jpg', [0xff, 0xd8, 0xff, 0xe0]],
    ['gif', Buffer.from('GIF89a')],
    ['gif', Buffer.from('GIF87a')],
    ['webp', Buffer.from('RIFF....WEBP')],
    [null, Buffer.from('RIFF....WAVE')],
    [null, Buffer.from('<svg xmlns=')],
    [null, []],
  ])('is %s', (kind, bytes) => {
    const padded = Uint8Array.from([...bytes, ...new Uint8Array(bytes.length === 0 ? 0 : PICTURE_HEAD_BYTES)]);
    expect(pictureKindOf(padded)).toBe(kind);
  });
});
