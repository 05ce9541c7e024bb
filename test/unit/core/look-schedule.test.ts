import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextLookAt, UNREACHABLE_SECONDS } from '#core/look-schedule';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();
const inSeconds = (iso: string): number => (Date.parse(iso) - START) / 1000;
const seconds = fc.integer({ min: 0, max: 100_000 });

/** Times of all looks at a job that answers, a pass a minute, until so long after its start. */
function looks(eventSeconds: number | null, untilSeconds: number): readonly number[] {
  const eventBy = eventSeconds === null ? null : at(eventSeconds);
  const times = { since: at(0), eventBy, unreachableSince: null };
  const seen: number[] = [];
  let next = nextLookAt(times, at(0));
  for (let now = 0; now <= untilSeconds; now += 60) {
    if (next > at(now)) continue;
    seen.push(now);
    next = nextLookAt(times, at(now));
  }
  return seen;
}

describe('the next look at a job', () => {
  it('comes after as long as the job has taken already, and every five minutes at last', () => {
    expect(looks(100_000, 1500)).toEqual([60, 120, 240, 480, 780, 1080, 1380]);
  });

  it('comes in every pass once the event is overdue, or when none is to come', () => {
    expect(looks(600, 900)).toEqual([60, 120, 240, 480, 600, 660, 720, 780, 840, 900]);
    expect(looks(null, 240)).toEqual([0, 60, 120, 180, 240]);
  });

  it('is never later than the event, five minutes, or the time at which a silent guest is told of', () => {
    fc.assert(
      fc.property(seconds, seconds, fc.option(seconds), fc.option(seconds), (since, age, event, silentFor) => {
        const now = since + age;
        const unreachableSince = silentFor === null ? null : at(Math.max(since, now - silentFor));
        const eventBy = event === null ? null : at(event);
        const next = inSeconds(nextLookAt({ since: at(since), eventBy, unreachableSince }, at(now)));
        expect(next).toBeGreaterThanOrEqual(now);
        expect(next).toBeLessThanOrEqual(now + 300);
        if (unreachableSince !== null) {
          const toldAt = inSeconds(unreachableSince) + UNREACHABLE_SECONDS;
          if (toldAt > now) expect(next).toBeLessThanOrEqual(toldAt);
        } else if (event !== null && event > now) expect(next).toBeLessThanOrEqual(event);
      }),
    );
  });
});
