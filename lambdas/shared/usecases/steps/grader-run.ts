import { ExamHallError, isErrorNamed } from '#core/errors';
import { withoutSecret } from '#core/mask-secrets';
import { GradeStageSchema, type GradeStage, type StagedFile } from '#contracts/grade-stage';
import type { ModuleReport, SessionCalls } from '#ports/module-runner';
import type { Ports } from '#ports/ports';
import type { ScratchFolder } from '#ports/workspace';

type Needs = Pick<Ports, 'modules' | 'workspace'>;

/** Console kept of a grader, each stream. */
const OUTPUT_LIMIT_KIB = 1024;

/** Of a download, what lies in the file and not in the way it came. */
const NOT_AS_SAID = ['ChecksumMismatchError', 'UnsafePathError'] as const;

export interface GraderCall {
  readonly stageUrl: string;
  readonly timeoutSeconds: number;
  /** The agent's own sandbox, for graders that need it. */
  readonly session?: SessionCalls;
}

/**
 * Fetches what was staged, runs `evaluate` in a child process and uploads its raw report.
 * @throws GraderUnavailableError for whatever kept the grader from running or its report from us; never for what it did.
 * CollectFailedError when the output is not what its manifest says.
 */
export async function runGraderFrom(ports: Needs, call: GraderCall): Promise<void> {
  try {
    await gradeOnce(ports, call);
  } catch (error) {
    if (isErrorNamed(error, 'GraderUnavailableError') || isErrorNamed(error, 'CollectFailedError')) throw error;
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    throw new ExamHallError('GraderUnavailableError', `the grader could not be run: ${name}: ${message}`, {}, error);
  }
}

async function gradeOnce(ports: Needs, call: GraderCall): Promise<void> {
  const stage = readStage(await ports.workspace.readUrl(call.stageUrl));
  const scratch = await ports.workspace.open();
  try {
    const { secret } = stage.input;
    const report = withoutSecret(
      await evaluate(ports, stage, scratch, call),
      typeof secret === 'string' ? secret : null,
    );
    if (report.end === 'unavailable') {
      const why = report.errorMessage ?? 'no reason given';
      throw new ExamHallError('GraderUnavailableError', `the grader's process could not be started: ${why}`);
    }
    await ports.workspace.upload(stage.upload, stage.rawKey, JSON.stringify(report));
  } finally {
    await scratch.remove();
  }
}

function readStage(text: string): GradeStage {
  const parsed = GradeStageSchema.safeParse(JSON.parse(text));
  if (parsed.success) return parsed.data;
  throw new ExamHallError('GraderUnavailableError', 'the staged grading does not fit its schema', {
    issues: parsed.error.issues,
  });
}

async function evaluate(
  ports: Needs,
  stage: GradeStage,
  scratch: ScratchFolder,
  { timeoutSeconds, session }: GraderCall,
): Promise<ModuleReport> {
  const modulePath = await scratch.fileAt('task.mjs');
  await ports.workspace.download(stage.module.url, modulePath, stage.module.sha256);
  const folders: Record<string, string> = {};
  for (const [name, files] of Object.entries(stage.folders)) {
    folders[name] = await scratch.makeDir('data', name);
    for (const file of files) await bring(ports, scratch, name, file);
  }
  return await ports.modules.run(
    {
      modulePath,
      phase: 'evaluate',
      input: session === undefined ? { ...stage.input, session: null } : stage.input,
      folders,
      limits: { timeoutSeconds, memoryMiB: stage.memoryMiB, outputLimitKiB: OUTPUT_LIMIT_KIB },
    },
    session,
  );
}

async function bring(ports: Needs, scratch: ScratchFolder, folder: string, file: StagedFile): Promise<void> {
  try {
    await ports.workspace.download(file.url, await scratch.fileAt('data', folder, file.path), file.sha256);
  } catch (error) {
    const isOutputs = folder === 'output' && NOT_AS_SAID.some((name) => isErrorNamed(error, name));
    if (!isOutputs || !(error instanceof Error)) throw error;
    const message = `${file.path} of the output is not as its manifest says: ${error.message}`;
    throw new ExamHallError('CollectFailedError', message, {}, error);
  }
}
