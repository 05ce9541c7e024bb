import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import { RUN_FILES } from '#core/run-tree';
import type { Ports } from '#ports/ports';
import { storedSandbox } from './attempt-stages.ts';

type Needs = Pick<Ports, 'artifacts' | 'providers' | 'log'>;

/**
 * Keeps what a machine shows that never became ready, before it is ended. Once for each attempt, and never in the way of its
 * end: what cannot be had is said in the log.
 */
export async function storeBootEvidence(ports: Needs, attempt: AttemptRow): Promise<void> {
  const sandbox = storedSandbox(attempt);
  if (sandbox === null || attempt.stageStartedAt['await'] === undefined) return;
  if (attempt.stageEndedAt['await'] !== undefined) return;
  try {
    const provider = ports.providers.get(sandbox.provider);
    if (provider.bootEvidence === undefined) return;
    const { consoleOutput, screenshot } = await provider.bootEvidence(sandbox);
    const { attemptId } = attempt;
    if (consoleOutput !== null) await put(ports, objectKeys.bootConsole(attemptId), consoleOutput);
    if (screenshot !== null) await put(ports, objectKeys.bootScreenshot(attemptId), screenshot);
    ports.log.info('sandbox.boot-evidence', {
      attemptId,
      console: consoleOutput !== null,
      screen: screenshot !== null,
    });
  } catch (error) {
    ports.log.warn('sandbox.boot-evidence', { attemptId: attempt.attemptId, message: String(error) });
  }
}

/** Brings what was kept of a failed start into the run folder, whose files the record names with their hashes. */
export async function recordBootEvidence(
  { artifacts, runTree }: Pick<Ports, 'artifacts' | 'runTree'>,
  { attemptId, runDir, stageStartedAt, stageEndedAt }: AttemptRow & { readonly runDir: string },
): Promise<void> {
  if (stageStartedAt['await'] === undefined || stageEndedAt['await'] !== undefined) return;
  const kept = [
    [RUN_FILES.bootConsole, objectKeys.bootConsole(attemptId)],
    [RUN_FILES.bootScreenshot, objectKeys.bootScreenshot(attemptId)],
  ] as const;
  for (const [path, key] of kept)
    if ((await artifacts.head({ bucket: 'artifacts', key })) !== undefined) await runTree.copyObject(runDir, path, key);
}

/** What the machine showed first stands. */
async function put({ artifacts }: Needs, key: string, content: string | Uint8Array): Promise<void> {
  const ref = { bucket: 'artifacts', key } as const;
  if ((await artifacts.head(ref)) === undefined) await artifacts.put(ref, content);
}
