import { rowKeys } from '#core/keys';
import type { TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { beginStage, sandboxOf } from './steps/attempt-stages.ts';
import { checkSandbox } from './steps/readiness.ts';
import { isWaiting, openWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'channels' | 'tokens' | 'clock' | 'log'>;

/** A machine is paid for while nobody sees that it is ready: it is looked at often, for as long as most take to start. */
const LOOK_SECONDS = 10;
export const LOOKS_SECONDS = 120;

/**
 * Waits until the sandbox is ready: looks every few seconds as long as this function may, then leaves the token to watch-runs.
 * A look that fails is told in the log, and the next one comes.
 */
export async function awaitSandbox(payload: TokenPayload, ports: Needs): Promise<void> {
  const attempt = await beginStage(ports, payload.attemptId, 'await');
  const { sandboxId } = sandboxOf(attempt);
  const key = rowKeys.sandboxWait(payload.attemptId);
  await openWait(ports, key, payload, { quietSeconds: LOOKS_SECONDS });
  const until = ports.clock.now().getTime() + LOOKS_SECONDS * 1000;
  for (;;) {
    await checkSandbox(ports, attempt).catch((error: unknown) => {
      ports.log.warn('sandbox.unknown', { sandboxId, message: String(error) });
    });
    if (!(await isWaiting(ports, key, payload.token))) return;
    if (ports.clock.now().getTime() + LOOK_SECONDS * 1000 > until) return;
    await ports.clock.sleep(LOOK_SECONDS * 1000);
  }
}
