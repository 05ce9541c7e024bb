import { ExamHallError } from '#core/errors';
import type { Fate } from '#core/teardown';
import type { HostClock } from '#local/clock';
import type { ReleaseMode, SandboxToRelease } from '#ports/sandbox-provider';
import { isNotFound, type MachineState } from './cloud-machine.ts';
import type { Cloud } from './cloud.ts';

/** How long a machine may not be known yet after its launch. */
export const UNSEEN_SECONDS = 300;
/** How often, and how many times, one call looks whether something has come about. */
export const LOOK_SECONDS = 15;
export const LOOKS = 6;

interface Tools {
  readonly cloud: Cloud;
  readonly clock: HostClock;
}

/**
 * Leaves a machine where it is: stopped, running until its own timer stops it, or ours no more, unless that cannot be seen yet.
 * Null for one that is ending or gone, of which there is nothing to leave but to see what it leaves itself.
 */
export async function setAside(
  { cloud, clock }: Tools,
  { sandboxId, launchedAt = '1970-01-01T00:00:00.000Z' }: SandboxToRelease,
  mode: Exclude<ReleaseMode, 'delete'>,
): Promise<Extract<Fate, 'set-aside' | 'left'> | null> {
  try {
    for (let look = 0; look < LOOKS; look += 1) {
      const { state } = cloud.describe(sandboxId);
      if (isOver(state)) return null;
      cloud.keep(sandboxId);
      if (mode === 'detach') cloud.detach(sandboxId);
      if (mode !== 'stop' || state === 'stopped') return 'set-aside';
      cloud.stop(sandboxId);
      await clock.sleep(LOOK_SECONDS * 1000);
    }
    return 'left';
  } catch (error) {
    const ageSeconds = (clock.now().getTime() - Date.parse(launchedAt)) / 1000;
    if (isNotFound(error)) return ageSeconds < UNSEEN_SECONDS ? 'left' : null;
    throw new ExamHallError('ReleaseFailedError', `${sandboxId} is not set aside: ${String(error)}`, {}, error);
  }
}

function isOver(state: MachineState): boolean {
  return state === 'shutting-down' || state === 'terminated';
}
