import type { PublishedFile } from '#core/catalog';
import { ExamHallError } from '#core/errors';
import { joinGuestPath } from '#core/guest-paths';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { FetchItem } from '#contracts/guest';
import type { TokenPayload } from '#contracts/payloads';
import type { Bucket } from '#ports/artifact-store';
import type { Ports } from '#ports/ports';
import { attemptPaths } from './steps/attempt-paths.ts';
import { beginStage, sandboxOf } from './steps/attempt-stages.ts';
import { readAgent, readAttemptInputs, readSolution, type AttemptInputs } from './steps/inputs.ts';
import { awaitJob, currentJobId, startJob } from './steps/jobs.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'channels' | 'clock' | 'log'>;

/** How long a signed URL of the staging list lives; the job itself is bounded by less. */
const URL_SECONDS = 7200;

interface Staged {
  readonly bucket: Bucket;
  readonly file: PublishedFile;
  readonly folder: string;
}

/**
 * Brings input, software and the agent's own files into the sandbox by signed URL. References never; a solution only
 * for an agent whose manifest stages it (the oracle).
 */
export async function stageUnit(payload: TokenPayload, ports: Needs): Promise<void> {
  const attempt = await beginStage(ports, payload.attemptId, 'stage');
  const inputs = await readAttemptInputs(ports.artifacts, attempt);
  const sandbox = sandboxOf(attempt);
  const paths = attemptPaths(attempt, sandbox, inputs);
  const files = [...taskFiles(inputs, paths), ...(await agentFiles(inputs, attempt, paths.work, ports))];
  const items: FetchItem[] = [];
  for (const { bucket, file, folder } of files) {
    items.push({
      url: await ports.artifacts.signGet({ bucket, key: file.key }, URL_SECONDS),
      path: joinGuestPath(sandbox.os, folder, file.path),
      sha256: file.sha256,
      sizeBytes: file.sizeBytes,
      executable: file.executable,
    });
  }
  const directories = [paths.input, paths.software, paths.output, paths.work];
  const key = objectKeys.list(attempt.attemptId, 'stage');
  await ports.artifacts.put({ bucket: 'artifacts', key }, JSON.stringify({ items, directories }));
  const listUrl = await ports.artifacts.signGet({ bucket: 'artifacts', key }, URL_SECONDS);
  const jobId = await currentJobId(ports, attempt, 'stage');
  await startJob(ports, attempt, payload, {
    kind: 'fetch',
    jobId,
    wallSeconds: payload.timeoutSeconds,
    as: 'agent',
    listUrl,
  });
  await awaitJob(ports, attempt, jobId);
}

function taskFiles({ variant }: AttemptInputs, paths: { readonly input: string; readonly software: string }): Staged[] {
  return [
    ...variant.input.map((file): Staged => ({ bucket: 'tasks', file, folder: paths.input })),
    ...variant.software.map((file): Staged => ({ bucket: 'tasks', file, folder: paths.software })),
  ];
}

async function agentFiles(
  inputs: AttemptInputs,
  attempt: AttemptRow,
  work: string,
  ports: Needs,
): Promise<readonly Staged[]> {
  const agent = await readAgent(ports.artifacts, inputs.agentRequest.manifestKey);
  const folder = joinGuestPath(sandboxOf(attempt).os, work, 'agent');
  const files: Staged[] = [{ bucket: 'tasks', file: { ...agent.launch, path: 'launch.mjs' }, folder }];
  const recording = agent.recordings[attempt.taskPath];
  if (agent.manifest.recordings && recording !== undefined) {
    files.push({ bucket: 'tasks', file: { ...recording, path: 'recording.json' }, folder });
  }
  if (agent.manifest.stages.includes('solution')) {
    files.push(...(await solutionFiles(inputs, joinGuestPath(sandboxOf(attempt).os, work, 'solution'), ports)));
  }
  return files;
}

async function solutionFiles({ task, variant }: AttemptInputs, folder: string, ports: Needs): Promise<Staged[]> {
  const files = await readSolution(ports.artifacts, task, variant.name);
  if (files.length === 0) {
    throw new ExamHallError('TaskSetupError', `${task.taskId} ${variant.name} has no solution to stage`);
  }
  return files.map((file): Staged => ({ bucket: 'tasks', file, folder }));
}
