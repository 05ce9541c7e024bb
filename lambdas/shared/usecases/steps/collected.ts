import { ExamHallError } from '#core/errors';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import { CollectManifestSchema } from '#contracts/collect-manifest';
import { GUEST_CONTRACT_VERSION, type CollectManifest } from '#contracts/guest';
import type { Ports } from '#ports/ports';

/** More than a report of as many files as may be collected needs. */
const MANIFEST_LIMIT_BYTES = 128 * 1024 * 1024;

/**
 * What was collected of an attempt. The guest wrote it: it may name nothing but what lies where the guest may write, and is
 * the one that its job told the hash of when it ended, since whoever holds the form of the upload may write again.
 * @throws CollectFailedError when there is no manifest, or it is another, does not read, or names anything else.
 */
export async function readCollectManifest(
  ports: Pick<Ports, 'artifacts' | 'digest'>,
  { attemptId, collected }: Pick<AttemptRow, 'attemptId' | 'collected'>,
): Promise<CollectManifest> {
  const ref = { bucket: 'artifacts', key: objectKeys.collectManifest(attemptId) } as const;
  const found = await ports.artifacts.head(ref);
  if (found === undefined) throw failed(`${attemptId} has no collected output (${ref.key})`);
  if (found.sizeBytes > MANIFEST_LIMIT_BYTES) {
    throw failed(`${ref.key} has ${String(found.sizeBytes)} bytes; at most ${String(MANIFEST_LIMIT_BYTES)} are read`);
  }
  const bytes = await ports.artifacts.get(ref);
  const seen = ports.digest.sha256(bytes);
  const told = collected?.['sha256OfManifest'] ?? null;
  if (seen !== told) throw failed(`${ref.key} has sha256 ${seen}; the job that wrote it told ${JSON.stringify(told)}`);
  const parsed = CollectManifestSchema.safeParse(parse(new TextDecoder().decode(bytes)));
  if (!parsed.success) throw failed(`${ref.key} is not a manifest of version ${String(GUEST_CONTRACT_VERSION)}`);
  const prefix = objectKeys.collected(attemptId);
  for (const root of parsed.data.roots) {
    const stranger = root.entries.find(({ key }) => key !== null && !key.startsWith(`${prefix}${root.keyPrefix}`));
    if (stranger !== undefined) throw failed(`${ref.key} names ${String(stranger.key)}, which was not collected`);
  }
  return parsed.data;
}

/**
 * Before anybody is sent for what the manifest names.
 * @throws CollectFailedError when an object that it names is not there, or not as large.
 */
export async function refuseMissing(
  { artifacts }: Pick<Ports, 'artifacts'>,
  { attemptId }: Pick<AttemptRow, 'attemptId'>,
  { roots }: CollectManifest,
): Promise<void> {
  const named = roots.flatMap(({ entries }) => entries.filter(({ key }) => key !== null));
  if (named.length === 0) return;
  const there = new Map<string, number>();
  let cursor: string | undefined;
  do {
    const page = await artifacts.list(
      'artifacts',
      objectKeys.collected(attemptId),
      cursor === undefined ? {} : { cursor },
    );
    for (const { key, sizeBytes } of page.objects) there.set(key, sizeBytes);
    ({ cursor } = page);
  } while (cursor !== undefined);
  const lacking = named.find(({ key, sizeBytes }) => key !== null && there.get(key) !== sizeBytes);
  if (lacking === undefined) return;
  const found = there.get(lacking.key ?? '');
  const what = found === undefined ? 'is not there' : `has ${String(found)} bytes and not ${String(lacking.sizeBytes)}`;
  throw failed(`${String(lacking.key)} ${what}; the manifest of ${attemptId} names it`);
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
