import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ExamHallError } from '#core/errors';
import { objectKeys } from '#core/keys';
import type { ArtifactStore, ObjectRef } from '#ports/artifact-store';

export interface BootArchiveOptions {
  readonly artifacts: Pick<ArtifactStore, 'head' | 'put' | 'signGet'>;
  /** The archive as it was deployed beside the function. */
  readonly file: string;
}

export interface BootArchive {
  /** Where a machine fetches the archive from, and what it must be. */
  archive(): Promise<{ readonly url: string; readonly sha256: string }>;
}

/** A machine fetches it minutes after its launch; one that starts later is given up long before. */
const URL_SECONDS = 3600;

/**
 * What machines fetch at their first boot: runner, desktop and recipes, nothing secret. It is put below its own hash by whoever
 * needs it first, and is never changed, so that a machine of an earlier deploy finds what it was told of.
 */
export function createBootArchive({ artifacts, file }: BootArchiveOptions): BootArchive {
  let stored: Promise<{ readonly ref: ObjectRef; readonly sha256: string }> | undefined;
  return {
    archive: async () => {
      stored ??= store(artifacts, file).catch((error: unknown) => {
        stored = undefined;
        throw error;
      });
      const { ref, sha256 } = await stored;
      return { url: await artifacts.signGet(ref, URL_SECONDS), sha256 };
    },
  };
}

async function store(
  artifacts: BootArchiveOptions['artifacts'],
  file: string,
): Promise<{ readonly ref: ObjectRef; readonly sha256: string }> {
  const content = await readFile(file).catch((error: unknown) => {
    const message = `the boot archive of sandboxes is not at ${file}; deploy again`;
    throw new ExamHallError('ProvisionFailedError', message, { file }, error);
  });
  const sha256 = createHash('sha256').update(content).digest('hex');
  const ref: ObjectRef = { bucket: 'tasks', key: objectKeys.bootArchive(sha256) };
  if ((await artifacts.head(ref))?.sha256 !== sha256) {
    await artifacts.put(ref, content, { sha256, contentType: 'application/gzip' });
  }
  return { ref, sha256 };
}
