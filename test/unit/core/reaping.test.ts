import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reapDecision, reapReason, SIGHTING_GAP_SECONDS } from '#core/reaping';

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const seen = { nowIso: at(1000), expiresAt: at(5000), isWanted: false, firstSeenAt: null };

describe('what to do with a sandbox', () => {
  it('keep one that an open attempt wants', () => {
    expect(reapDecision({ ...seen, isWanted: true })).toBe('keep');
    expect(reapDecision({ ...seen, isWanted: true, firstSeenAt: at(0) })).toBe('keep');
  });

  it('note one without an owner, and end it five minutes later', () => {
    expect(reapDecision(seen)).toBe('note');
    expect(reapDecision({ ...seen, firstSeenAt: at(1000 - SIGHTING_GAP_SECONDS + 1) })).toBe('keep');
    expect(reapDecision({ ...seen, firstSeenAt: at(1000 - SIGHTING_GAP_SECONDS) })).toBe('reap');
  });

  it('end one whose time is over, wanted or not', () => {
    expect(reapDecision({ ...seen, isWanted: true, nowIso: at(5000) })).toBe('reap');
    expect(reapDecision({ ...seen, nowIso: at(5001) })).toBe('reap');
  });

  it('never end a sandbox in time that has not been seen twice, five minutes apart', () => {
    fc.assert(
      fc.property(
        fc.nat(10_000),
        fc.nat(10_000),
        fc.option(fc.nat(10_000)),
        fc.boolean(),
        (now, end, first, isWanted) => {
          const decision = reapDecision({
            nowIso: at(now),
            expiresAt: at(end),
            isWanted,
            firstSeenAt: first === null ? null : at(first),
          });
          const twice = first !== null && now - first >= SIGHTING_GAP_SECONDS;
          if (decision === 'reap') expect(now >= end || (twice && !isWanted)).toBe(true);
        },
      ),
    );
  });
});

describe('the reason', () => {
  const reasons = [
    { of: seen, text: 'a first sighting' },
    { of: { ...seen, isWanted: true }, text: 'an open attempt uses it' },
    { of: { ...seen, nowIso: at(5000), isWanted: true }, text: `its time ended at ${at(5000)}` },
    { of: { ...seen, firstSeenAt: at(900) }, text: '200 s are left until a second sighting counts' },
    { of: { ...seen, firstSeenAt: at(600) }, text: 'seen twice, 400 s apart' },
  ];

  it.each(reasons)('says $text', ({ of, text }) => {
    expect(reapReason(of)).toContain(text);
  });

  it('of an end that is no time is the sightings alone', () => {
    for (const expiresAt of ['', 'soon', 'null']) {
      expect(reapDecision({ ...seen, expiresAt })).toBe('note');
      expect(reapDecision({ ...seen, expiresAt, isWanted: true })).toBe('keep');
      expect(reapDecision({ ...seen, expiresAt, firstSeenAt: at(600) })).toBe('reap');
    }
  });
});
