import type { RunFinishedDetail } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { answerEndedCommand } from './steps/commands.ts';
import { answerFinishedJob } from './steps/finished-jobs.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'tokens' | 'runTree' | 'clock' | 'log'>;

/** Resumes whoever waits for the job. An event that comes twice, or for a job still running, changes nothing. */
export async function onRunFinished(detail: RunFinishedDetail, ports: Needs): Promise<void> {
  if ('jobId' in detail) await answerFinishedJob(ports, detail.jobId);
  else await answerEndedCommand(ports, detail);
}
