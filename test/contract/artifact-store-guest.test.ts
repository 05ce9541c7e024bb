import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { GUEST_CONTRACT_VERSION, type FetchItem } from '#contracts/guest';
import { fetchFiles } from '#guest/fetch-files';
import { bufferSource, uploadObject } from '#guest/upload-object';
import { openServedArtifacts, type ServedArtifacts } from '#local/stores/served-artifacts';

describe('the guest runner against the object server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guest-objects-'));
  let served: ServedArtifacts | undefined;
  beforeAll(async () => {
    served = await openServedArtifacts(join(folder, 'store'), Date.now);
  });
  afterAll(async () => {
    await served?.close();
    rmSync(folder, { recursive: true });
  });
  const store = () => {
    if (served === undefined) throw new Error('the store did not open');
    return served.store;
  };

  it('uploads under a grant: any name, empty files and large ones', async () => {
    const grant = await store().signUpload('artifacts', 'attempts/a.1/', 60, 8 * 1_024 * 1_024);
    const contents = {
      'output/é \u{1f600}.txt': Buffer.from('text'),
      'output/empty': Buffer.alloc(0),
      large: randomBytes(5_000_000),
    };
    for (const [name, content] of Object.entries(contents)) {
      const key = `${grant.keyPrefix}${name}`;
      const sha256 = createHash('sha256').update(content).digest('hex');
      expect(await uploadObject(grant, key, bufferSource(content))).toBe(sha256);
      expect(await store().head({ bucket: 'artifacts', key })).toEqual({ key, sizeBytes: content.length, sha256 });
    }
    const key = `${grant.keyPrefix}over`;
    await expect(uploadObject(grant, key, bufferSource(Buffer.alloc(9_000_000)))).rejects.toThrow(/400/);
    expect(await store().head({ bucket: 'artifacts', key })).toBeUndefined();
  });

  it('fetches a list of signed files', async () => {
    const content = randomBytes(3_000_000);
    const ref = { bucket: 'tasks', key: 'input/data.bin' } as const;
    const { sha256, sizeBytes } = await store().put(ref, content);
    const target = join(folder, 'in', 'data.bin');
    const item: FetchItem = {
      url: await store().signGet(ref, 60),
      path: target,
      sha256,
      sizeBytes,
      executable: false,
    };
    const list = { bucket: 'artifacts', key: 'list.json' } as const;
    await store().put(list, JSON.stringify({ items: [item], directories: [join(folder, 'in')] }));
    const report = await fetchFiles({
      version: GUEST_CONTRACT_VERSION,
      kind: 'fetch',
      jobId: 'fetch',
      wallSeconds: 60,
      account: null,
      isolation: { kind: 'none' },
      listUrl: await store().signGet(list, 60),
    });
    expect(report).toMatchObject({ files: 1, bytes: 3_000_000, message: null });
    expect(Buffer.compare(readFileSync(target), content)).toBe(0);
  });
});
