import type { PublishedAgent } from '#core/catalog';
import { jsonFile } from '#core/run-json';
import { RUN_FILES } from '#core/run-tree';
import type { AttemptRow } from '#core/rows';
import { buildTrajectory, type FinalMetrics } from '#core/trajectory';
import { readTrajectoryDraft } from '#core/trajectory-draft';
import type { Screenshot } from '#core/trajectory-images';
import { shownPictures, type ShownPicture } from '#core/trajectory-pictures';
import type { TrajectoryDraft } from '#core/trajectory-types';
import type { CollectManifest } from '#contracts/guest';
import type { ModuleReport } from '#ports/module-runner';
import type { Ports } from '#ports/ports';
import { collectedFiles } from './collected-files.ts';
import { collectedPictures, writeScreenshots } from './screenshots.ts';
import { gradeOfRow, outcomeOfRow } from './verdicts.ts';

type Needs = Pick<Ports, 'artifacts' | 'modules' | 'workspace' | 'runTree' | 'clock'>;

const PARSER_LIMITS = { timeoutSeconds: 300, memoryMiB: 1024, outputLimitKiB: 256, resultLimitKiB: 64 * 1024 };

export interface WrittenTrajectory {
  readonly usage: FinalMetrics;
  readonly screenshots: readonly Screenshot[];
  readonly shown: readonly ShownPicture[];
}

/** Has the agent's parser read its log and writes `trajectory.json` with its pictures; null when there was no agent phase. */
export async function writeTrajectory(
  ports: Needs,
  attempt: AttemptRow & { readonly runDir: string },
  agent: PublishedAgent,
  manifest: CollectManifest,
): Promise<WrittenTrajectory | null> {
  const outcome = outcomeOfRow(attempt);
  if (outcome === null || attempt.prompt === null) return null;
  const startedAt = attempt.agentStartedAt ?? attempt.grantedAt;
  const grade = gradeOfRow(attempt);
  const draft = await draftOf(ports, agent, manifest, { outcome: outcome.kind, startedAt });
  const built = buildTrajectory({
    sessionId: attempt.attemptId,
    agent: { name: agent.agentId, version: agent.manifest.version, model: attempt.model },
    taskPath: attempt.taskPath,
    variant: attempt.variant,
    prompt: attempt.prompt,
    startedAt,
    endedAt: attempt.stageEndedAt['run'] ?? ports.clock.now().toISOString(),
    outcome: outcome.kind,
    score: grade?.kind === 'graded' ? grade.score : null,
    durationSeconds: outcome.durationSeconds ?? 0,
    draft,
    pictures: await collectedPictures(ports, draft, manifest),
  });
  await ports.runTree.write(attempt.runDir, RUN_FILES.trajectory, jsonFile(built.trajectory));
  await writeScreenshots(ports, attempt.runDir, built.screenshots);
  return {
    usage: built.usage,
    screenshots: built.screenshots,
    shown: shownPictures(built.trajectory.steps),
  };
}

async function draftOf(
  ports: Needs,
  agent: PublishedAgent,
  manifest: CollectManifest,
  input: { readonly outcome: string; readonly startedAt: string },
): Promise<TrajectoryDraft> {
  const scratch = await ports.workspace.open();
  try {
    const modulePath = await scratch.fileAt('parser.mjs');
    await ports.artifacts.getFile({ bucket: 'tasks', key: agent.parser.key }, modulePath);
    const originLog = await scratch.makeDir('origin_log');
    for (const { key, name } of collectedFiles(manifest, 'origin_log/')) {
      await ports.artifacts.getFile({ bucket: 'artifacts', key }, await scratch.fileAt('origin_log', name));
    }
    const report = await ports.modules.run({
      modulePath,
      phase: 'parse',
      input,
      folders: { originLog },
      limits: PARSER_LIMITS,
    });
    if (report.end !== 'returned') return failedDraft(report.end, report.errorMessage ?? 'no reason given');
    const { draft, problem } = readTrajectoryDraft(report.value);
    return problem === null ? draft : failedDraft('returned', problem);
  } finally {
    await scratch.remove();
  }
}

/** A parser that fails loses no evidence: its log is in the run folder, and the trajectory says so. */
function failedDraft(end: ModuleReport['end'], why: string): TrajectoryDraft {
  const message = `the agent's log could not be parsed (${end}): ${why.slice(0, 2000)}`;
  return { steps: [{ source: 'system', message }], extra: { parser_failed: true } };
}
