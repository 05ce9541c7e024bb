import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { VirtualClock } from '#local/clock';
import { type BusEvent, EventBus, type EventBusOptions } from '#local/event-bus';
import { type EventPattern, matchesPattern } from '#local/event-pattern';

const EVENT = {
  source: 'examhall.units',
  detailType: 'Unit Closed',
  detail: { status: 'FAILED', attempt: 2, tags: ['a', 'b'], unit: { id: 'u-1', agent: null } },
};

const MATCHES: readonly { readonly pattern: EventPattern; readonly expected: boolean }[] = [
  { pattern: {}, expected: true },
  { pattern: { source: ['examhall.units'] }, expected: true },
  { pattern: { source: ['other', 'examhall.units'] }, expected: true },
  { pattern: { source: ['examhall'] }, expected: false },
  { pattern: { source: [{ prefix: 'examhall.' }] }, expected: true },
  { pattern: { source: [{ prefix: 'units' }] }, expected: false },
  { pattern: { 'detail-type': ['Unit Closed'] }, expected: true },
  { pattern: { 'detail-type': ['Unit Opened'] }, expected: false },
  { pattern: { source: ['examhall.units'], 'detail-type': ['Unit Opened'] }, expected: false },
  { pattern: { detail: { status: ['FAILED', 'ABORTED'] } }, expected: true },
  { pattern: { detail: { status: ['SUCCEEDED'] } }, expected: false },
  { pattern: { detail: { attempt: [2] } }, expected: true },
  { pattern: { detail: { attempt: ['2'] } }, expected: false },
  { pattern: { detail: { tags: ['b'] } }, expected: true },
  { pattern: { detail: { unit: { id: ['u-1'] } } }, expected: true },
  { pattern: { detail: { unit: { id: ['u-2'] } } }, expected: false },
  { pattern: { detail: { unit: { agent: [null] } } }, expected: true },
  { pattern: { detail: { status: [{ exists: true }], reason: [{ exists: false }] } }, expected: true },
  { pattern: { detail: { status: [{ exists: false }] } }, expected: false },
  { pattern: { detail: { unit: { agent: [{ exists: true }] } } }, expected: true },
  { pattern: { detail: { status: [{ 'anything-but': 'SUCCEEDED' }] } }, expected: true },
  { pattern: { detail: { status: [{ 'anything-but': ['SUCCEEDED', 'FAILED'] }] } }, expected: false },
  { pattern: { detail: { status: [{ 'anything-but': { prefix: 'FA' } }] } }, expected: false },
  { pattern: { detail: { reason: [{ 'anything-but': 'x' }] } }, expected: false },
];

function busWith(options: Omit<EventBusOptions, 'clock'> = {}): { bus: EventBus; clock: VirtualClock } {
  const clock = new VirtualClock();
  return { bus: new EventBus({ clock, ...options }), clock };
}

describe('event patterns', () => {
  it.each(MATCHES)('$pattern against the event gives $expected', ({ pattern, expected }) => {
    expect(matchesPattern(pattern, EVENT)).toBe(expected);
  });

  it.each([
    ['{ "source": [] }', "'source' is an empty list"],
    ['{ "detail": { "status": [{ "suffix": "X" }] } }', 'allowed filters: prefix, exists, anything-but'],
    ['{ "region": ["eu-west-1"] }', "'region' is not matched here"],
    ['{ "detail": { "status": "FAILED" } }', "'detail.status' must be a list or an object"],
  ])('refuses the pattern %s when the rule is made', (pattern, message) => {
    const { bus } = busWith();
    expect(() =>
      bus.addRule({ name: 'rule', pattern: JSON.parse(pattern) as EventPattern, target: () => undefined }),
    ).toThrow(message);
  });
});

describe('EventBus', () => {
  it('delivers later, and gives every target its own copy', async () => {
    const { bus, clock } = busWith();
    const seen: BusEvent[] = [];
    for (const name of ['one', 'two']) {
      bus.addRule({ name, pattern: { source: ['s'] }, target: (event) => void seen.push(event) });
    }
    const detail = { list: [1] };
    bus.publish({ source: 's', detailType: 't', detail });
    detail.list.push(2);
    expect(seen).toEqual([]);
    await clock.elapse(1);
    expect(seen.map((event) => event.detail)).toEqual([{ list: [1] }, { list: [1] }]);
    expect(seen[0]?.detail).not.toBe(seen[1]?.detail);
    expect(seen[0]?.id).toBe(seen[1]?.id);
  });

  it('tries a failing target again, later each time, until it succeeds', async () => {
    const { bus, clock } = busWith();
    const seconds: number[] = [];
    const target = (): void => {
      seconds.push(clock.now().getTime() / 1000);
      if (seconds.length < 4) throw new Error('not yet');
    };
    bus.addRule({ name: 'rule', pattern: {}, target });
    const start = clock.now().getTime() / 1000;
    bus.publish(EVENT);
    await clock.elapse(3_600_000);
    expect(seconds.map((second) => second - start)).toEqual([0, 1, 3, 7]);
    expect(bus.deadLetters).toEqual([]);
  });

  it('sets an event aside when its attempts are spent', async () => {
    const { bus, clock } = busWith({ maxAttempts: 3 });
    bus.addRule({ name: 'rule', pattern: {}, target: () => Promise.reject(new TypeError('broken')) });
    bus.publish(EVENT);
    await clock.elapse(3_600_000);
    expect(bus.deadLetters).toMatchObject([
      { rule: 'rule', attempts: 3, error: 'TypeError: broken', event: { detail: EVENT.detail } },
    ]);
  });

  it('sets an event aside when it is too old', async () => {
    const { bus, clock } = busWith({ maxAgeSeconds: 10 });
    bus.addRule({ name: 'rule', pattern: {}, target: () => Promise.reject(new Error('broken')) });
    bus.publish(EVENT);
    await clock.elapse(3_600_000);
    expect(bus.deadLetters.map(({ attempts }) => attempts)).toEqual([4]);
  });

  it('loses, repeats and delays as told', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ copies: fc.nat(3), delayMilliseconds: fc.nat(500) }), { minLength: 1, maxLength: 20 }),
        async (faults) => {
          const { bus, clock } = busWith({ fault: (_, event) => faults[Number(event.detail['index'])] });
          const times = faults.map((): number[] => []);
          const target = ({ detail }: BusEvent): void =>
            void times[Number(detail['index'])]?.push(clock.now().getTime());
          bus.addRule({ name: 'rule', pattern: {}, target });
          const start = clock.now().getTime();
          faults.forEach((_, index) => bus.publish({ source: 's', detailType: 't', detail: { index } }));
          await clock.elapse(1000);
          const expected = faults.map(({ copies, delayMilliseconds }) =>
            Array.from({ length: copies }, () => start + delayMilliseconds),
          );
          expect(times).toEqual(expected);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('keeps virtual time while a target works', async () => {
    const { bus, clock } = busWith();
    let hasTimerFired = false;
    let firedDuringWork: boolean | undefined;
    const target = async (): Promise<void> => {
      clock.setTimer(1, () => (hasTimerFired = true));
      await new Promise((resolve) => setTimeout(resolve, 5));
      firedDuringWork = hasTimerFired;
    };
    bus.addRule({ name: 'rule', pattern: {}, target });
    bus.publish(EVENT);
    await clock.elapse(10);
    expect(firedDuringWork).toBe(false);
  });

  it('delivers nothing after it is closed', async () => {
    const { bus, clock } = busWith();
    let count = 0;
    bus.addRule({ name: 'rule', pattern: {}, target: () => void (count += 1) });
    bus.publish(EVENT);
    bus.close();
    bus.publish(EVENT);
    await clock.elapse(1000);
    expect({ count, pending: bus.pendingDeliveries }).toEqual({ count: 0, pending: 0 });
  });

  it('refuses a second rule of the same name', () => {
    const { bus } = busWith();
    bus.addRule({ name: 'rule', pattern: {}, target: () => undefined });
    expect(() => bus.addRule({ name: 'rule', pattern: {}, target: () => undefined })).toThrow("a rule 'rule' already");
    bus.removeRule('rule');
    bus.addRule({ name: 'rule', pattern: {}, target: () => undefined });
  });
});
