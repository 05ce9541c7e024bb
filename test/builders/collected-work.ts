import { createHash } from 'node:crypto';
import type { CollectEntry, CollectManifest } from '#contracts/guest';
import { objectKeys } from '#core/keys';
import type { World } from './world.ts';

/** Adds files to what was collected of an attempt's work folder, as if its job had told of them; without content only the manifest knows the entry. */
export async function addToOriginLog(
  world: World,
  attemptId: string,
  files: readonly { readonly path: string; readonly content?: Uint8Array; readonly entry?: Partial<CollectEntry> }[],
): Promise<void> {
  const ref = { bucket: 'artifacts', key: objectKeys.collectManifest(attemptId) } as const;
  const manifest = JSON.parse(Buffer.from(await world.artifacts.get(ref)).toString('utf8')) as CollectManifest;
  const added: CollectEntry[] = [];
  for (const { path, content, entry } of files) {
    const key = `${objectKeys.originLog(attemptId)}${path}`;
    const sha256 = content === undefined ? null : createHash('sha256').update(content).digest('hex');
    if (content !== undefined) await world.artifacts.put({ bucket: 'artifacts', key }, content);
    added.push({
      path,
      kind: 'file',
      sizeBytes: content?.length ?? 0,
      sha256,
      key: content === undefined ? null : key,
      target: null,
      skipped: null,
      ...entry,
    });
  }
  const roots = manifest.roots.map((root) =>
    root.keyPrefix === 'origin_log/' ? { ...root, entries: [...root.entries, ...added] } : root,
  );
  const { sha256: sha256OfManifest } = await world.artifacts.put(ref, JSON.stringify({ ...manifest, roots }));
  const { collected } = await world.attempt(attemptId);
  await world.changeAttempt(attemptId, { collected: { ...collected, sha256OfManifest } });
}
