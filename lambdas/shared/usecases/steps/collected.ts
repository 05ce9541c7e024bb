import { ExamHallError } from '#core/errors';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import { CollectManifestSchema } from '#contracts/collect-manifest';
import { GUEST_CONTRACT_VERSION, type CollectManifest } from '#contracts/guest';
import type { Ports } from '#ports/ports';

/** More than a report of as many files as may be collected needs. */
const MANIFEST_LIMIT_BYTES = 128 * 1024 * 1024;

/**
 * What was collected of an attempt. The guest wrote it: it may name nothing but what lies where the guest may write.
 * @throws CollectFailedError when there is no manifest, or it does not read, or names anything else.
 */
export async function readCollectManifest(
  ports: Pick<Ports, 'artifacts'>,
  { attemptId }: Pick<AttemptRow, 'attemptId'>,
): Promise<CollectManifest> {
  const ref = { bucket: 'artifacts', key: objectKeys.collectManifest(attemptId) } as const;
  const found = await ports.artifacts.head(ref);
  if (found === undefined) throw failed(`${attemptId} has no collected output (${ref.key})`);
  if (found.sizeBytes > MANIFEST_LIMIT_BYTES) {
    throw failed(`${ref.key} has ${String(found.sizeBytes)} bytes; at most ${String(MANIFEST_LIMIT_BYTES)} are read`);
  }
  const parsed = CollectManifestSchema.safeParse(parse(new TextDecoder().decode(await ports.artifacts.get(ref))));
  if (!parsed.success) throw failed(`${ref.key} is not a manifest of version ${String(GUEST_CONTRACT_VERSION)}`);
  const prefix = objectKeys.collected(attemptId);
  for (const root of parsed.data.roots) {
    const stranger = root.entries.find(({ key }) => key !== null && !key.startsWith(`${prefix}${root.keyPrefix}`));
    if (stranger !== undefined) throw failed(`${ref.key} names ${String(stranger.key)}, which was not collected`);
  }
  return parsed.data;
}

function failed(message: string): ExamHallError {
  return new ExamHallError('CollectFailedError', message);
}

/** What is no JSON is no manifest. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
