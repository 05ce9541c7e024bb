import { isErrorNamed } from '#core/errors';
import { rowKeys } from '#core/keys';
import { WaitRowSchema, type AttemptRow, type WaitRow } from '#core/rows';
import type { TickPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import type { Row } from '#ports/unit-store';
import { storedSandbox } from './steps/attempt-stages.ts';
import { noteEvidence } from './steps/evidence.ts';
import { answerFinishedJob } from './steps/finished-jobs.ts';
import { forEachGuarded } from './steps/for-each.ts';
import { checkSandbox } from './steps/readiness.ts';
import { allRows, findRow, readAttempt, readBody } from './steps/rows.ts';
import { answerWait, forgetWait, noteReach } from './steps/waits.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'providers' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/** How long a guest may leave us without an answer before its state is told. */
const UNREACHABLE_SECONDS = 600;

/**
 * Looks at everything that waits: answers sandboxes that became ready, jobs whose event was lost, jobs whose sandbox is
 * gone or no longer answers, and beats the tokens of all others. One that cannot be looked at keeps no other from its beat.
 * @throws the first failure of a look, when all have had theirs.
 */
export async function watchRuns(_tick: TickPayload, ports: Needs): Promise<void> {
  const onFailure = ({ pk, sk }: Row, error: unknown): void => {
    ports.log.error('watch.failed', { row: `${pk} ${sk}`, message: String(error) });
  };
  const sandboxes = allRows(ports.unitStore, { pk: rowKeys.sandboxWait('').pk });
  const jobs = allRows(ports.unitStore, { pk: rowKeys.jobWait('').pk });
  const looks = [
    forEachGuarded(sandboxes, async (row) => await look(ports, row, checkWaitedSandbox), { onFailure }),
    forEachGuarded(jobs, async (row) => await look(ports, row, checkJob), { onFailure }),
  ];
  for (const look of await Promise.allSettled(looks)) if (look.status === 'rejected') throw look.reason;
}

type Check = (ports: Needs, sk: string, wait: WaitRow) => Promise<void>;

/** The beat is sent whatever the look came to: a fault of ours must not cost the unit its token. */
async function look(ports: Needs, row: Row, check: Check): Promise<void> {
  const wait = readBody(WaitRowSchema, row);
  try {
    await check(ports, row.sk, wait);
  } finally {
    const still = await findRow(ports.unitStore, row, WaitRowSchema);
    const { token } = wait;
    if (still?.value.token === token && !(await ports.tokens.heartbeat(token))) await forgetWait(ports, row, token);
  }
}

async function checkWaitedSandbox(ports: Needs, _sk: string, wait: WaitRow): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
  await checkSandbox(ports, attempt);
}

async function checkJob(ports: Needs, jobId: string, wait: WaitRow): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, wait.attemptId);
  if (await reportLoss(ports, jobId, attempt)) return;
  try {
    if (await answerFinishedJob(ports, jobId)) ports.log.warn('job.lost-event', { jobId });
    else await noteReach(ports, rowKeys.jobWait(jobId), true);
  } catch (error) {
    if (!isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    await reportSilence(ports, jobId, String(error));
  }
}

/** A sandbox that is gone ends its job. With evidence, or before the agent ran, that is not the agent's doing. */
async function reportLoss(ports: Needs, jobId: string, attempt: AttemptRow): Promise<boolean> {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null) return false;
  const state = await ports.providers.get(sandbox.provider).describe(sandbox);
  if (state.state !== 'gone' && state.state !== 'stopped') return false;
  const said = state.state === 'gone' ? state.evidence : null;
  const { evidence } = said === null ? attempt : await noteEvidence(ports, attempt.attemptId, said);
  const isAgents = evidence === null && attempt.agentStartedAt !== null;
  const error = isAgents ? 'AgentEndedSandboxError' : 'SandboxLostError';
  const cause = `${sandbox.sandboxId} is ${state.state} while ${jobId} was running; evidence: ${evidence ?? 'none'}`;
  ports.log.warn('sandbox.lost', { jobId, error, evidence });
  await answerWait(ports, rowKeys.jobWait(jobId), { kind: 'fail', error, cause });
  return true;
}

/** The machine is there and its guest is silent: told after a while, so that a hiccup of ours costs nothing. */
async function reportSilence(ports: Needs, jobId: string, cause: string): Promise<void> {
  const key = rowKeys.jobWait(jobId);
  const since = await noteReach(ports, key, false);
  if (since === null || ports.clock.now().getTime() - Date.parse(since) < UNREACHABLE_SECONDS * 1000) return;
  ports.log.warn('sandbox.lost', { jobId, error: 'ChannelUnavailableError', evidence: null, since });
  await answerWait(ports, key, { kind: 'fail', error: 'ChannelUnavailableError', cause: `since ${since}: ${cause}` });
}
