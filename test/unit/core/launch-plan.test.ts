import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  launchToken,
  MOST_LAUNCH_TRIES,
  nextTry,
  planLaunches,
  poolName,
  type Launch,
  type LaunchWish,
} from '#core/launch-plan';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const TYPES = ['m7i.xlarge', 'm6i.xlarge', 'm5.xlarge', 'g6.xlarge'];
const ZONES = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];
const POOLS = TYPES.flatMap((type) => ZONES.map((zone) => poolName(type, zone)));

const wishes: fc.Arbitrary<LaunchWish> = fc.record({
  types: fc.subarray(TYPES, { minLength: 1 }),
  zones: fc.subarray(ZONES, { minLength: 1 }),
  coolingPools: fc.subarray(POOLS),
  last: fc.option(
    fc.record({
      launchTry: fc.integer({ min: 1, max: 3 }),
      pool: fc.constantFrom(...POOLS),
      refused: fc.boolean(),
    }),
  ),
});

describe('a launch plan', () => {
  it('is the same for the same wish, and tries each pool of it once', () => {
    fc.assert(
      fc.property(wishes, (wish) => {
        const plan = planLaunches(wish);
        expect(planLaunches(wish)).toEqual(plan);
        const pools = plan.map(({ pool }) => pool);
        expect(new Set(pools).size).toBe(pools.length);
        const asked = wish.types.flatMap((type) => wish.zones.map((zone) => poolName(type, zone)));
        expect(pools).toEqual(expect.arrayContaining(asked));
        for (const { pool, type, zone } of plan) expect(pool).toBe(poolName(type, zone));
      }),
    );
  });

  it('starts a repeat with the pool and the try that were noted, wherever that zone is still ours', () => {
    fc.assert(
      fc.property(wishes, (wish) => {
        const [first] = planLaunches(wish);
        const { last } = wish;
        if (last === null || last.refused) return;
        const { launchTry, pool } = last;
        const isOurs = wish.zones.includes(pool.split(' ')[1] ?? '');
        if (isOurs) expect(first).toMatchObject({ launchTry, pool });
        else expect(planLaunches(wish).map(({ pool }) => pool)).not.toContain(last.pool);
      }),
    );
  });

  it('takes a pool that was refused for one like any other, and keeps its try', () => {
    const wish = { types: ['m7i.large'], zones: ['a', 'b'], coolingPools: ['m7i.large a'] };
    const last = { launchTry: 2, pool: 'm7i.large a' };
    const placed = (refused: boolean) =>
      planLaunches({ ...wish, last: { ...last, refused } }).map(
        ({ launchTry, pool }) => `${String(launchTry)} ${pool}`,
      );
    expect(placed(false)).toEqual(['2 m7i.large a', '2 m7i.large b']);
    expect(placed(true)).toEqual(['2 m7i.large b', '2 m7i.large a']);
  });

  it('puts pools that had no machine last, and keeps the order otherwise', () => {
    fc.assert(
      fc.property(wishes, (wish) => {
        const pools = planLaunches({ ...wish, last: null }).map(({ pool }) => pool);
        const cooling = pools.map((pool) => wish.coolingPools.includes(pool));
        expect(cooling).toEqual(cooling.toSorted((one, other) => Number(one) - Number(other)));
      }),
    );
    const plan = planLaunches({ types: ['m7i.large', 'm6i.large'], zones: ['a', 'b'], coolingPools: [], last: null });
    expect(plan.map(({ pool }) => pool)).toEqual(['m7i.large a', 'm7i.large b', 'm6i.large a', 'm6i.large b']);
  });

  it('gives every launch a token of its own, of 64 ASCII characters', () => {
    const launches = fc.uniqueArray(
      fc.record({
        attempt: fc.string({ unit: 'binary' }),
        launchTry: fc.integer({ min: 1, max: 9 }),
        type: fc.string(),
        zone: fc.string(),
      }),
      { minLength: 2, selector: (each) => JSON.stringify([each.attempt, each.launchTry, each.type, each.zone]) },
    );
    fc.assert(
      fc.property(launches, (all) => {
        const tokens = all.map(({ attempt, ...launch }) => launchToken(attempt, { ...launch, pool: '' }, sha256));
        expect(new Set(tokens).size).toBe(all.length);
        for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{64}$/u);
      }),
    );
  });

  it('gives a pool three tries', () => {
    const tries: number[] = [];
    let launch: Launch | null = { launchTry: 1, type: 't', zone: 'z', pool: 't z' };
    for (; launch !== null; launch = nextTry(launch)) tries.push(launch.launchTry);
    expect(tries).toEqual([1, 2, MOST_LAUNCH_TRIES]);
  });
});
