import { ExamHallError } from '#core/errors';
import { jobId } from '#core/ids';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import { COLLECT_LIMITS } from '#contracts/collect-manifest';
import type { StopReport } from '#contracts/guest';
import type { TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { attemptPaths } from './steps/attempt-paths.ts';
import { beginStage, sandboxOf } from './steps/attempt-stages.ts';
import { takeFinalScreenshot } from './steps/final-screenshot.ts';
import { readAttemptInputs } from './steps/inputs.ts';
import { awaitJob, currentJobId, startJob } from './steps/jobs.ts';
import { logRunEvent } from './steps/run-events.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'channels' | 'providers' | 'runTree' | 'clock' | 'log'>;

const UPLOAD_SECONDS = 3600;
/** From the job's wall limit until its end is known: its processes are killed, its event is given a minute, then each pass of the watcher looks. */
const HEARING_SECONDS = 300;

/**
 * Looks at the screen a last time, confirms that nothing of the agent is alive, then uploads its output, work folder and console with checksums.
 * @throws AgentNotStoppedError (blame agent) when something of it survives, StopUnconfirmedError (blame platform) when its machine
 * cannot tell; nothing is collected or graded then.
 */
export async function collectOutput(payload: TokenPayload, ports: Needs): Promise<void> {
  const begunAt = ports.clock.now();
  const attempt = await beginStage(ports, payload.attemptId, 'collect');
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  const agentJob = jobId(attempt.attemptId, 'run');
  await takeFinalScreenshot(ports, attempt, sandbox);
  await confirmStop(ports, attempt, await channel.stop(sandbox, agentJob));
  const paths = attemptPaths(attempt, sandbox, inputs);
  const prefix = objectKeys.collected(attempt.attemptId);
  const grant = await ports.artifacts.signUpload(
    'artifacts',
    prefix,
    UPLOAD_SECONDS,
    COLLECT_LIMITS.maxFileMiB * 1024 * 1024,
  );
  const collectJob = await currentJobId(ports, attempt, 'collect');
  await startJob(ports, attempt, payload, {
    kind: 'collect',
    jobId: collectJob,
    wallSeconds: wallSecondsOf(payload, (ports.clock.now().getTime() - begunAt.getTime()) / 1000),
    as: 'runner',
    roots: [
      { path: paths.output, keyPrefix: 'output/', as: 'agent' },
      { path: paths.work, keyPrefix: 'origin_log/', as: 'agent' },
      { path: channel.jobFolder(sandbox, agentJob), keyPrefix: 'console/', as: 'runner' },
    ],
    grant,
    manifestKey: 'collect.json',
    limits: COLLECT_LIMITS,
  });
  await awaitJob(ports, attempt, collectJob);
}

async function confirmStop(ports: Needs, attempt: AttemptRow, stop: StopReport): Promise<void> {
  const { confirmedDead, survivors, left, unsure } = stop;
  if (confirmedDead) {
    await logRunEvent(ports, attempt, 'agent_stopped', { survivors });
    return;
  }
  await logRunEvent(ports, attempt, 'agent_stop_failed', { survivors, ...(unsure === undefined ? {} : { unsure }) });
  // The guest's own words stay out of a message that the blame table looks into.
  if (unsure !== undefined)
    throw new ExamHallError('StopUnconfirmedError', 'the machine cannot tell whether processes of the agent are alive');
  const named = left === undefined ? '' : `: ${left.join(', ')}`;
  throw new ExamHallError(
    'AgentNotStoppedError',
    `${String(survivors)} processes of the agent are still alive after the stop${named}`,
  );
}

/** What is left of the state's time, less what it takes to hear of the end: a slow guest ends its job and not its state. */
function wallSecondsOf({ timeoutSeconds }: TokenPayload, elapsedSeconds: number): number {
  return Math.max(1, Math.floor(timeoutSeconds - HEARING_SECONDS - elapsedSeconds));
}
