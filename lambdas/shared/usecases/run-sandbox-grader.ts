import type { RunSandboxGraderPayload } from '#contracts/payloads';
import type { SessionCalls } from '#ports/module-runner';
import type { Ports } from '#ports/ports';
import { sandboxOf } from './steps/attempt-stages.ts';
import { runGraderFrom } from './steps/grader-run.ts';
import { readAttempt } from './steps/rows.ts';

type Needs = Pick<Ports, 'modules' | 'workspace' | 'unitStore' | 'channels'>;

/** Grades in mode `same-sandbox`: `evaluate` may run commands in the agent's machine after the agent is dead. */
export async function runSandboxGrader(payload: RunSandboxGraderPayload, ports: Needs): Promise<void> {
  const { value: attempt } = await readAttempt(ports.unitStore, payload.attemptId);
  const sandbox = sandboxOf(attempt);
  const channel = ports.channels.for(sandbox);
  const session: SessionCalls = async (calls, seconds) => await channel.call(sandbox, calls, seconds);
  await runGraderFrom(ports, { stageUrl: payload.stageUrl, timeoutSeconds: payload.timeoutSeconds, session });
}
