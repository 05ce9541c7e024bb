import { WaitRowSchema, type WaitRow } from '#core/rows';
import type { TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { RowKey } from '#ports/unit-store';
import { findRow, withConflictRetry } from './rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'tokens'>;

/** Stores a callback before the work it waits for begins. A repeat replaces the token. */
export async function openWait(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  key: RowKey,
  payload: Pick<TokenPayload, 'token' | 'sweepId' | 'unitId' | 'attemptId' | 'timeoutSeconds'>,
): Promise<void> {
  const now = ports.clock.now();
  const row: WaitRow = {
    token: payload.token,
    sweepId: payload.sweepId,
    unitId: payload.unitId,
    attemptId: payload.attemptId,
    since: now.toISOString(),
    giveUpAt: new Date(now.getTime() + payload.timeoutSeconds * 1000).toISOString(),
    unreachableSince: null,
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

/** Writes down whether the guest answers, when that has changed. @returns since when it does not. */
export async function noteReach(
  ports: Pick<Ports, 'unitStore' | 'clock'>,
  key: RowKey,
  isReached: boolean,
): Promise<string | null> {
  return await withConflictRetry(async () => {
    const now = await findRow(ports.unitStore, key, WaitRowSchema);
    if (now === undefined) return null;
    const { unreachableSince } = now.value;
    if (isReached === (unreachableSince === null)) return unreachableSince;
    const since = isReached ? null : ports.clock.now().toISOString();
    const body: WaitRow = { ...now.value, unreachableSince: since };
    await ports.unitStore.write([{ put: { ...key, body }, when: { version: now.version } }]);
    return since;
  });
}
