import type { PublishedFile } from '#core/catalog';
import { isPlainPath } from '#core/collected-names';
import { ExamHallError } from '#core/errors';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import type { CollectManifest } from '#contracts/guest';
import type { GradeStage, StagedFile } from '#contracts/grade-stage';
import type { GradePayload } from '#contracts/payloads';
import type { Bucket } from '#ports/artifact-store';
import type { Ports } from '#ports/ports';
import { attemptPaths } from './steps/attempt-paths.ts';
import { storedSandbox } from './steps/attempt-stages.ts';
import { readAttemptInputs, readReference } from './steps/inputs.ts';
import { readCollectManifest, refuseMissing } from './steps/collected.ts';
import { readAttempt } from './steps/rows.ts';
import { logRunEvent } from './steps/run-events.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'digest' | 'runTree' | 'clock'>;

const GRADER_MEMORY_MIB = 1024;
const RAW_LIMIT_BYTES = 16 * 1024 * 1024;

/**
 * The trusted step: gathers one unit's reference, output and input as signed URLs and nothing else.
 * @throws ReferenceMissingError (blame task); CollectFailedError for output that is not there as its manifest says.
 */
export async function stageGrade(payload: GradePayload, ports: Needs): Promise<{ readonly stageUrl: string }> {
  const { value: attempt } = await readAttempt(ports.unitStore, payload.attemptId);
  const { task, variant } = await readAttemptInputs(ports.artifacts, attempt);
  const reference = await readReference(ports.artifacts, task, variant.name);
  if (reference.length === 0) {
    throw new ExamHallError(
      'ReferenceMissingError',
      `${task.taskId} ${variant.name} was published without a reference`,
    );
  }
  const seconds = payload.timeoutSeconds + 900;
  const sign = async (
    bucket: Bucket,
    files: readonly Pick<PublishedFile, 'path' | 'key' | 'sha256'>[],
  ): Promise<StagedFile[]> => {
    const staged: StagedFile[] = [];
    for (const { path, key, sha256 } of files) {
      staged.push({ path, sha256, url: await ports.artifacts.signGet({ bucket, key }, seconds) });
    }
    return staged;
  };
  const [module] = await sign('tasks', [task.module]);
  if (module === undefined) throw new ExamHallError('GraderUnavailableError', 'the task module could not be signed');
  const prefix = objectKeys.gradeFolder(payload.gradeId);
  const stage: GradeStage = {
    version: 1,
    module,
    input: {
      variant: { name: variant.name, prompt: attempt.prompt ?? variant.prompt, metadata: variant.metadata },
      variantIndex: attempt.variant,
      paths: pathsOf(attempt, { variant }),
      ...(attempt.secret === null ? {} : { secret: attempt.secret }),
    },
    folders: {
      output: await sign('artifacts', await outputFiles(attempt, ports)),
      reference: await sign('references', reference),
      input: await sign('tasks', variant.input),
    },
    upload: await ports.artifacts.signUpload('artifacts', prefix, seconds, RAW_LIMIT_BYTES),
    rawKey: objectKeys.gradeRaw(payload.gradeId),
    memoryMiB: GRADER_MEMORY_MIB,
  };
  const ref = { bucket: 'artifacts', key: objectKeys.gradeStage(payload.gradeId) } as const;
  await ports.artifacts.put(ref, JSON.stringify(stage));
  // A closed attempt has its record, which holds the hash of its events: a regrade leaves them as they are.
  if (attempt.closedAt === null)
    await logRunEvent(ports, attempt, 'reference_stage_completed', { staged: reference.length, source: 'references' });
  return { stageUrl: await ports.artifacts.signGet(ref, seconds) };
}

function pathsOf(attempt: AttemptRow, inputs: Parameters<typeof attemptPaths>[2]): object {
  const sandbox = storedSandbox(attempt);
  return sandbox === null ? {} : attemptPaths(attempt, sandbox, inputs);
}

/** What the grader sees of the output, by the agent's own names; what has no plain name could stand for another file. */
async function outputFiles(
  attempt: AttemptRow,
  ports: Needs,
): Promise<readonly { readonly path: string; readonly key: string; readonly sha256: string }[]> {
  const manifest: CollectManifest = await readCollectManifest(ports, attempt);
  await refuseMissing(ports, attempt, manifest);
  const root = manifest.roots.find(({ keyPrefix }) => keyPrefix === 'output/');
  return (root?.entries ?? []).flatMap(({ path, key, sha256 }) =>
    key === null || sha256 === null || !isPlainPath(path) ? [] : [{ path, key, sha256 }],
  );
}
