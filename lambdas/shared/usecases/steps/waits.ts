import { nextLookAt } from '#core/look-schedule';
import { WaitRowSchema, type WaitRow } from '#core/rows';
import { withConflictRetry } from '#core/stored-rows';
import type { TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { RowKey } from '#ports/unit-store';
import { findRow } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'tokens'>;

type Waiter = Pick<TokenPayload, 'token' | 'sweepId' | 'unitId' | 'attemptId' | 'timeoutSeconds'>;

/**
 * Stores a callback before the work it waits for begins. A repeat replaces the token. Our watcher looks as soon as it can,
 * unless `eventSeconds` says within how long an event is to come, or `quietSeconds` for how long somebody else looks.
 */
export async function openWait(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  key: RowKey,
  payload: Waiter,
  { eventSeconds, quietSeconds }: { readonly eventSeconds?: number; readonly quietSeconds?: number } = {},
): Promise<void> {
  const now = ports.clock.now();
  const later = (seconds: number): string => new Date(now.getTime() + seconds * 1000).toISOString();
  const since = now.toISOString();
  const eventBy = eventSeconds === undefined ? null : later(eventSeconds);
  const quiet = quietSeconds === undefined ? null : later(quietSeconds);
  const row: WaitRow = {
    token: payload.token,
    sweepId: payload.sweepId,
    unitId: payload.unitId,
    attemptId: payload.attemptId,
    since,
    giveUpAt: later(payload.timeoutSeconds),
    unreachableSince: null,
    eventBy,
    lookAt: eventBy === null ? quiet : nextLookAt({ since, eventBy, unreachableSince: null }, since),
  };
  await ports.unitStore.write([{ put: { ...key, body: row }, when: 'any' }]);
}

export type Answer =
  | { readonly kind: 'succeed'; readonly output: unknown }
  | { readonly kind: 'fail'; readonly error: string; readonly cause: string };

/** Longest cause that is told; the machines keep less of it. */
const CAUSE_LENGTH = 4000;

/** Resumes the waiter under `key` and forgets it. @returns false when nobody waits. */
export async function answerWait(ports: Needs, key: RowKey, answer: Answer): Promise<boolean> {
  const found = await findRow(ports.unitStore, key, WaitRowSchema);
  if (found === undefined) return false;
  const { token } = found.value;
  if (answer.kind === 'succeed') await ports.tokens.succeed(token, answer.output);
  else await ports.tokens.fail(token, answer.error, answer.cause.slice(0, CAUSE_LENGTH));
  await forgetWait(ports, key, token);
  return true;
}

/** Removes a wait, unless its state waits again with another token. */
export async function forgetWait(ports: Pick<Ports, 'unitStore'>, key: RowKey, token: string): Promise<void> {
  await withConflictRetry(async () => {
    const now = await findRow(ports.unitStore, key, WaitRowSchema);
    if (now?.value.token !== token) return;
    await ports.unitStore.write([{ remove: key, when: { version: now.version } }]);
  });
}

/** Writes down whether the guest answered, and when it is asked again. @returns since when it does not. */
export async function noteReach(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  key: RowKey,
  isReached: boolean,
): Promise<string | null> {
  const nowIso = ports.clock.now().toISOString();
  const next = await changeWait(ports, key, (wait) => {
    const unreachableSince = isReached ? null : (wait.unreachableSince ?? nowIso);
    return { ...wait, unreachableSince, lookAt: nextLookAt({ ...wait, unreachableSince }, nowIso) };
  });
  return next?.unreachableSince ?? null;
}

/** A look that failed by a fault of ours says nothing of the guest: it is asked again, after those that wait longer for it. */
export async function noteFailedLook(ports: Pick<Ports, 'unitStore' | 'clock'>, key: RowKey): Promise<void> {
  const lookAt = ports.clock.now().toISOString();
  await changeWait(ports, key, (wait) => ((wait.lookAt ?? wait.since) > lookAt ? wait : { ...wait, lookAt }));
}

/** No event will tell of the job's end: the watcher looks at it every time. */
export async function expectNoEvent(ports: Pick<Ports, 'unitStore'>, key: RowKey): Promise<void> {
  await changeWait(ports, key, (wait) => ({ ...wait, eventBy: null, lookAt: null }));
}

/** Whether a state still waits with this token, as far as the store knows. */
export async function isWaiting(ports: Pick<Ports, 'unitStore'>, key: RowKey, token: string): Promise<boolean> {
  return (await findRow(ports.unitStore, key, WaitRowSchema))?.value.token === token;
}

async function changeWait(
  { unitStore }: Pick<Ports, 'unitStore'>,
  key: RowKey,
  change: (wait: WaitRow) => WaitRow,
): Promise<WaitRow | undefined> {
  return await withConflictRetry(async () => {
    const now = await findRow(unitStore, key, WaitRowSchema);
    if (now === undefined) return undefined;
    const body = change(now.value);
    if (body === now.value) return body;
    await unitStore.write([{ put: { ...key, body }, when: { version: now.version } }]);
    return body;
  });
}
