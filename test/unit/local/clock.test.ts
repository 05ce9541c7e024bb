import { setImmediate as nextTurn } from 'node:timers/promises';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { RealClock, VirtualClock } from '#local/clock';

describe('VirtualClock', () => {
  it('jumps over a sleep', async () => {
    const clock = new VirtualClock();
    const before = clock.now().getTime();
    await clock.sleep(3 * 24 * 3600 * 1000);
    expect(clock.now().getTime() - before).toBe(3 * 24 * 3600 * 1000);
  });

  it('fires timers by time, and equal times in the order they were set', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 1, maxLength: 60 }), async (delays) => {
        const clock = new VirtualClock();
        const fired: number[] = [];
        delays.forEach((delay, index) => clock.setTimer(delay, () => fired.push(index)));
        await clock.elapse(21);
        const expected = delays.map((delay, index) => ({ delay, index }));
        expected.sort((a, b) => a.delay - b.delay || a.index - b.index);
        expect(fired).toEqual(expected.map(({ index }) => index));
      }),
      { numRuns: 50 },
    );
  });

  it('never fires a cancelled timer, however many there are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 200, maxLength: 400 }), async (keep) => {
        const clock = new VirtualClock();
        const fired: number[] = [];
        const cancels = keep.map((_, index) => clock.setTimer(1000 - index, () => fired.push(index)));
        keep.forEach((isKept, index) => {
          if (!isKept) cancels[index]?.();
        });
        expect(clock.pendingTimers).toBe(keep.filter(Boolean).length);
        await clock.elapse(1001);
        expect(fired.sort((a, b) => a - b)).toEqual(keep.flatMap((isKept, index) => (isKept ? [index] : [])));
      }),
      { numRuns: 20 },
    );
  });

  it('stands still while tracked work is pending', async () => {
    const clock = new VirtualClock();
    let finish = (): void => undefined;
    const work = clock.track(new Promise<void>((resolve) => (finish = resolve)));
    let hasFired = false;
    clock.setTimer(1, () => (hasFired = true));
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(hasFired).toBe(false);
    finish();
    await work;
    await clock.elapse(2);
    expect(hasFired).toBe(true);
  });

  it('moves on while tracked work only sleeps', async () => {
    const clock = new VirtualClock();
    await clock.track(clock.sleep(60_000));
    expect(clock.now().toISOString()).toBe('2026-01-01T00:01:00.000Z');
  });

  it('lets go of tracked work that was aborted', async () => {
    const clock = new VirtualClock();
    const abort = new AbortController();
    void clock.track(new Promise<void>(() => undefined), abort.signal);
    abort.abort();
    await clock.elapse(5);
    expect(clock.now().getMilliseconds()).toBe(5);
  });

  it('does not run towards background timers, but fires them on the way', async () => {
    const clock = new VirtualClock();
    let ticks = 0;
    const tick = (): void => {
      ticks += 1;
      clock.setTimer(1000, tick, { background: true });
    };
    clock.setTimer(1000, tick, { background: true });
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(ticks).toBe(0);
    await clock.elapse(5_500);
    expect(ticks).toBe(5);
  });

  it('advances by hand, firing what falls due and what that sets', async () => {
    const clock = new VirtualClock({ isAutomatic: false });
    const fired: string[] = [];
    clock.setTimer(10, () => {
      fired.push('first');
      clock.setTimer(10, () => fired.push('second'));
      clock.setTimer(100, () => fired.push('too late'));
    });
    await clock.advance(50);
    expect(fired).toEqual(['first', 'second']);
    expect(clock.now().getMilliseconds()).toBe(50);
  });

  it('rejects a sleep whose signal is aborted and forgets its timer', async () => {
    const clock = new VirtualClock({ isAutomatic: false });
    const abort = new AbortController();
    const sleep = clock.sleep(1000, abort.signal);
    abort.abort(new Error('no longer needed'));
    await expect(sleep).rejects.toThrow('no longer needed');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('RealClock', () => {
  it('fires a timer and not a cancelled one', async () => {
    const clock = new RealClock();
    const fired: string[] = [];
    const cancel = clock.setTimer(1, () => fired.push('cancelled'));
    cancel();
    await new Promise<void>((resolve) => clock.setTimer(new Date(clock.now().getTime() + 2), resolve));
    await clock.sleep(5);
    expect(fired).toEqual([]);
  });

  it('rejects a sleep that is aborted', async () => {
    await expect(new RealClock().sleep(60_000, AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });
});
