import { rowKeys } from '#core/keys';
import type { TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { beginStage, sandboxOf } from './steps/attempt-stages.ts';
import { checkSandbox } from './steps/readiness.ts';
import { isWaiting, openWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'channels' | 'tokens' | 'clock' | 'log'>;

/**
 * A machine is paid for while nobody sees that it is ready: it is looked at for as long as most take to start, and ever less
 * often, since many start at once and a provider counts requests. Seconds from one look to the next.
 */
const LOOK_SECONDS = [10, 10, 20, 20, 30] as const;
export const LOOKS_SECONDS = LOOK_SECONDS.reduce((sum, seconds) => sum + seconds, 0);
/** A guest that answers late makes each look long; no look begins later than this, so that the last one ends within the function's time. */
export const LAST_LOOK_SECONDS = 120;

/**
 * Waits until the sandbox is ready: looks now and then as long as this function may, then leaves the token to watch-runs. A look
 * that fails is told in the log, and the next one comes. One that can show nothing yet, since no machine of its provider is
 * ready so soon, is left out.
 */
export async function awaitSandbox(payload: TokenPayload, ports: Needs): Promise<void> {
  const attempt = await beginStage(ports, payload.attemptId, 'await');
  const { sandboxId, provider, launchedAt } = sandboxOf(attempt);
  const key = rowKeys.sandboxWait(payload.attemptId);
  await openWait(ports, key, payload, { quietSeconds: LOOKS_SECONDS });
  const { leastStartSeconds = 0 } = ports.providers.get(provider);
  const soonest = launchedAt === undefined ? 0 : Date.parse(launchedAt) + leastStartSeconds * 1000;
  const lastLook = ports.clock.now().getTime() + LAST_LOOK_SECONDS * 1000;
  for (const seconds of [...LOOK_SECONDS, null]) {
    if (ports.clock.now().getTime() > lastLook) return;
    if (ports.clock.now().getTime() >= soonest) {
      await checkSandbox(ports, attempt).catch((error: unknown) => {
        ports.log.warn('sandbox.unknown', { sandboxId, message: String(error) });
      });
      if (!(await isWaiting(ports, key, payload.token))) return;
    }
    if (seconds !== null) await ports.clock.sleep(seconds * 1000);
  }
}
