import { ExamHallError, isErrorNamed } from '#core/errors';
import { jobId } from '#core/ids';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import { COLLECT_LIMITS } from '#contracts/collect-manifest';
import type { StopReport } from '#contracts/guest';
import type { TokenPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { Sandbox } from '#ports/sandbox-provider';
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
 * is there and cannot tell or is silent; nothing is collected or graded then. ChannelUnavailableError of a machine that is gone.
 */
export async function collectOutput(payload: TokenPayload, ports: Needs): Promise<void> {
  const begunAt = ports.clock.now();
  const attempt = await beginStage(ports, payload.attemptId, 'collect');
  const sandbox = sandboxOf(attempt);
  await takeFinalScreenshot(ports, attempt, sandbox);
  await confirmStop(ports, attempt, await stopAgent(ports, attempt, sandbox));
  await whileThere(ports, sandbox, 'CollectFailedError', async () => {
    await startCollect(ports, attempt, { payload, begunAt });
  });
}

interface Collecting {
  readonly payload: TokenPayload;
  /** When the function began. */
  readonly begunAt: Date;
}

/** Nothing of the agent lives: it keeps no guest from answering. */
async function startCollect(ports: Needs, attempt: AttemptRow, { payload, begunAt }: Collecting): Promise<void> {
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
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
      { path: channel.jobFolder(sandbox, jobId(attempt.attemptId, 'run')), keyPrefix: 'console/', as: 'runner' },
    ],
    grant,
    manifestKey: 'collect.json',
    limits: COLLECT_LIMITS,
  });
  await awaitJob(ports, attempt, collectJob);
}

async function stopAgent(ports: Needs, attempt: AttemptRow, sandbox: Sandbox): Promise<StopReport> {
  const channel = ports.channels.for(sandbox);
  return await whileThere(ports, sandbox, 'StopUnconfirmedError', async () => {
    return await channel.stop(sandbox, jobId(attempt.attemptId, 'run'));
  });
}

/**
 * A guest that does not answer while its machine is there has lost nothing yet: who may have silenced it, the blame table knows
 * by its privilege. One whose machine is gone fails as it did, and the provider is asked why when the machine is given up.
 */
async function whileThere<T>(
  { providers }: Pick<Ports, 'providers'>,
  sandbox: Sandbox,
  name: 'StopUnconfirmedError' | 'CollectFailedError',
  ask: () => Promise<T>,
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    const { state } = await providers.get(sandbox.provider).describe(sandbox);
    if (state === 'gone' || state === 'stopped') throw error;
    throw new ExamHallError(name, `the machine is there (${state}), and its guest does not answer`, {}, error);
  }
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
