import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  buildRecord,
  COST_PARTS,
  LOCK_KEYS,
  lockDifferences,
  lockSha256,
  recordSha256Of,
  recordText,
  totalCost,
  type RecordedFile,
} from '#core/record';
import { sampleContent, sampleLock, sha256 } from '#test/builders/run-folder';

const files = fc.uniqueArray(
  fc.record({ path: fc.string({ minLength: 1 }), sizeBytes: fc.nat(), sha256: fc.constant('a'.repeat(64)) }),
  { selector: (file) => file.path },
) satisfies fc.Arbitrary<RecordedFile[]>;

describe('buildRecord', () => {
  it('has one text, whatever order its files come in, that carries its own hash', () => {
    fc.assert(
      fc.property(files, (some) => {
        const record = buildRecord(sampleContent(), some, sha256);
        const text = recordText(record);
        expect(text).toBe(recordText(buildRecord(sampleContent(), [...some].reverse(), sha256)));
        expect(text).toMatch(/^[ -~\n]+\n$/u);
        expect(recordText(JSON.parse(text))).toBe(text);
        expect(recordSha256Of({ ...record }, sha256)).toBe(record.recordSha256);
      }),
    );
  });

  it('changes its hash with any of its fields', () => {
    const record = buildRecord(sampleContent(), [], sha256);
    const keys = Object.keys(record).filter((key) => key !== 'recordSha256');
    expect(keys.length).toBeGreaterThan(15);
    for (const key of keys)
      expect(recordSha256Of({ ...record, [key]: 'changed' }, sha256)).not.toBe(record.recordSha256);
  });
});

describe('locks', () => {
  it.each(LOCK_KEYS)('differ when %s differs', (key) => {
    const [left, right] = [sampleLock(), sampleLock({ [key]: { value: 'other', sha256: null } })];
    expect(lockDifferences(left, right)).toEqual([key]);
    expect(lockSha256(left, sha256)).not.toBe(lockSha256(right, sha256));
  });

  it('are equal whatever order the keys of their values have', () => {
    const left = sampleLock({ shape: { value: { vCpus: 4, memoryMiB: 16 }, sha256: null } });
    const right = sampleLock({ shape: { value: { memoryMiB: 16, vCpus: 4 }, sha256: null } });
    expect(lockDifferences(left, right)).toEqual([]);
    expect(lockSha256(left, sha256)).toBe(lockSha256(right, sha256));
  });
});

describe('totalCost', () => {
  it('is complete only when every part is there and known', () => {
    const all = COST_PARTS.map((part) => ({ part, basis: 'observed' as const, usd: 0.5, note: null }));
    expect(totalCost(all)).toEqual({ usd: 0.5 * COST_PARTS.length, complete: true });
    expect(totalCost(all.slice(1)).complete).toBe(false);
    expect(totalCost([...all, { part: 'tokens', basis: 'unknown', usd: null, note: null }]).complete).toBe(false);
    expect(totalCost([])).toEqual({ usd: 0, complete: false });
  });
});
