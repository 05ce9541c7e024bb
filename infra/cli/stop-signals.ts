import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { rowKeys } from '#core/keys';
import type { Session } from '#local/session';

type Provider = ReturnType<Session['host']['ports']['providers']['all']>[number];
type StopSignal = 'SIGINT' | 'SIGTERM';

const SIGNALS: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];
/** Sandboxes that are not gone by then are left to the next run. */
const RELEASE_SECONDS = 30;
/** By then a sandbox whose making had begun can be found. */
const SETTLE_MILLISECONDS = 250;

/** `timeout` and terminals may send one signal to a process and to its group: what comes so soon is the same press. */
const SAME_PRESS_MILLISECONDS = 1000;

/**
 * Tells a first press from a second one, which ends the process at once.
 * @param milliseconds a clock that never goes back.
 */
export function stopPresses(
  onFirst: (signal: StopSignal) => void,
  onSecond: (signal: StopSignal) => void = (signal) => process.exit(128 + os.constants.signals[signal]),
  milliseconds: () => number = () => performance.now(),
): (signal: StopSignal) => void {
  let firstAt: number | null = null;
  return (signal) => {
    if (firstAt === null) {
      firstAt = milliseconds();
      onFirst(signal);
    } else if (milliseconds() - firstAt >= SAME_PRESS_MILLISECONDS) {
      onSecond(signal);
    }
  };
}

/** A person or the system asked the run to stop. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
  /** 128 and the signal's number, as shells have it. */
  readonly exitCode: number;

  constructor(signal: StopSignal, notReleased: readonly string[]) {
    const left = notReleased.length === 0 ? '' : ` Not released: ${notReleased.join(', ')}; the next run does it.`;
    super(`Stopped by ${signal}.${left} Run the same command again to go on.`);
    this.exitCode = 128 + os.constants.signals[signal];
  }
}

/**
 * Opens a session with SIGINT and SIGTERM held back: one that comes meanwhile is acted on when the session is there, or
 * could not be opened, so that nothing half-made is left. A second press ends the process at once.
 * @throws StoppedError
 */
export async function openUnlessStopped<Opened extends { readonly session: Pick<Session, 'close'> }>(
  open: () => Promise<Opened>,
): Promise<Opened> {
  const seen: { signal?: StopSignal } = {};
  const onSignal = stopPresses((signal) => {
    seen.signal = signal;
  });
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    const opened = await open();
    if (seen.signal === undefined) return opened;
    await opened.session.close();
    throw new StoppedError(seen.signal, []);
  } catch (error) {
    throw seen.signal === undefined ? error : new StoppedError(seen.signal, []);
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

/**
 * Waits for the work, or for SIGINT or SIGTERM. Then the session is closed first, so that nothing of what follows is judged,
 * and every sandbox of an open attempt is released: no agent outlives the run. A second press ends the process at once.
 * @throws StoppedError
 */
export async function untilStopped<Result>(
  session: Session,
  work: Promise<Result>,
  tell: (line: string) => void,
): Promise<Result> {
  return await new Promise<Result>((resolve, reject) => {
    let isStopping = false;
    const onSignal = stopPresses((signal) => {
      isStopping = true;
      tell(`${signal}: releasing sandboxes; once more to leave them to the next run`);
      void within(RELEASE_SECONDS, releaseOpen(session)).then((notReleased) => {
        reject(new StoppedError(signal, notReleased));
      });
    });
    const settle = (act: () => void): void => {
      if (isStopping) return;
      for (const signal of SIGNALS) process.off(signal, onSignal);
      act();
    };
    for (const signal of SIGNALS) process.on(signal, onSignal);
    work.then(
      (result) => {
        settle(() => {
          resolve(result);
        });
      },
      (error: unknown) => {
        settle(() => {
          reject(error instanceof Error ? error : new Error(String(error)));
        });
      },
    );
  });
}

/**
 * Closes a session in which attempts are open, and releases their sandboxes; one that is being made at this moment too.
 * @returns what could not be released, with the reason.
 */
export async function releaseOpen(session: Session): Promise<readonly string[]> {
  const notReleased: string[] = [];
  try {
    // Without the ledger everything that was not kept on purpose is taken for open.
    const open = await openAttempts(session).catch(() => null);
    await session.close();
    const providers = session.host.ports.providers.all();
    for (const provider of providers) await releaseOf(provider, open, notReleased);
    await sleep(SETTLE_MILLISECONDS);
    for (const provider of providers) await releaseOf(provider, open, notReleased);
  } catch (error) {
    notReleased.push(messageOf(error));
  }
  return [...new Set(notReleased)];
}

async function releaseOf(provider: Provider, open: ReadonlySet<string> | null, notReleased: string[]): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await provider.list(cursor);
    for (const { sandboxId, attemptId, state } of page.sandboxes) {
      if (state === 'gone' || !(open?.has(attemptId) ?? state !== 'stopped')) continue;
      try {
        await provider.release({ sandboxId, resources: [] }, 'delete');
      } catch (error) {
        notReleased.push(`${sandboxId} (${messageOf(error)})`);
      }
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
}

async function openAttempts(session: Session): Promise<ReadonlySet<string>> {
  const { pk } = rowKeys.openAttempt('');
  const open = new Set<string>();
  let cursor: string | undefined;
  do {
    const query = { pk, limit: 500, ...(cursor === undefined ? {} : { cursor }) };
    const page = await session.host.ports.unitStore.query(query);
    for (const row of page.rows) open.add(row.sk);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return open;
}

async function within(seconds: number, work: Promise<readonly string[]>): Promise<readonly string[]> {
  return await Promise.race([
    work,
    new Promise<readonly string[]>((resolve) => {
      setTimeout(() => {
        resolve([`no end within ${String(seconds)} s`]);
      }, seconds * 1000).unref();
    }),
  ]);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
