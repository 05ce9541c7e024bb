import { SOLUTIONS_PREFIX } from '#core/catalog';
import { isErrorNamed } from '#core/errors';
import type { OfferedFile } from '#core/offered-files';
import type { PublishAnswer } from '#contracts/api-schemas';
import type { Bucket, ObjectRef } from '#ports/artifact-store';
import type { Ports } from '#ports/ports';

type Needs = Pick<Ports, 'artifacts'>;
type Upload = PublishAnswer['uploads'][number];

/** How long a form holds; a publisher who needs longer asks again. */
const FORM_SECONDS = 3600;
const HEADS_AT_ONCE = 32;
/** A form takes two to three kilobytes of the answer. */
const FORMS_AT_ONCE = 250;

/**
 * What is still to be uploaded: a form for each key that is missing or differs, for that key and the content that was
 * offered and no other, at most so many at a time. Of references and solutions only sizes are compared: who publishes must not be able to
 * read them, and S3 takes no other content by these forms.
 */
export async function missingUploads(ports: Needs, files: readonly OfferedFile[]): Promise<readonly Upload[]> {
  const uploads: Upload[] = [];
  for (const group of groupsOf(files)) {
    for (const { bucket, file } of await missingOf(ports, group)) {
      if (uploads.length === FORMS_AT_ONCE) return uploads;
      const limit = { maxBytes: file.sizeBytes, sha256: file.sha256 };
      const grant = await ports.artifacts.signUpload(bucket, file.key, FORM_SECONDS, limit);
      uploads.push({ bucket, grant, keys: [file.key] });
    }
  }
  return uploads;
}

interface Group {
  readonly bucket: 'tasks' | 'references';
  readonly keyPrefix: string;
  /** One for each key. */
  readonly files: readonly OfferedFile[];
}

function groupsOf(files: readonly OfferedFile[]): readonly Group[] {
  const groups = new Map<string, { bucket: Group['bucket']; keyPrefix: string; byKey: Map<string, OfferedFile> }>();
  for (const offered of files) {
    const { bucket, keyPrefix } = offered;
    const name = `${bucket}/${keyPrefix}`;
    const group = groups.get(name) ?? { bucket, keyPrefix, byKey: new Map<string, OfferedFile>() };
    group.byKey.set(offered.file.key, offered);
    groups.set(name, group);
  }
  return [...groups.values()].map(({ byKey, ...group }) => ({ ...group, files: [...byKey.values()] }));
}

async function missingOf(ports: Needs, { bucket, keyPrefix, files }: Group): Promise<readonly OfferedFile[]> {
  const sizes = await sizesBelow(ports, bucket, keyPrefix);
  const differs = new Set<string>();
  const there: OfferedFile[] = [];
  for (const offered of files) {
    const { key, sizeBytes } = offered.file;
    if (sizes.get(key) === sizeBytes) there.push(offered);
    else differs.add(key);
  }
  if (bucket === 'tasks' && !keyPrefix.startsWith(SOLUTIONS_PREFIX)) {
    const pending = [...there];
    const work = async (): Promise<void> => {
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        const { key, sha256 } = next.file;
        if ((await ports.artifacts.head({ bucket, key }))?.sha256 !== sha256) differs.add(key);
      }
    };
    await Promise.all(Array.from({ length: Math.min(HEADS_AT_ONCE, there.length) }, work));
  }
  return files.filter(({ file }) => differs.has(file.key));
}

async function sizesBelow(ports: Needs, bucket: Bucket, prefix: string): Promise<ReadonlyMap<string, number>> {
  const sizes = new Map<string, number>();
  let cursor: string | undefined;
  do {
    const page = await ports.artifacts.list(bucket, prefix, cursor === undefined ? {} : { cursor });
    for (const { key, sizeBytes } of page.objects) sizes.set(key, sizeBytes);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return sizes;
}

/** Writes a manifest; one that is there already says the same, for its revision is made of all it says. */
export async function putOnce(ports: Needs, ref: ObjectRef, manifest: unknown): Promise<void> {
  const body = `${JSON.stringify(manifest, null, 2)}\n`;
  try {
    await ports.artifacts.put(ref, body, { ifAbsent: true, contentType: 'application/json' });
  } catch (error) {
    if (!isErrorNamed(error, 'ObjectExistsError')) throw error;
  }
}
