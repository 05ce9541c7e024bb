import { describe, expect, it } from 'vitest';
import { readPngSize } from '#core/cua/png-size';
import { makePng } from '#test/fakes/cua-server-commands';

describe('a PNG', () => {
  it('says its size in its header', () => {
    expect(readPngSize(makePng(64, 48, [1, 2, 3]))).toEqual({ width: 64, height: 48 });
    // Bytes in the middle of a larger buffer, as base64 gives them.
    expect(readPngSize(Buffer.concat([Buffer.alloc(7), makePng(3, 5, [0, 0, 0])]).subarray(7))).toEqual({
      width: 3,
      height: 5,
    });
  });

  it.each([
    ['nothing', new Uint8Array()],
    ['a JPEG', Buffer.from([0xff, 0xd8, 0xff, 0xe0, ...Array<number>(30).fill(0)])],
    ['a header cut off', makePng(2, 2, [0, 0, 0]).subarray(0, 20)],
    ['no width', Buffer.concat([makePng(2, 2, [0, 0, 0]).subarray(0, 16), Buffer.alloc(20)])],
  ])('%s is none', (_, bytes) => {
    expect(readPngSize(bytes)).toBeNull();
  });
});
