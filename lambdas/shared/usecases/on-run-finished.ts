import type { JobFinishedDetail } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { answerFinishedJob } from './steps/finished-jobs.ts';

type Needs = Pick<Ports, 'unitStore' | 'channels' | 'tokens' | 'runTree' | 'clock'>;

/** Resumes whoever waits for the job. An event that comes twice, or for a job still running, changes nothing. */
export async function onRunFinished({ jobId }: JobFinishedDetail, ports: Needs): Promise<void> {
  await answerFinishedJob(ports, jobId);
}
