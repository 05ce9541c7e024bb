import { describe, expect, it } from 'vitest';
import type { ApiClient, CallAnswer } from '#cli/remote/api-client';
import { durationText, Pace } from '#cli/remote/pace';
import { RemoteError } from '#cli/remote/remote-error';
import { watchSweep } from '#cli/remote/watch-sweep';
import { ledger, SWEEP_ID, sweepDetail } from './api-answers.ts';

type Sweep = CallAnswer<'getSweep'>;

/** A host that answers with these, one after the other; waiting only moves a clock. */
function watching(answers: readonly (Sweep | Error)[]) {
  const told: string[] = [];
  const shown: string[] = [];
  let seconds = 0;
  let at = 0;
  const call = (async () => {
    const answer = answers[Math.min(at, answers.length - 1)] ?? new Error('no answer left');
    at += 1;
    if (answer instanceof Error) throw answer;
    return answer;
  }) as ApiClient['call'];
  const work = watchSweep(SWEEP_ID, {
    client: { call },
    everySeconds: 10,
    nowSeconds: () => seconds,
    delay: async (wait) => {
      seconds += wait;
    },
    tell: (line) => told.push(line),
    show: (line) => shown.push(line),
  });
  return { work, told, shown };
}

const closed = (scored: number, open: number, more: Partial<Sweep> = {}): Sweep =>
  sweepDetail({ ledger: ledger({ scored, open }), ...more });
const end = closed(2, 0, { status: 'closed', runningUnits: 0 });
const away = new RemoteError('unreachable', 'cannot reach the host');

describe('watching a sweep', () => {
  it('tells what changes, once each, and ends with the sweep', async () => {
    const { work, told } = watching([
      sweepDetail({ status: 'accepted', ledger: null }),
      closed(0, 2),
      closed(0, 2),
      closed(1, 1),
      end,
    ]);
    expect((await work).status).toBe('closed');
    expect(told).toEqual([
      `${SWEEP_ID}: accepted`,
      `${SWEEP_ID}: running`,
      '2 units planned',
      '[1/2] 2 planned = 1 scored + 1 open',
      `${SWEEP_ID}: closed`,
      '[2/2] 2 planned = 2 scored',
    ]);
  });

  it('outlasts a host that is away for a while, and says so once', async () => {
    const { work, told } = watching([closed(0, 2), away, away, new RemoteError('host', 'fault', { status: 503 }), end]);
    expect((await work).status).toBe('closed');
    expect(told.filter((line) => line.includes('goes on by itself'))).toHaveLength(1);
    expect(told).toContain('the host answers again');
  });

  it('gives up after half an hour, and says that the sweep goes on', async () => {
    const { work } = watching([closed(0, 2), away]);
    await expect(work).rejects.toThrow(`${SWEEP_ID} goes on by itself`);
  });

  it.each([
    ['credentials that have expired', new RemoteError('access', 'expired', { status: 403 })],
    ['a sweep that is not there', new RemoteError('request', 'no such sweep', { status: 404 })],
    ['an answer it does not understand', new RemoteError('host', 'another version')],
  ])('does not wait for %s to mend itself', async (_what, error) => {
    const { work } = watching([error]);
    await expect(work).rejects.toThrow(error.message);
    await expect(work).rejects.toMatchObject({
      message: error.status === 404 ? 'no such sweep' : (expect.stringContaining('goes on by itself') as string),
    });
  });

  it('says how long it goes on only after it has seen a pace, and never of a sweep that is paused', async () => {
    const steps = Array.from({ length: 12 }, (_, at) => closed(at, 12 - at));
    const { work, shown } = watching([...steps, closed(11, 1, { paused: true }), end]);
    await work;
    const withEnd = shown.filter((line) => line.includes('left at this pace'));
    expect(withEnd[0]).toMatch(/^6\/12 closed;.*about 60 s left at this pace$/u);
    expect(withEnd).toHaveLength(6);
    expect(shown.at(-1)).toContain('paused');
  });
});

describe('a pace', () => {
  it('forgets what is long ago', () => {
    const pace = new Pace();
    pace.see(0, 0);
    pace.see(100, 50);
    expect(pace.secondsLeft(100)).toBe(100);
    pace.see(5000, 50);
    expect(pace.secondsLeft(100)).toBeNull();
  });

  it.each([
    [45, '45 s'],
    [700, '12 min'],
    [12_000, '3 h 20 min'],
    [187_200, '2 d 4 h'],
  ])('%i s is %s', (seconds, text) => {
    expect(durationText(seconds)).toBe(text);
  });
});
