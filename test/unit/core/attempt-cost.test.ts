import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attemptCostUsd, billedUsd, costOfAttempt } from '#core/attempt-cost';
import type { CostFacts } from '#core/cost-facts';
import { COST_PARTS, type CostEntry, type CostPart } from '#core/record';
import { billedMachine, costFacts, priceSheet } from '#test/builders/costs';

const sheet = priceSheet();

function part(name: CostPart, changes: Partial<CostFacts> = {}, prices = priceSheet()): CostEntry {
  const found = costOfAttempt(costFacts(changes), prices).find((each) => each.part === name);
  if (found === undefined) throw new Error(`no part ${name}`);
  return found;
}

describe('the cost of an attempt', () => {
  it('has its six parts in order', () => {
    expect(costOfAttempt(costFacts(), sheet).map((each) => each.part)).toEqual([...COST_PARTS]);
  });

  it('takes the machine by the second from the sheet', () => {
    expect(part('machine')).toMatchObject({ basis: 'estimated', usd: 0.36 });
    expect(part('machine', { machineSeconds: 1800 }).usd).toBeCloseTo(0.18, 12);
    expect(part('machine').note).toBe('m9.large linux, 3600 s, price sheet xx-test-1 2026-01-01');
  });

  it('takes the first minute whole', () => {
    const minute = part('machine', { machineSeconds: 60 }).usd;
    expect(part('machine', { machineSeconds: 1 }).usd).toBe(minute);
    expect(part('machine', { machineSeconds: 61 }).usd).toBeGreaterThan(minute ?? 0);
  });

  it('adds the licence of Windows for each vCPU', () => {
    expect(part('machine', { machine: billedMachine({ os: 'windows' }) }).usd).toBeCloseTo(0.36 + 2 * 0.036, 12);
  });

  it('takes spot at its own price, and knows none where the sheet has none', () => {
    expect(part('machine', { machine: billedMachine({ isSpot: true }) }).usd).toBe(0.18);
    const huge = part('machine', { machine: billedMachine({ machineType: 'm9.huge', isSpot: true }) });
    expect(huge).toMatchObject({ basis: 'unknown', usd: null });
    expect(huge.note).toContain('m9.huge linux spot');
  });

  it('takes disk and address for as long as the machine is there', () => {
    expect(part('disk').usd).toBeCloseTo((100 * 0.73) / 730, 12);
    expect(part('address').usd).toBeCloseTo(0.0036, 12);
    expect(part('address', { machine: billedMachine({ hasPublicAddress: false }) })).toMatchObject({
      basis: 'observed',
      usd: 0,
    });
  });

  it.each<[string, Partial<CostFacts>, CostPart]>([
    ['of a machine that has not been seen gone', { machineSeconds: null }, 'machine'],
    ['of a provider that does not say what it launched', { machine: null }, 'machine'],
    ['of a type that the sheet does not have', { machine: billedMachine({ machineType: 'constructor' }) }, 'machine'],
    ['of what nobody measured', {}, 'transfer'],
    ['of an agent that says nothing', {}, 'tokens'],
    [
      'of an agent that counts tokens and names no price',
      { tokens: { promptTokens: 5, completionTokens: 6, usd: null } },
      'tokens',
    ],
  ])('is unknown, never zero: %s', (_, facts, name) => {
    expect(part(name, facts)).toMatchObject({
      basis: 'unknown',
      usd: null,
      note: expect.stringMatching(/\w/u) as string,
    });
  });

  it('is unknown for a part whose price the sheet lacks, and for all of a region without a sheet', () => {
    const bare = priceSheet({ prices: {}, machines: {} });
    const parts = costOfAttempt(costFacts({ transferOutBytes: 1 }), bare);
    expect(parts.map(({ basis }) => basis)).toEqual(COST_PARTS.map(() => 'unknown'));
    expect(parts[1]?.note).toBe('the price sheet of 2026-01-01 has no volumeGiBMonth');
    const none = costOfAttempt(costFacts({ transferOutBytes: 1 }), null);
    expect(none.map(({ basis }) => basis)).toEqual(COST_PARTS.map(() => 'unknown'));
  });

  it('is zero and observed where nothing was launched, and where nobody sends a bill', () => {
    const never = costOfAttempt(costFacts({ machineSeconds: 0, machine: null }), sheet);
    expect(never.slice(0, 4)).toMatchObject([0, 0, 0, 0].map((usd) => ({ basis: 'observed', usd })));
    const own = costOfAttempt(costFacts({ provider: 'process', machineSeconds: null, controlPlane: null }), null);
    expect(own.slice(0, 5)).toMatchObject([0, 0, 0, 0, 0].map((usd) => ({ basis: 'observed', usd })));
    expect(part('tokens', { model: null })).toMatchObject({ basis: 'observed', usd: 0 });
  });

  it('has the objects of sealed requests in its orchestration, two puts and two gets each, and says how many', () => {
    const none = part('orchestration');
    const some = part('orchestration', { sealedRequests: 7 });
    expect(none.note).not.toMatch(/seal/u);
    expect(some.note).toMatch(/, 7 requests sealed for its guest, by counting the stages it went through;/u);
    expect((some.usd ?? 0) - (none.usd ?? 0)).toBeCloseTo(7 * (2 * 0.00001 + 2 * 0.000001), 12);
    const { objectGet: _, ...prices } = sheet.prices;
    const counts = costFacts().controlPlane;
    const controlPlane = counts === null ? null : { ...counts, objectGets: 0 };
    const bare = priceSheet({ prices });
    expect(part('orchestration', { controlPlane }, bare).basis).toBe('estimated');
    expect(part('orchestration', { controlPlane, sealedRequests: 7 }, bare).basis).toBe('unknown');
  });

  it('takes tokens as the agent reports them, and says so', () => {
    const tokens = { promptTokens: 1000, completionTokens: 20, usd: 0.5 };
    expect(part('tokens', { tokens })).toEqual({
      part: 'tokens',
      basis: 'estimated',
      usd: 0.5,
      note: 'as the agent reports it; 1000 prompt and 20 completion tokens',
    });
  });

  it('has no amount in a note, which everybody may read', () => {
    const tokens = { promptTokens: 1, completionTokens: 2, usd: 0.123456 };
    for (const { note } of costOfAttempt(costFacts({ tokens, transferOutBytes: 5 }), sheet))
      expect(note).not.toMatch(/\$|usd|\d\.\d/iu);
  });

  it('never falls when the machine stays longer', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 7 }), fc.integer({ min: 0, max: 10 ** 6 }), (seconds, more) => {
        const [short, long] = [seconds, seconds + more].map((machineSeconds) =>
          costOfAttempt(costFacts({ machineSeconds }), sheet).reduce((sum, { usd }) => sum + (usd ?? 0), 0),
        );
        expect(long).toBeGreaterThanOrEqual(short ?? Infinity);
      }),
    );
  });
});

describe('the most that an attempt may cost', () => {
  const asked = { provider: 'aws', machine: billedMachine(), lifeSeconds: 7200 };

  it('is nothing where nobody sends a bill, whatever is known', () => {
    expect(attemptCostUsd({ provider: 'process', machine: null, lifeSeconds: 1 }, null)).toBe(0);
  });

  it('is unknown without machine, sheet or price', () => {
    expect(attemptCostUsd({ ...asked, machine: null }, sheet)).toBeNull();
    expect(attemptCostUsd(asked, null)).toBeNull();
    expect(attemptCostUsd({ ...asked, machine: billedMachine({ machineType: 'm9.none' }) }, sheet)).toBeNull();
    expect(attemptCostUsd(asked, priceSheet({ prices: {} }))).toBeNull();
  });

  it('reserves spot at the price on demand', () => {
    expect(attemptCostUsd({ ...asked, machine: billedMachine({ isSpot: true }) }, sheet)).toBe(
      attemptCostUsd(asked, sheet),
    );
  });

  it('is never below what machine, disk and address of any attempt within its life come to', () => {
    fc.assert(
      fc.property(
        fc.record({
          lifeSeconds: fc.integer({ min: 60, max: 10 ** 6 }),
          used: fc.double({ min: 0, max: 1, noNaN: true }),
          machine: fc.record({
            machineType: fc.constantFrom('m9.large', 'm9.huge'),
            os: fc.constantFrom('linux' as const, 'windows' as const),
            isSpot: fc.constant(false),
            volumeGiB: fc.integer({ min: 0, max: 16_000 }),
            hasPublicAddress: fc.boolean(),
          }),
        }),
        ({ lifeSeconds, used, machine }) => {
          const facts = costFacts({ machine, machineSeconds: lifeSeconds * used });
          const parts = costOfAttempt(facts, sheet).slice(0, 3);
          const spent = parts.reduce((sum, { usd }) => sum + (usd ?? Infinity), 0);
          expect(spent).toBeLessThanOrEqual(
            (attemptCostUsd({ provider: 'aws', machine, lifeSeconds }, sheet) ?? 0) + 1e-9,
          );
        },
      ),
    );
  });
});

describe('what a budget pays for', () => {
  it('is all that is known but the tokens, which only the agent tells of', () => {
    const tokens = { promptTokens: 1, completionTokens: 1, usd: 1e9 };
    const cost = costOfAttempt(costFacts({ tokens, transferOutBytes: 0 }), sheet);
    expect(billedUsd(cost, 5)).toBeCloseTo(billedUsd(costOfAttempt(costFacts({ transferOutBytes: 0 }), sheet), 5), 9);
    expect(billedUsd(cost, 5)).toBeLessThan(1);
  });

  it('is the reservation where the machine has no known cost', () => {
    const lost = costOfAttempt(costFacts({ machineSeconds: null }), sheet);
    expect(billedUsd(lost, 5)).toBe(5);
    expect(billedUsd(lost, null)).toBeGreaterThan(0);
    expect(billedUsd(costOfAttempt(costFacts(), sheet), 5)).toBeLessThan(1);
  });
});
