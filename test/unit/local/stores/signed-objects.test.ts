import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { RequestSigner } from '#local/stores/request-signer';
import { createSignedObjects } from '#local/stores/signed-objects';
import { createDiskWorkspace } from '#local/workspace';

// Nobody listens there: what passes has not gone over HTTP.
const BASE = 'http://127.0.0.1:9';
const root = mkdtempSync(path.join(tmpdir(), 'signed-objects-'));
const ref = { bucket: 'artifacts', key: 'a/b.txt' } as const;
let nowMs = Date.now();
const signer = new RequestSigner(
  () => BASE,
  () => nowMs,
);
const store = await DiskArtifactStore.open(path.join(root, 'store'), signer);
const own = createSignedObjects(() => BASE, store, signer);
const workspace = createDiskWorkspace(path.join(root, 'scratch'), own);
const file = path.join(root, 'file');

beforeEach(async () => {
  await store.put(ref, 'content');
  rmSync(file, { force: true });
});

afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});

describe('a transfer to or from the process’s own store', () => {
  it('needs no server', async () => {
    const url = await store.signGet(ref, 60);
    expect(await workspace.readUrl(url)).toBe('content');
    const info = await store.head(ref);
    await workspace.download(url, file, info?.sha256 ?? '');
    expect(readFileSync(file, 'utf8')).toBe('content');
    const grant = await store.signUpload('artifacts', 'up/', 60, 10);
    await workspace.upload(grant, 'up/raw.json', '{"a":1}');
    expect(Buffer.from(await store.get({ bucket: 'artifacts', key: 'up/raw.json' })).toString()).toBe('{"a":1}');
  });

  it('streams what is large', async () => {
    const large = Buffer.alloc(3 * 1024 * 1024, 'x');
    await store.put(ref, large);
    const url = await store.signGet(ref, 60);
    await workspace.download(url, file, (await store.head(ref))?.sha256 ?? '');
    expect(readFileSync(file).equals(large)).toBe(true);
    expect((await workspace.readUrl(url)).length).toBe(large.length);
  });

  it.each([
    [
      'whose signature was changed',
      async () => (await store.signGet(ref, 60)).replace(/signature=./u, 'signature=_'),
      403,
    ],
    ['for another object', async () => (await store.signGet(ref, 60)).replace('b.txt', 'c.txt'), 403],
    ['to an object that is not there', async () => await store.signGet({ ...ref, key: 'none' }, 60), 404],
  ])('by a URL %s is refused as over HTTP and tells no signature', async (_, urlOf, status) => {
    const url = await urlOf();
    for (const work of [workspace.readUrl(url), workspace.download(url, file, null)]) {
      const error = await work.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        name: 'StoreUnavailableError',
        message: `/artifacts was answered ${String(status)}`,
      });
    }
    expect(existsSync(file)).toBe(false);
  });

  it('is refused once the URL or the grant has expired', async () => {
    const url = await store.signGet(ref, 60);
    const grant = await store.signUpload('artifacts', 'up/', 60, 10);
    nowMs += 61_000;
    await expect(workspace.readUrl(url)).rejects.toThrow('/artifacts was answered 403');
    await expect(workspace.upload(grant, 'up/x', '{}')).rejects.toThrow('/artifacts was answered 403');
  });

  it('takes neither more than was granted nor another place', async () => {
    const grant = await store.signUpload('artifacts', 'limited/', 60, 10);
    await expect(workspace.upload(grant, 'limited/x', 'more than ten')).rejects.toThrow('was answered 400');
    await expect(workspace.upload(grant, 'elsewhere/x', '{}')).rejects.toThrow('was answered 403');
    const changed = { ...grant, fields: { ...grant.fields, policy: grant.fields['policy']?.replace('e', 'f') ?? '' } };
    await expect(workspace.upload(changed, 'limited/x', '{}')).rejects.toThrow('was answered 403');
    expect((await store.list('artifacts', 'limited/')).objects).toEqual([]);
    expect((await store.list('artifacts', 'elsewhere/')).objects).toEqual([]);
  });

  it('fails for a wrong checksum and leaves no file', async () => {
    const url = await store.signGet(ref, 60);
    await expect(workspace.download(url, file, '0'.repeat(64))).rejects.toMatchObject({
      name: 'ChecksumMismatchError',
    });
    expect(existsSync(file)).toBe(false);
  });
});
