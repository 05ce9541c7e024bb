import fc from 'fast-check';
import { addToCounters, slotOf, type SweepAtGate } from '#core/grants';
import { EMPTY_COUNTERS, type AdmitWait, type SlotCounters } from '#core/rows';

export const NOW = '2026-01-01T00:00:00.000Z';
const LATER = '2026-01-02T00:00:00.000Z';

export function waitOf(sweepId: string, unitId: string, overrides: Partial<AdmitWait> = {}): AdmitWait {
  return {
    token: `token-${unitId}`,
    sweepId,
    unitId,
    agentId: 'a',
    attempt: 1,
    run: 1,
    vCpus: 1,
    provider: 'p',
    seat: null,
    askedAt: NOW,
    grantedAttemptId: null,
    ...overrides,
  };
}

/** A sweep without any bound, and so many waits. */
export function gate(
  sweepId: string,
  waits: number | readonly AdmitWait[],
  overrides: Partial<SweepAtGate> = {},
): SweepAtGate {
  return {
    sweepId,
    concurrency: 1000,
    agentConcurrency: {},
    paused: false,
    cancelled: false,
    deadlineAt: LATER,
    unspentUsd: null,
    attemptCostUsd: null,
    waits:
      typeof waits === 'number'
        ? Array.from({ length: waits }, (_, index) => waitOf(sweepId, `${sweepId}-${String(index)}`))
        : waits,
    ...overrides,
  };
}

export function holding(...waits: readonly AdmitWait[]): SlotCounters {
  return waits.reduce((counters, wait) => addToCounters(counters, slotOf(wait, NOW), 1), EMPTY_COUNTERS);
}

const agents = ['a', 'b'] as const;
const providers = ['p', 'q'] as const;

/** Sweeps of any shape, with slots that are held already and rules to decide by. */
export const situations = fc
  .array(
    fc.record({
      concurrency: fc.integer({ min: 1, max: 6 }),
      agentCap: fc.option(fc.integer({ min: 1, max: 4 })),
      paused: fc.boolean(),
      cancelled: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
      late: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
      unspentCents: fc.option(fc.integer({ min: -5, max: 400 })),
      costCents: fc.option(fc.integer({ min: 0, max: 150 })),
      held: fc.nat(3),
      waits: fc.array(
        fc.record({
          agentId: fc.constantFrom(...agents),
          provider: fc.constantFrom(...providers),
          vCpus: fc.integer({ min: 1, max: 8 }),
          seat: fc.option(fc.record({ name: fc.constantFrom('cad', 'office'), limit: fc.constant(2) })),
        }),
        { maxLength: 10 },
      ),
    }),
    { maxLength: 5 },
  )
  .chain((shapes) =>
    fc.record({
      shapes: fc.constant(shapes),
      quota: fc.record({ p: fc.nat(20), q: fc.nat(20) }, { requiredKeys: [] }),
      launchAllowance: fc.nat(12),
      launchesPerMinute: fc.dictionary(fc.constantFrom(...providers), fc.nat(12)),
      brakes: fc.dictionary(fc.constantFrom(...providers), fc.double({ min: 1 / 64, max: 1, noNaN: true })),
      last: fc.option(fc.nat(5)),
    }),
  )
  .map(({ shapes, quota, launchAllowance, launchesPerMinute, brakes, last }) => {
    const sweeps = shapes.map((shape, index): SweepAtGate => {
      const sweepId = `s${String(index)}`;
      return gate(
        sweepId,
        shape.waits.map((wait, number) => waitOf(sweepId, `${sweepId}-${String(number)}`, wait)),
        {
          concurrency: shape.concurrency,
          agentConcurrency: shape.agentCap === null ? {} : { a: shape.agentCap },
          paused: shape.paused,
          cancelled: shape.cancelled,
          deadlineAt: shape.late ? NOW : LATER,
          unspentUsd: shape.unspentCents === null ? null : shape.unspentCents / 100,
          attemptCostUsd: shape.costCents === null ? null : shape.costCents / 100,
        },
      );
    });
    const held = shapes.flatMap((shape, index) =>
      Array.from({ length: Math.min(shape.held, shape.concurrency) }, (_, number) =>
        waitOf(`s${String(index)}`, `held-${String(index)}-${String(number)}`),
      ),
    );
    const counters = { ...holding(...held), lastSweepId: last === null ? null : `s${String(last)}` };
    const vCpuQuota: Record<string, number> = { ...quota };
    return { sweeps, rules: { nowIso: NOW, counters, vCpuQuota, launchAllowance, launchesPerMinute, brakes } };
  });
