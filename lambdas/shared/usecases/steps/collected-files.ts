import { keptName } from '#core/collected-names';
import { agentSlug } from '#core/slugs';
import { RUN_FILES } from '#core/run-tree';
import type { AttemptRow } from '#core/rows';
import type { CollectManifest } from '#contracts/guest';
import type { Ports } from '#ports/ports';
import { forEachGuarded } from './for-each.ts';

/** A collected file under the name it has in the run folder: safe and unique. */
export interface CollectedFile {
  readonly key: string;
  /** What it was called in the sandbox. */
  readonly path: string;
  readonly name: string;
  readonly sha256: string;
}

/** Files of one collected root (`output/`, `origin_log/`, `console/`). */
export function collectedFiles(manifest: CollectManifest, root: string): readonly CollectedFile[] {
  const entries = manifest.roots.find(({ keyPrefix }) => keyPrefix === root)?.entries ?? [];
  return entries.flatMap(({ path, key, sha256 }) => {
    if (key === null || sha256 === null) return [];
    const place = key.indexOf(`/${root}`);
    return [{ key, path, sha256, name: keptName(path, key.slice(place + root.length + 1)) }];
  });
}

/** Brings what was collected into the run folder, some files at a time: the agent's log always, its output when asked for. */
export async function writeCollected(
  ports: Pick<Ports, 'runTree'>,
  attempt: AttemptRow & { readonly runDir: string },
  manifest: CollectManifest,
  withOutput: boolean,
): Promise<void> {
  const agent = agentSlug(attempt.agentId);
  const copy = async (files: readonly CollectedFile[], folder: string): Promise<void> => {
    const copyOne = async ({ key, name }: CollectedFile): Promise<void> => {
      await ports.runTree.copyObject(attempt.runDir, `${folder}/${name}`, key);
    };
    await forEachGuarded(files, copyOne, { onFailure: () => undefined });
  };
  await copy(collectedFiles(manifest, 'origin_log/'), `${RUN_FILES.originLog}/${agent}`);
  await copy(collectedFiles(manifest, 'console/').filter(isConsole), `${RUN_FILES.originLog}/${agent}/console`);
  if (withOutput) await copy(collectedFiles(manifest, 'output/'), RUN_FILES.output);
  const notTaken = manifest.roots.flatMap(({ keyPrefix, entries }) =>
    entries.filter((entry) => entry.key === null).map((entry) => ({ root: keyPrefix, ...entry })),
  );
  if (notTaken.length > 0) {
    await ports.runTree.write(
      attempt.runDir,
      `${RUN_FILES.originLog}/not_collected.json`,
      JSON.stringify(notTaken, null, 2),
    );
  }
}

/** The job folder also holds the runner's own files; only the console belongs into the record. */
function isConsole({ name }: CollectedFile): boolean {
  return name === 'stdout' || name === 'stderr';
}
