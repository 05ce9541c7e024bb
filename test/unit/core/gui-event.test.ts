import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GUI_EVENT_LINE_LIMIT, guiEventLine, type GuiEvent } from '#core/cua/gui-event';
import { GUI_EVENT_LIMITS, readGuiEvents } from '#core/gui-event';

const PHASE = { startedAt: '2026-01-02T03:04:10.000Z', endedAt: '2026-01-02T03:14:10.000Z' };
const CLICK: GuiEvent = {
  at: '2026-01-02T03:05:00.000Z',
  tool: 'click',
  arguments: { coordinate: [500, 250], button: 'left' },
  pixels: [{ x: 640, y: 200 }],
  screen: { width: 1280, height: 800 },
  durationMs: 31,
  ok: true,
};

function linesIn(text: string): unknown[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

describe('guiEventLine', () => {
  it('is one line that reads back as the event', () => {
    expect(guiEventLine(CLICK)).toMatch(/^[^\n]+\n$/u);
    expect(JSON.parse(guiEventLine(CLICK))).toEqual(CLICK);
  });

  it('cuts long texts, long lists and deep values, and never passes the longest line a reader takes', () => {
    const deep = { a: { b: { c: { d: 1 } } } };
    const long = guiEventLine({ ...CLICK, arguments: { text: 'x'.repeat(5000), list: Array(90).fill(1), deep } });
    expect(JSON.parse(long)).toMatchObject({
      arguments: { text: `${'x'.repeat(500)}[cut]`, deep: { a: { b: '[cut]' } } },
    });
    const wide = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${String(n)}`, 'y'.repeat(500)]));
    const line = guiEventLine({ ...CLICK, arguments: wide });
    expect(line.length).toBeLessThanOrEqual(GUI_EVENT_LINE_LIMIT);
    expect(readGuiEvents(line, PHASE, false).counts.kept).toBe(1);
  });
});

describe('readGuiEvents', () => {
  it('numbers the events and says of each that the agent reported it', () => {
    const failed = { ...CLICK, at: '2026-01-02T03:06:00.000Z', ok: false, error: 'off the screen' };
    const { text, counts } = readGuiEvents(guiEventLine(CLICK) + guiEventLine(failed), PHASE, false);
    expect(linesIn(text)).toEqual([
      { seq: 1, reportedBy: 'agent', timeIsPlausible: true, ...CLICK },
      { seq: 2, reportedBy: 'agent', timeIsPlausible: true, ...failed },
    ]);
    expect(counts).toEqual({ kept: 2, implausibleTimes: 0, failed: 1, malformed: 0, truncated: false });
  });

  it('marks times outside the agent phase and times that go back', () => {
    const at = (time: string) => guiEventLine({ ...CLICK, at: time });
    const { text, counts } = readGuiEvents(
      at('1999-01-01T00:00:00Z') + at('2026-01-02T03:10:00Z') + at('2026-01-02T03:09:00Z') + at('2099-01-01T00:00:00Z'),
      PHASE,
      false,
    );
    expect(linesIn(text)).toMatchObject([
      { timeIsPlausible: false },
      { timeIsPlausible: true },
      { timeIsPlausible: false },
      { timeIsPlausible: false },
    ]);
    expect(counts).toMatchObject({ kept: 4, implausibleTimes: 3 });
  });

  it.each([
    ['no JSON', 'click'],
    ['no object', '[1]'],
    ['another shape', '{"tool":"click"}'],
    ['a time that is none', JSON.stringify({ ...CLICK, at: 'yesterday' })],
    ['a negative duration', JSON.stringify({ ...CLICK, durationMs: -1 })],
    ['a line that is too long', JSON.stringify({ ...CLICK, error: 'x'.repeat(GUI_EVENT_LINE_LIMIT) })],
    ['thousands of brackets', '['.repeat(15_000)],
    ['a broken character', '\ufffd\u0000'],
  ])('counts %s as malformed and keeps what follows', (_, line) => {
    const { text, counts } = readGuiEvents(`${line}\n\n${guiEventLine(CLICK)}`, PHASE, false);
    expect(counts).toMatchObject({ kept: 1, malformed: 1 });
    expect(linesIn(text)).toHaveLength(1);
  });

  it('takes the most events there may be of a million lines and says that there are more', () => {
    const line = guiEventLine(CLICK);
    const { counts } = readGuiEvents(line.repeat(GUI_EVENT_LIMITS.events + 1), PHASE, false);
    expect(counts).toMatchObject({ kept: GUI_EVENT_LIMITS.events, truncated: true });
    expect(readGuiEvents('\n{}'.repeat(1_000_000), PHASE, false).counts).toEqual({
      kept: 0,
      implausibleTimes: 0,
      failed: 0,
      malformed: GUI_EVENT_LIMITS.lines,
      truncated: true,
    });
  });

  it('does not judge the half line at which reading stopped', () => {
    const { counts } = readGuiEvents(`${guiEventLine(CLICK)}{"at":"20`, PHASE, true);
    expect(counts).toEqual({ kept: 1, implausibleTimes: 0, failed: 0, malformed: 0, truncated: true });
  });

  it('bounds what an event that fits its line may hold', () => {
    const nested = JSON.stringify({ ...CLICK, arguments: { a: 0 } }).replace(
      '0}',
      `${'['.repeat(5000)}${']'.repeat(5000)}}`,
    );
    const { text, counts } = readGuiEvents(nested, PHASE, false);
    expect(counts.kept).toBe(1);
    expect(linesIn(text)).toMatchObject([{ arguments: { a: [['[cut]']] } }]);
  });

  it('reads any text without an error, and its own output is one JSON object a line', () => {
    const anyLine = fc.oneof(fc.string(), fc.json(), fc.constant(JSON.stringify(CLICK)));
    fc.assert(
      fc.property(fc.array(anyLine), fc.boolean(), (lines, isCutOff) => {
        const { text, counts } = readGuiEvents(lines.join('\n'), PHASE, isCutOff);
        expect(linesIn(text)).toHaveLength(counts.kept);
      }),
    );
  });
});
