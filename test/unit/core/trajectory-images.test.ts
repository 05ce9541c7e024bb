import { describe, expect, it } from 'vitest';
import { decodeBase64, encodeBase64 } from '#core/base64';
import { collectedName, SCREENSHOT_LIMITS, ScreenshotCollector, type CollectedPicture } from '#core/trajectory-images';
import { referredPictures, shownPictures } from '#core/trajectory-pictures';
import type { ContentPart } from '#core/trajectory-types';

const PNG = 'iVBORw0KGgo=';
const MIB = 1024 * 1024;
const picture = (key: string, sizeBytes: number): CollectedPicture => ({ key, sizeBytes, kind: 'png' });
const file = (path: string): ContentPart => ({ type: 'image', source: { media_type: 'image/png', path } });

function collectorOf(...pictures: readonly CollectedPicture[]): ScreenshotCollector {
  return new ScreenshotCollector(new Map(pictures.map((each) => [each.key, each])));
}

describe('ScreenshotCollector', () => {
  it('keeps so many pictures and says how many more there were', () => {
    const collector = new ScreenshotCollector();
    for (let n = 0; n < SCREENSHOT_LIMITS.count + 500; n += 1) collector.keep(PNG);
    expect(collector.screenshots).toHaveLength(SCREENSHOT_LIMITS.count);
    expect(collector.screenshots.at(-1)?.path).toBe('screenshots/1999.png');
    expect(collector.warnings).toHaveLength(21);
    expect(collector.warnings[0]).toMatch(/more than the 2000 pictures/u);
    expect(collector.warnings.at(-1)).toBe('480 more pictures are left out');
  });

  it('keeps no picture that is too large, in a file or inside the log', () => {
    const collector = collectorOf(picture('huge.png', 5 * 1024 * MIB), picture('small.png', 10));
    expect(collector.content([file('huge.png'), file('small.png')])).toEqual([
      { type: 'text', text: '[image not kept]' },
      { type: 'image', source: { media_type: 'image/png', path: 'screenshots/0000.png' } },
    ]);
    expect(collector.keep('A'.repeat(45 * MIB))).toBeNull();
    expect(collector.warnings.join('\n')).toMatch(/"huge.png" has 5368709120 bytes[^]*inline picture has \d+ bytes/u);
  });

  it('keeps so many bytes in all, and a file once', () => {
    const many = Array.from({ length: 20 }, (_, n) => picture(`${String(n)}.png`, 32 * MIB));
    const collector = collectorOf(...many);
    for (const { key } of [...many, ...many]) collector.content([file(key)]);
    expect(collector.screenshots).toHaveLength(16);
    expect(collector.warnings[0]).toMatch(/more than 536870912 bytes in all/u);
  });

  it('tells at most the beginning of a path', () => {
    const collector = new ScreenshotCollector();
    collector.content([file('x'.repeat(1_000_000))]);
    expect(collector.warnings[0]?.length).toBeLessThan(300);
  });
});

describe('collectedName', () => {
  it.each([
    ['a.png', 'a.png'],
    ['./a//b.png', 'a/b.png'],
    ['/a.png', null],
    ['a/../b.png', null],
    ['..', null],
    ['', null],
    ['.', null],
  ])('of %j is %j', (path, name) => {
    expect(collectedName(path)).toBe(name);
  });
});

describe('pictures of a draft and of a trajectory', () => {
  it('are each named once, in the order of the steps', () => {
    const draft = {
      steps: [
        { source: 'user', message: [file('b.png'), file('../c.png')] },
        { source: 'agent', observation: { results: [{ content: [file('./a.png'), file('b.png')] }] } },
      ],
    } as const;
    expect(referredPictures(draft)).toEqual(['b.png', 'a.png']);
  });

  it('are no more than could be kept', () => {
    const steps = [
      { source: 'user' as const, message: Array.from({ length: 5000 }, (_, n) => file(`${String(n)}.png`)) },
    ];
    expect(referredPictures({ steps })).toHaveLength(SCREENSHOT_LIMITS.count);
  });

  it('belong to the step that shows them first', () => {
    const image = { type: 'image', source: { media_type: 'image/png', path: 'screenshots/0000.png' } } as const;
    const call = { tool_call_id: 'a', function_name: 'click', arguments: {} };
    expect(
      shownPictures([
        { step_id: 1, source: 'user', message: '' },
        {
          step_id: 2,
          source: 'agent',
          message: '',
          tool_calls: [call],
          observation: { results: [{ content: [image] }] },
        },
        { step_id: 3, source: 'system', message: [image], extra: { screenshot_path: 'screenshots/0001.png' } },
      ]),
    ).toEqual([
      { path: 'screenshots/0000.png', stepId: 2, tool: 'click' },
      { path: 'screenshots/0001.png', stepId: 3, tool: null },
    ]);
  });
});

describe('base64', () => {
  it('comes back from what it was made of, at any length', () => {
    for (const length of [1, 2, 3, 0x5fff, 0x6000, 0x6001, 100_000]) {
      const bytes = Uint8Array.from({ length }, (_, n) => n % 256);
      expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
      expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes);
    }
    expect(encodeBase64(new Uint8Array())).toBe('');
  });
});
