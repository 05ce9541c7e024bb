import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import { NO_FAULTS } from './chance.ts';
import { GUEST_TIMER_SECONDS } from './cloud.ts';
import { CALM } from './schedule.ts';
import { ModelWorld, type Interference } from './world.ts';

const REAP_EVERY_SECONDS = 300;

/** Each layer that ends machines, with the function it is, and how long after its expiry a machine may live by it alone. */
const LAYERS = [
  { layer: 'schedule', functionName: 'expire-sandbox', seconds: 60 },
  { layer: 'reaper', functionName: 'reap-sandboxes', seconds: REAP_EVERY_SECONDS },
  { layer: 'guest timer', functionName: null, seconds: GUEST_TIMER_SECONDS },
] as const;

const RUNS = 20;
/** Called by rate: one that is dead does nothing at each. */
const TICKS: ReadonlySet<string> = new Set(['grant-slots', 'watch-runs', 'reap-sandboxes']);

/** When everything but one layer dies, and what the machines are like then. */
const deaths = fc.record({
  seed: fc.integer({ min: 0, max: 2 ** 31 }),
  afterSeconds: fc.integer({ min: 0, max: 300 }),
  answerLost: fc.constantFrom(0, 50),
  seenLate: fc.constantFrom(0, 80),
  endsSlowly: fc.constantFrom(0, 60),
});

/** Nothing of ours works from a moment on but one function: no execution, no event, no other function. */
function allDeadBut(functionName: string | null, afterSeconds: number): Interference {
  const isOver = (world: ModelWorld): boolean =>
    world.clock.now().getTime() >= Date.parse('2026-01-01T00:00:00.000Z') + afterSeconds * 1000;
  return {
    hasGuestTimer: functionName === null,
    event: (_, world) => (isOver(world) ? { copies: 0 } : undefined),
    invocation: async (name, call, world) => {
      if (!isOver(world) || name === functionName) return await call();
      if (TICKS.has(name)) return 'null';
      throw Object.assign(new Error('everything else is dead'), { name: 'Lambda.Unknown' });
    },
  };
}

/** How long each machine of ours lived beyond its expiry, in seconds. */
function overtimes({ cloud }: ModelWorld): readonly number[] {
  return [...cloud.machines.values()]
    .filter(({ attemptId }) => attemptId !== null)
    .map((machine) => {
      cloud.stateOf(machine);
      return ((machine.endedAt ?? Infinity) - Date.parse(machine.expiresAt)) / 1000;
    });
}

describe.each(LAYERS)('the $layer alone', ({ functionName, seconds }) => {
  it('is as quick as it is declared', () => {
    if (functionName !== 'reap-sandboxes') return;
    const trigger = FUNCTIONS.find(({ name }) => name === functionName)?.trigger;
    expect(trigger).toMatchObject({ everySeconds: REAP_EVERY_SECONDS });
  });

  it('ends every machine in its time, with everything else dead', async () => {
    let machines = 0;
    for (const { seed, afterSeconds, ...rates } of fc.sample(deaths, { numRuns: RUNS, seed: 1 })) {
      const schedule = { ...CALM, seed, rates: { ...NO_FAULTS, ...rates }, units: 2 };
      const world = await ModelWorld.create(schedule, allDeadBut(functionName, afterSeconds));
      await world.start();
      await world.clock.elapse(7 * 3_600_000);
      const late = overtimes(world).filter((overtime) => overtime > seconds);
      expect(late, world.truth.timeline()).toEqual([]);
      machines += overtimes(world).length;
      world.host.close();
    }
    expect(machines).toBeGreaterThan(RUNS);
  }, 300_000);
});
