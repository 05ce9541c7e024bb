import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addToCounters, agentKey, countGrant, decideGrants, slotOf, type GrantRules } from '#core/grants';
import { EMPTY_COUNTERS } from '#core/rows';
import { gate, holding, NOW, situations, waitOf } from './grants-cases.ts';

const rules = (overrides: Partial<GrantRules> = {}): GrantRules => ({
  nowIso: NOW,
  counters: EMPTY_COUNTERS,
  vCpuQuota: {},
  launchAllowance: 1000,
  launchesPerMinute: {},
  brakes: {},
  ...overrides,
});

describe('grants', () => {
  it('never pass a cap, the quota, the allowance or a budget, and name each wait at most once', () => {
    fc.assert(
      fc.property(situations, ({ sweeps, rules: given }) => {
        const { grants, refusals } = decideGrants(sweeps, given);
        const after = grants.reduce((counters, wait) => addToCounters(counters, slotOf(wait, NOW), 1), given.counters);
        expect(grants.length).toBeLessThanOrEqual(given.launchAllowance);
        expect(new Set([...grants, ...refusals.map(({ wait }) => wait)]).size).toBe(grants.length + refusals.length);
        for (const sweep of sweeps) {
          const own = grants.filter((wait) => wait.sweepId === sweep.sweepId);
          if (own.length === 0) continue;
          const held = after.bySweep[sweep.sweepId] ?? 0;
          expect(sweep.paused || sweep.cancelled || NOW >= sweep.deadlineAt).toBe(false);
          expect(held).toBeLessThanOrEqual(sweep.concurrency);
          for (const [agentId, cap] of Object.entries(sweep.agentConcurrency)) {
            if (own.some((wait) => wait.agentId === agentId))
              expect(after.byAgent[agentKey(sweep.sweepId, agentId)] ?? 0).toBeLessThanOrEqual(cap);
          }
          if (sweep.unspentUsd !== null)
            expect(held * (sweep.attemptCostUsd ?? Infinity)).toBeLessThanOrEqual(sweep.unspentUsd);
        }
        for (const [provider, quota] of Object.entries(given.vCpuQuota)) {
          if (grants.some((wait) => wait.provider === provider))
            expect(after.vCpusByProvider[provider] ?? 0).toBeLessThanOrEqual(quota);
        }
        for (const { seat } of grants)
          if (seat !== null) expect(after.bySeat[seat.name] ?? 0).toBeLessThanOrEqual(seat.limit);
        for (const [provider, factor] of Object.entries(given.brakes)) {
          const own = grants.filter((wait) => wait.provider === provider);
          const bound = given.launchesPerMinute[provider] ?? given.launchAllowance;
          expect(own.length).toBeLessThanOrEqual(Math.max(1, factor * bound));
        }
        for (const [provider, most] of Object.entries(given.launchesPerMinute))
          expect(grants.filter((wait) => wait.provider === provider).length).toBeLessThanOrEqual(most);
      }),
      { numRuns: 500 },
    );
  });

  it('refuse exactly what is cancelled, late or over the budget', () => {
    fc.assert(
      fc.property(situations, ({ sweeps, rules: given }) => {
        const { refusals } = decideGrants(sweeps, given);
        for (const sweep of sweeps) {
          const { unspentUsd: left, attemptCostUsd: cost } = sweep;
          const isSpent = left !== null && (cost === null || left <= 0 || cost > left);
          const expected = sweep.cancelled
            ? 'SweepCancelledError'
            : NOW >= sweep.deadlineAt
              ? 'DeadlinePassedError'
              : isSpent
                ? 'BudgetExhaustedError'
                : null;
          const own = refusals.filter(({ wait }) => wait.sweepId === sweep.sweepId);
          expect(own.map(({ error }) => error)).toEqual(expected === null ? [] : sweep.waits.map(() => expected));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('leave nothing waiting that could start', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(8), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        (counts, cap) => {
          const sweeps = counts.map((count, index) => gate(`s${String(index)}`, count, { concurrency: cap }));
          const { grants } = decideGrants(sweeps, rules());
          expect(grants.length).toBe(counts.reduce((sum, count) => sum + Math.min(count, cap), 0));
        },
      ),
    );
  });
});

describe('fairness', () => {
  it('keeps the slots of sweeps that both wait at most one apart', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 2, maxLength: 6 }),
        fc.nat(60),
        fc.option(fc.nat(6)),
        (counts, launchAllowance, last) => {
          const sweeps = counts.map((count, index) => gate(`s${String(index)}`, count));
          const counters = { ...EMPTY_COUNTERS, lastSweepId: last === null ? null : `s${String(last)}` };
          const { grants } = decideGrants(sweeps, rules({ launchAllowance, counters }));
          const granted = sweeps.map(({ sweepId }) => grants.filter((wait) => wait.sweepId === sweepId).length);
          const waiting = granted.filter((count, index) => count < (counts[index] ?? 0));
          if (waiting.length > 0) expect(Math.max(...granted) - Math.min(...waiting)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });

  it('gives every sweep its turn when there is room for one unit at a time', () => {
    const sweeps = Array.from({ length: 60 }, (_, index) => gate(`s${String(index).padStart(2, '0')}`, 5));
    const turns: string[] = [];
    let lastSweepId: string | null = null;
    for (let pass = 0; pass < 120; pass += 1) {
      const { grants } = decideGrants(
        sweeps,
        rules({ launchAllowance: 1, counters: { ...EMPTY_COUNTERS, lastSweepId } }),
      );
      expect(grants.length).toBe(1);
      lastSweepId = grants[0]?.sweepId ?? null;
      turns.push(String(lastSweepId));
    }
    expect(new Set(turns.slice(0, 60)).size).toBe(60);
    expect(turns.slice(60)).toEqual(turns.slice(0, 60));
  });

  it('gives freed room to the sweep that holds less', () => {
    const held = holding(waitOf('s0', 'x'), waitOf('s0', 'y'), waitOf('s1', 'z'));
    const { grants } = decideGrants([gate('s0', 3), gate('s1', 3)], rules({ counters: held, launchAllowance: 2 }));
    expect(grants.map(({ sweepId }) => sweepId)).toEqual(['s1', 's0']);
  });

  it('keeps room of the quota for a large unit that is next, and gives others what it cannot use', () => {
    const small = ['x', 'y', 'z'].map((unit) => waitOf('s0', unit));
    const large = gate('s1', [waitOf('s1', 'large', { vCpus: 4 })]);
    const waiting = gate('s0', [waitOf('s0', 'v'), waitOf('s0', 'w', { provider: 'q' })]);
    const { grants } = decideGrants([waiting, large], rules({ counters: holding(...small), vCpuQuota: { p: 4 } }));
    expect(grants.map(({ unitId }) => unitId)).toEqual(['w']);
    const later = decideGrants(
      [waiting, large],
      rules({ vCpuQuota: { p: 4 }, counters: { ...EMPTY_COUNTERS, lastSweepId: 's0' } }),
    );
    expect(later.grants.map(({ unitId }) => unitId)).toEqual(['large', 'w']);
  });

  it('keeps no room for a unit that no quota will ever hold', () => {
    const never = gate('s0', [waitOf('s0', 'huge', { vCpus: 99 })]);
    const { grants } = decideGrants([never, gate('s1', 2)], rules({ vCpuQuota: { p: 4 } }));
    expect(grants.map(({ sweepId }) => sweepId)).toEqual(['s1', 's1']);
  });
});

describe('row 10: a provider whose quota refused a launch', () => {
  it('gets its share of the launches, and units of others pass it by', () => {
    const mixed = [1, 2, 3, 4, 5, 6].map((n) => waitOf('s', `p${String(n)}`));
    const others = [1, 2].map((n) => waitOf('s', `q${String(n)}`, { provider: 'q' }));
    const pass = (factor: number) =>
      decideGrants([gate('s', [...mixed, ...others])], rules({ launchAllowance: 10, brakes: { p: factor } })).grants;
    expect(pass(1).length).toBe(8);
    expect(pass(0.3).map(({ unitId }) => unitId)).toEqual(['p1', 'p2', 'p3', 'q1', 'q2']);
    expect(pass(1 / 64).map(({ unitId }) => unitId)).toEqual(['p1', 'q1', 'q2']);
  });
});

/** What is granted when passes follow on each other, at these seconds. */
function passesAt(seconds: readonly number[], given: Partial<GrantRules>): readonly number[] {
  let waits = Array.from({ length: 300 }, (_, n) => waitOf('s', `u${String(n)}`));
  let { counters } = rules(given);
  return seconds.map((second) => {
    const nowIso = new Date(Date.parse(NOW) + second * 1000).toISOString();
    const { grants } = decideGrants([gate('s', waits)], rules({ ...given, counters, nowIso }));
    counters = grants.reduce((before, wait) => countGrant(before, slotOf(wait, nowIso)), counters);
    waits = waits.filter((wait) => !grants.includes(wait));
    return grants.length;
  });
}

describe('the launches of a minute', () => {
  it('row 10: are those of one pass for a braked provider without a bound of its own, in however many passes', () => {
    const braked = { brakes: { p: 1 / 64 }, launchAllowance: 50 };
    expect(passesAt([0, 0, 30, 59.9, 60, 61, 119, 125], braked)).toEqual([1, 0, 0, 0, 1, 0, 0, 1]);
    expect(passesAt([0, 1, 2], { brakes: { p: 0.5 }, launchAllowance: 50 })).toEqual([25, 0, 0]);
  });

  it('row 10: are a share of its own bound for a braked provider that has one', () => {
    const half = { brakes: { p: 0.5 }, launchesPerMinute: { p: 120 }, launchAllowance: 50 };
    expect(passesAt([0, 10, 20, 60], half)).toEqual([50, 10, 0, 50]);
    const least = { ...half, brakes: { p: 1 / 64 } };
    expect(passesAt([0, 10, 60], least)).toEqual([1, 0, 1]);
  });

  it('row 11: are bounded where the provider throttles requests, and slots given back make no room in them', () => {
    const bounded = { launchesPerMinute: { p: 120 }, launchAllowance: 50 };
    expect(passesAt([0, 1, 2, 3, 60], bounded)).toEqual([50, 50, 20, 0, 50]);
    expect(passesAt([0, 1], { launchesPerMinute: { q: 1 }, launchAllowance: 50 })).toEqual([50, 50]);
    const slot = slotOf(waitOf('s', 'u'), NOW);
    expect(addToCounters(countGrant(EMPTY_COUNTERS, slot), slot, -1).launches).toEqual({
      p: { windowStart: NOW, granted: 1 },
    });
  });
});

describe('seats of licensed software', () => {
  const seat = { name: 'aws cad', limit: 2 };
  it('are taken over all sweeps, and units without one go on', () => {
    const first = gate(
      's0',
      [1, 2].map((n) => waitOf('s0', `a${String(n)}`, { seat })),
    );
    const second = gate('s1', [waitOf('s1', 'b1', { seat }), waitOf('s1', 'b2')]);
    const { grants } = decideGrants([first, second], rules());
    expect(grants.map(({ unitId }) => unitId)).toEqual(['a1', 'b1', 'b2']);
    const held = holding(waitOf('s9', 'x', { seat }), waitOf('s9', 'y', { seat }));
    expect(decideGrants([first], rules({ counters: held })).grants).toEqual([]);
  });
});

describe('a budget', () => {
  const rich = (unspentUsd: number, attemptCostUsd: number | null) => gate('s', 3, { unspentUsd, attemptCostUsd });

  it('is reserved for what runs, and the rest waits instead of being refused', () => {
    const decision = decideGrants([rich(2, 1)], rules({ counters: holding(waitOf('s', 'x')) }));
    expect(decision.grants.length).toBe(1);
    expect(decision.refusals).toEqual([]);
  });

  it('that one more attempt would pass refuses all that waits', () => {
    expect(decideGrants([rich(0.5, 1)], rules()).refusals.map(({ error }) => error)).toEqual([
      'BudgetExhaustedError',
      'BudgetExhaustedError',
      'BudgetExhaustedError',
    ]);
  });

  it('refuses attempts whose price nobody knows', () => {
    expect(decideGrants([rich(100, null)], rules()).refusals.length).toBe(3);
    expect(decideGrants([gate('s', 3)], rules()).grants.length).toBe(3);
  });

  it('does not bind attempts that cost nothing until it is spent', () => {
    expect(decideGrants([rich(0.01, 0)], rules()).grants.length).toBe(3);
    expect(decideGrants([rich(0, 0)], rules()).refusals.length).toBe(3);
  });
});

describe('counters', () => {
  it('are back where they were after a slot is taken and given back', () => {
    fc.assert(
      fc.property(situations, fc.integer({ min: 1, max: 64 }), ({ rules: { counters } }, vCpus) => {
        const slot = slotOf(waitOf('s1', 'u', { vCpus, seat: { name: 'cad', limit: 9 } }), NOW);
        expect(addToCounters(addToCounters(counters, slot, 1), slot, -1)).toEqual(counters);
      }),
    );
  });

  it('forget what is at zero', () => {
    const slot = slotOf(waitOf('s', 'u'), NOW);
    expect(addToCounters(addToCounters(EMPTY_COUNTERS, slot, 1), slot, -1)).toEqual(EMPTY_COUNTERS);
  });
});
