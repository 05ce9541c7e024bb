import { FinalScreenSchema, pngInAnswer, type FinalScreen } from '#core/final-screen';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { Ports } from '#ports/ports';
import type { Sandbox } from '#ports/sandbox-provider';
import { logRunEvent } from './run-events.ts';

type Needs = Pick<Ports, 'artifacts' | 'channels' | 'providers' | 'runTree' | 'clock'>;

const WAIT_SECONDS = 20;

/**
 * Keeps what the screen shows while the agent's desktop still lives. A desktop that gives no picture is noted and is nobody's
 * fault: its server is the agent's to break. A picture is kept only of a machine that is still there once it was taken: the
 * desktop is asked by its address, which another machine may have when this one is gone. A repeat keeps what the first one saw.
 */
export async function takeFinalScreenshot(ports: Needs, attempt: AttemptRow, sandbox: Sandbox): Promise<void> {
  if (sandbox.desktop === null) return;
  if ((await readFinalScreen(ports, attempt)) !== null) return;
  const takenAt = ports.clock.now().toISOString();
  const png = await screenshotOf(ports, sandbox);
  const problem = typeof png === 'string' ? png : null;
  if (problem !== null) await logRunEvent(ports, attempt, 'final_screenshot_failed', { message: problem });
  if (typeof png !== 'string') {
    const ref = { bucket: 'artifacts', key: objectKeys.finalScreenshot(attempt.attemptId) } as const;
    await ports.artifacts.put(ref, png, { contentType: 'image/png' });
  }
  await ports.artifacts.put(noteOf(attempt), JSON.stringify({ takenAt, problem } satisfies FinalScreen));
}

async function screenshotOf(ports: Needs, sandbox: Sandbox): Promise<Uint8Array | string> {
  try {
    const calls = [{ command: 'screenshot', params: {} }];
    const [answer] = await ports.channels.for(sandbox).call(sandbox, calls, WAIT_SECONDS);
    const { state } = await ports.providers.get(sandbox.provider).describe(sandbox);
    return state === 'ready'
      ? pngInAnswer(answer)
      : `${sandbox.sandboxId} is ${state}; nobody knows whose screen it was`;
  } catch (error) {
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return `the desktop cannot be asked: ${why.slice(0, 300)}`;
  }
}

/** What was noted when the agent's phase had ended; null for a sandbox without a desktop. */
export async function readFinalScreen(
  ports: Pick<Ports, 'artifacts'>,
  attempt: Pick<AttemptRow, 'attemptId'>,
): Promise<FinalScreen | null> {
  const ref = noteOf(attempt);
  if ((await ports.artifacts.head(ref)) === undefined) return null;
  return FinalScreenSchema.parse(JSON.parse(new TextDecoder().decode(await ports.artifacts.get(ref))));
}

function noteOf({ attemptId }: Pick<AttemptRow, 'attemptId'>) {
  return { bucket: 'artifacts', key: objectKeys.finalScreen(attemptId) } as const;
}
