import { setTimeout as sleep } from 'node:timers/promises';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import type { ApiClient, CallAnswer } from './api-client.ts';
import { allSandboxes } from './list-sandboxes.ts';
import { patiently } from './patience.ts';

export interface StopOptions {
  /** How long to look on until everything is released; 0 only asks. */
  readonly waitMinutes: number;
  readonly tell: (line: string) => void;
  readonly delay?: (seconds: number) => Promise<void>;
  /** A clock that only goes forward. */
  readonly nowSeconds?: () => number;
}

export interface Stopped {
  readonly sweeps: CallAnswer<'stopAll'>['sweeps'];
  /** Sandboxes that are still there, but for those left on purpose. */
  readonly left: readonly SandboxEntry[];
  readonly kept: readonly SandboxEntry[];
}

const EVERY_SECONDS = 10;

/** Cancels every open sweep of a host, and looks on until no sandbox of theirs is left or the time is over. */
export async function stopAll(
  client: Pick<ApiClient, 'baseUrl' | 'call'>,
  { waitMinutes, tell, ...clock }: StopOptions,
): Promise<Stopped> {
  const delay = clock.delay ?? (async (seconds) => await sleep(seconds * 1000));
  const nowSeconds = clock.nowSeconds ?? (() => performance.now() / 1000);
  const { sweeps } = await client.call('stopAll', {});
  const givesUpAt = nowSeconds() + waitMinutes * 60;
  const patience = { tell, delay, nowSeconds, meanwhile: 'What was cancelled stays cancelled, and releases go on.' };
  let before = -1;
  for (;;) {
    const sandboxes = await patiently(async () => await allSandboxes(client), patience);
    const there = sandboxes.filter(({ state }) => state !== 'gone');
    const isLeftOnPurpose = ({ owner }: SandboxEntry): boolean => owner === 'kept' || owner === 'detached';
    const left = there.filter((entry) => !isLeftOnPurpose(entry));
    const kept = there.filter(isLeftOnPurpose);
    // What names no attempt is ended by nobody here: it is told of, and not waited for.
    const isWaitedFor = left.some(({ attemptId }) => attemptId !== null);
    if (!isWaitedFor || nowSeconds() >= givesUpAt) return { sweeps, left, kept };
    if (left.length !== before) tell(`${String(left.length)} sandboxes are being released`);
    before = left.length;
    await delay(EVERY_SECONDS);
  }
}
