import type { PublishedAgent } from '#core/catalog';
import { jsonFile } from '#core/run-json';
import { RUN_FILES } from '#core/run-tree';
import type { AttemptRow } from '#core/rows';
import { buildTrajectory, type FinalMetrics } from '#core/trajectory';
import type { TrajectoryDraft } from '#core/trajectory-types';
import type { CollectManifest } from '#contracts/guest';
import type { ModuleReport } from '#ports/module-runner';
import type { Ports } from '#ports/ports';
import { collectedFiles } from './collected-files.ts';
import { gradeOfRow, outcomeOfRow } from './verdicts.ts';

type Needs = Pick<Ports, 'artifacts' | 'modules' | 'workspace' | 'runTree' | 'clock'>;

const PARSER_LIMITS = { timeoutSeconds: 300, memoryMiB: 1024, outputLimitKiB: 256, resultLimitKiB: 64 * 1024 };

export interface WrittenTrajectory {
  readonly usage: FinalMetrics;
  readonly screenshots: number;
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
    draft: await draftOf(ports, agent, manifest, { outcome: outcome.kind, startedAt }),
  });
  await ports.runTree.write(attempt.runDir, RUN_FILES.trajectory, jsonFile(built.trajectory));
  for (const { path, bytes } of built.screenshots) await ports.runTree.write(attempt.runDir, path, bytes);
  return { usage: built.usage, screenshots: built.screenshots.length };
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
    return isDraft(report) ? report.value : failedDraft(report);
  } finally {
    await scratch.remove();
  }
}

function isDraft(report: ModuleReport): report is ModuleReport & { readonly value: TrajectoryDraft } {
  const { end, value } = report;
  return (
    end === 'returned' && typeof value === 'object' && value !== null && 'steps' in value && Array.isArray(value.steps)
  );
}

/** A parser that fails loses no evidence: its log is in the run folder, and the trajectory says so. */
function failedDraft({ end, errorMessage }: ModuleReport): TrajectoryDraft {
  const message = `the agent's log could not be parsed (${end}): ${errorMessage ?? 'no trajectory was returned'}`;
  return { steps: [{ source: 'system', message }], extra: { parser_failed: true } };
}
