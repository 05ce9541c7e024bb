import type { ApiClient, CallAnswer } from './api-client.ts';
import { durationText, Pace } from './pace.ts';
import { patiently, type Patience } from './patience.ts';
import { countsText, sweepState } from './sweep-text.ts';

type Sweep = CallAnswer<'getSweep'>;

export interface WatchDeps extends Pick<Patience, 'delay' | 'nowSeconds'> {
  readonly client: Pick<ApiClient, 'call'>;
  /** The line that says how it stands. */
  readonly show: (line: string) => void;
  /** A line of its own, for what has happened. */
  readonly tell: (line: string) => void;
  readonly everySeconds: number;
}

/** Follows a sweep until it ends, over hiccups of network and host. @throws RemoteError */
export async function watchSweep(sweepId: string, deps: WatchDeps): Promise<Sweep> {
  const { client, show, tell, delay, nowSeconds } = deps;
  const meanwhile = `${sweepId} goes on by itself; \`examhall watch ${sweepId}\` follows it again.`;
  const pace = new Pace();
  let before: Sweep | null = null;
  for (;;) {
    const sweep: Sweep = await patiently(async () => await client.call('getSweep', { params: { sweepId } }), {
      tell,
      delay,
      nowSeconds,
      meanwhile,
    });
    for (const line of changes(before, sweep)) tell(line);
    if (sweep.status === 'closed' || sweep.status === 'failed') return sweep;
    if (sweep.paused || sweep.cancelled) pace.forget();
    else pace.see(nowSeconds(), closedOf(sweep));
    show(statusText(sweep, pace));
    before = sweep;
    await delay(deps.everySeconds);
  }
}

function changes(before: Sweep | null, now: Sweep): readonly string[] {
  const lines: string[] = [];
  if (before === null || sweepState(before) !== sweepState(now)) lines.push(`${now.sweepId}: ${sweepState(now)}`);
  const isPlanned = now.ledger !== null;
  if (isPlanned && (before?.ledger === null || before === null))
    lines.push(`${String(now.ledger?.planned)} units planned`);
  if (before !== null && closedOf(before) !== closedOf(now))
    lines.push(`[${String(closedOf(now))}/${String(now.ledger?.planned ?? 0)}] ${countsText(now)}`);
  return lines;
}

function closedOf({ ledger }: Sweep): number {
  return ledger === null ? 0 : ledger.planned - ledger.counts.open;
}

function statusText(sweep: Sweep, pace: Pace): string {
  const { ledger, runningUnits } = sweep;
  if (ledger === null) return 'planning';
  const waiting = Math.max(0, ledger.counts.open - runningUnits);
  const parts = [
    `${String(closedOf(sweep))}/${String(ledger.planned)} closed`,
    `${String(runningUnits)} running`,
    `${String(waiting)} waiting`,
  ];
  if (sweep.meanScore !== null) parts.push(`mean score ${sweep.meanScore.toFixed(2)}`);
  if (sweep.paused) parts.push('paused');
  const left = pace.secondsLeft(ledger.planned);
  if (left !== null) parts.push(`about ${durationText(left)} left at this pace`);
  return parts.join('; ');
}
