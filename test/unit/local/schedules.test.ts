import { describe, expect, it } from 'vitest';

import { VirtualClock } from '#local/clock';
import { Schedules } from '#local/schedules';

function make(): { clock: VirtualClock; schedules: Schedules; calls: string[]; call: (name: string) => () => void } {
  const clock = new VirtualClock();
  const calls: string[] = [];
  const start = clock.now().getTime();
  const call = (name: string) => (): void => {
    calls.push(`${name}@${(clock.now().getTime() - start) / 1000}`);
  };
  return { clock, schedules: new Schedules({ clock }), calls, call };
}

describe('Schedules', () => {
  it('calls a rate schedule once each interval, without drift', async () => {
    const { clock, schedules, calls, call } = make();
    schedules.every('watch', 60, call('watch'));
    await clock.elapse(250_000);
    expect(calls).toEqual(['watch@60', 'watch@120', 'watch@180', 'watch@240']);
  });

  it('calls a one-time schedule at its date and forgets it', async () => {
    const { clock, schedules, calls, call } = make();
    schedules.at('expire', new Date(clock.now().getTime() + 90_000), call('expire'));
    expect(schedules.has('expire')).toBe(true);
    await clock.elapse(600_000);
    expect(calls).toEqual(['expire@90']);
    expect(schedules.names()).toEqual([]);
  });

  it('calls a schedule whose date has passed at once', async () => {
    const { clock, schedules, calls, call } = make();
    schedules.at('late', new Date(0), call('late'));
    await clock.elapse(1);
    expect(calls).toEqual(['late@0']);
  });

  it('changes nothing when a name is created again', async () => {
    const { clock, schedules, calls, call } = make();
    schedules.at('expire', new Date(clock.now().getTime() + 1000), call('first'));
    schedules.at('expire', new Date(clock.now().getTime() + 500), call('second'));
    schedules.every('watch', 60, call('first'));
    schedules.every('watch', 1, call('second'));
    await clock.elapse(60_000);
    expect(calls).toEqual(['first@1', 'first@60']);
  });

  it('removes what exists and does not mind what does not', async () => {
    const { clock, schedules, calls, call } = make();
    schedules.at('expire', new Date(clock.now().getTime() + 1000), call('expire'));
    schedules.every('watch', 1, call('watch'));
    schedules.remove('expire');
    schedules.remove('watch');
    schedules.remove('never');
    await clock.elapse(10_000);
    expect(calls).toEqual([]);
  });

  it('keeps a failure and goes on', async () => {
    const { clock, schedules } = make();
    schedules.every('watch', 10, () => Promise.reject(new RangeError('no')));
    await clock.elapse(35_000);
    expect(schedules.failures).toMatchObject([
      { name: 'watch', error: 'RangeError: no', at: '2026-01-01T00:00:10.000Z' },
      { at: '2026-01-01T00:00:20.000Z' },
      { at: '2026-01-01T00:00:30.000Z' },
    ]);
  });

  it('stops everything when closed', async () => {
    const { clock, schedules, calls, call } = make();
    schedules.every('watch', 1, call('watch'));
    schedules.at('expire', new Date(clock.now().getTime() + 1000), call('expire'));
    schedules.close();
    await clock.elapse(10_000);
    expect(calls).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('refuses a rate that is not above zero and a date that is none', () => {
    const { schedules } = make();
    expect(() => schedules.every('watch', 0, () => undefined)).toThrow('must be above 0');
    expect(() => schedules.at('expire', new Date('never'), () => undefined)).toThrow('no valid date');
  });
});
