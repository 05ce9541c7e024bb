import { rowKeys } from '#core/keys';
import type { TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { beginStage } from './steps/attempt-stages.ts';
import { checkSandbox } from './steps/readiness.ts';
import { openWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'channels' | 'tokens' | 'clock' | 'log'>;

/** Waits until the sandbox is ready: answers at once when it is, else leaves the token to watch-runs. */
export async function awaitSandbox(payload: TokenPayload, ports: Needs): Promise<void> {
  const attempt = await beginStage(ports, payload.attemptId, 'await');
  await openWait(ports, rowKeys.sandboxWait(payload.attemptId), payload);
  await checkSandbox(ports, attempt);
}
