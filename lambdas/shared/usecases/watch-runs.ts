import { rowKeys } from '#core/keys';
import { WaitRowSchema, type AttemptRow, type WaitRow } from '#core/rows';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { storedSandbox } from './steps/attempt-stages.ts';
import { answerFinishedJob } from './steps/finished-jobs.ts';
import { checkSandbox } from './steps/readiness.ts';
import { allRows, readAttempt, readBody } from './steps/rows.ts';
import { answerWait } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'providers' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/**
 * Looks at everything that waits: answers sandboxes that became ready, jobs whose event was lost and jobs whose
 * sandbox is gone, and beats the tokens of all that is well.
 */
export async function watchRuns(_tick: TickPayload, ports: Needs): Promise<void> {
  for await (const row of allRows(ports.unitStore, { pk: rowKeys.sandboxWait('').pk })) {
    const wait = readBody(WaitRowSchema, row);
    const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
    await checkSandbox(ports, attempt);
    await ports.tokens.heartbeat(wait.token);
  }
  for await (const row of allRows(ports.unitStore, { pk: rowKeys.jobWait('').pk })) {
    await watchJob(ports, row.sk, readBody(WaitRowSchema, row));
  }
}

async function watchJob(ports: Needs, jobId: string, wait: WaitRow): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
  if (await reportLoss(ports, jobId, attempt)) return;
  if (await answerFinishedJob(ports, jobId)) {
    ports.log.warn('job.lost-event', { jobId });
    return;
  }
  await ports.tokens.heartbeat(wait.token);
}

/** A sandbox that is gone ends its job. With the provider's evidence, or before the agent ran, that is not the agent's doing. */
async function reportLoss(ports: Needs, jobId: string, attempt: AttemptRow): Promise<boolean> {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null) return false;
  const state = await ports.providers.get(sandbox.provider).describe(sandbox);
  if (state.state !== 'gone' && state.state !== 'stopped') return false;
  const evidence = state.state === 'gone' ? state.evidence : null;
  const isAgents = evidence === null && attempt.agentStartedAt !== null;
  const error = isAgents ? 'AgentEndedSandboxError' : 'SandboxLostError';
  const cause = `${sandbox.sandboxId} is ${state.state} while ${jobId} was running; evidence of the provider: ${evidence ?? 'none'}`;
  ports.log.warn('sandbox.lost', { jobId, error, evidence });
  await answerWait(ports, rowKeys.jobWait(jobId), { kind: 'fail', error, cause });
  return true;
}
