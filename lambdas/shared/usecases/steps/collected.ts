import { ExamHallError, isErrorNamed } from '#core/errors';
import { objectKeys } from '#core/keys';
import type { AttemptRow } from '#core/rows';
import { GUEST_CONTRACT_VERSION, type CollectManifest } from '#contracts/guest';
import type { Ports } from '#ports/ports';

/** What was collected of an attempt. @throws CollectFailedError when there is no manifest or it does not read. */
export async function readCollectManifest(
  ports: Pick<Ports, 'artifacts'>,
  attempt: Pick<AttemptRow, 'attemptId'>,
): Promise<CollectManifest> {
  const key = objectKeys.collectManifest(attempt.attemptId);
  let text: string;
  try {
    text = new TextDecoder().decode(await ports.artifacts.get({ bucket: 'artifacts', key }));
  } catch (error) {
    if (!isErrorNamed(error, 'ObjectNotFoundError')) throw error;
    throw new ExamHallError('CollectFailedError', `${attempt.attemptId} has no collected output (${key})`, {}, error);
  }
  const manifest = parse(text);
  if (isManifest(manifest)) return manifest;
  throw new ExamHallError(
    'CollectFailedError',
    `${key} is not a manifest of version ${String(GUEST_CONTRACT_VERSION)}`,
  );
}

/** The guest wrote it; what is no JSON is no manifest. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isManifest(value: unknown): value is CollectManifest {
  return (
    typeof value === 'object' &&
    value !== null &&
    'version' in value &&
    value.version === GUEST_CONTRACT_VERSION &&
    'roots' in value &&
    Array.isArray(value.roots)
  );
}
