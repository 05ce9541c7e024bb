import { effectiveTimeoutSeconds, readTaskCard } from '#core/task-card';
import { isErrorNamed } from '#core/errors';
import { joinGuestPath } from '#core/guest-paths';
import type { AttemptRow } from '#core/rows';
import type { TokenPayload } from '#contracts/payloads';
import type { ChannelJob } from '#ports/channel';
import type { Ports } from '#ports/ports';
import { prepareScreen } from './steps/screen-setting.ts';
import { attemptPaths } from './steps/attempt-paths.ts';
import { beginStage, sandboxOf } from './steps/attempt-stages.ts';
import { readAgent, readAttemptInputs } from './steps/inputs.ts';
import { awaitJob, currentJobId, startJob } from './steps/jobs.ts';
import { updateAttempt } from './steps/rows.ts';
import { logRunEvent } from './steps/run-events.ts';
import { refuseCancelled } from './steps/sweeps.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'channels' | 'runTree' | 'clock' | 'log'>;

const OUTPUT_LIMIT_MIB = 64;

/** Starts the agent's launch script as a detached job under its wall limit; a repeat attaches to the same job. */
export async function runAgent(payload: TokenPayload, ports: Needs): Promise<void> {
  const attempt = await beginStage(ports, payload.attemptId, 'run');
  if (attempt.agentStartedAt === null) await refuseCancelled(ports, attempt.sweepId);
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const agent = await readAgent(ports.artifacts, inputs.agentRequest.manifestKey);
  const sandbox = sandboxOf(attempt);
  const paths = attemptPaths(attempt, sandbox, inputs);
  const { card } = readTaskCard(inputs.task.card);
  const jobId = await currentJobId(ports, attempt, 'run');
  // The screen's server is the agent's to break, and its job has its environment already.
  const screen = attempt.agentStartedAt === null ? await prepareScreen(ports, sandbox, paths.work) : {};
  const budgetSeconds = effectiveTimeoutSeconds(card, inputs.request.limits.wallTimeSeconds);
  await startAgent(ports, attempt, payload, {
    kind: 'exec',
    jobId,
    wallSeconds: Math.min(budgetSeconds, agent.manifest.limits.timeoutSeconds ?? budgetSeconds),
    as: 'agent',
    argv: [sandbox.paths.node, joinGuestPath(sandbox.os, paths.work, 'agent', 'launch.mjs')],
    cwd: paths.work,
    env: {
      TASK_ROOT: paths.root,
      TASK_INPUT: paths.input,
      TASK_SOFTWARE: paths.software,
      TASK_OUTPUT: paths.output,
      NODE: sandbox.paths.node,
      EXAMHALL_WORK: paths.work,
      EXAMHALL_VARIANT: inputs.variant.name,
      ...screen,
    },
    stdin: null,
    outputLimitMiB: agent.manifest.limits.outputLimitMiB ?? OUTPUT_LIMIT_MIB,
  });
  await noteStart(ports, attempt, { executor: agent.manifest.executor, work_dir: paths.work });
  await awaitJob(ports, attempt, jobId);
}

/**
 * A start whose answer cannot be read may have started the agent, which is asked at once: a repeat comes too late to ask a
 * machine that its agent has ended.
 */
async function startAgent(ports: Needs, attempt: AttemptRow, payload: TokenPayload, job: ChannelJob): Promise<void> {
  try {
    await startJob(ports, attempt, payload, job);
  } catch (error) {
    const isUnknown = isErrorNamed(error, 'ChannelUnavailableError');
    if (!isUnknown || !(await isThere(ports, attempt, job.jobId))) throw error;
  }
}

async function isThere({ channels }: Needs, attempt: AttemptRow, jobId: string): Promise<boolean> {
  const sandbox = sandboxOf(attempt);
  try {
    return (await channels.for(sandbox).status(sandbox, jobId)).state !== 'unknown';
  } catch (error) {
    if (isErrorNamed(error, 'ChannelUnavailableError')) return false;
    throw error;
  }
}

/** How often the start is noted before a store that does not answer costs us the knowledge of it. */
const NOTE_TRIES = 3;

/** The agent has begun once its job has: from here on a lost sandbox may be its doing. */
async function noteStart(ports: Needs, attempt: AttemptRow, data: Readonly<Record<string, unknown>>): Promise<void> {
  const startedAt = ports.clock.now().toISOString();
  for (let tries = 1; ; tries += 1) {
    try {
      await updateAttempt(ports.unitStore, attempt.attemptId, (row) => ({
        ...row,
        agentStartedAt: row.agentStartedAt ?? startedAt,
      }));
      break;
    } catch (error) {
      if (tries >= NOTE_TRIES || !isErrorNamed(error, 'StoreUnavailableError')) throw error;
    }
  }
  if (attempt.agentStartedAt === null) await logRunEvent(ports, attempt, 'agent_run_started', data);
}
