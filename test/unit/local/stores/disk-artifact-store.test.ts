import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { RequestSigner } from '#local/stores/request-signer';

const REF = { bucket: 'artifacts', key: 'folder/object.txt' } as const;

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

describe('DiskArtifactStore as files', () => {
  let root = '';
  let store: DiskArtifactStore;
  let dataPath = '';
  let sidecarPath = '';
  const open = () => DiskArtifactStore.open(root, new RequestSigner(() => '', Date.now));
  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'disk-store-'));
    store = await open();
    await store.put(REF, 'content', { contentType: 'text/plain' });
    dataPath = join(root, 'objects', 'artifacts', 'folder', 'object.txt');
    sidecarPath = join(root, 'sidecars', 'artifacts', 'folder', 'object.txt');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('keeps the plain content under a readable path, and nothing beside it', () => {
    expect(readFileSync(dataPath, 'utf8')).toBe('content');
    expect(readdirSync(join(root, 'objects', 'artifacts', 'folder'))).toEqual(['object.txt']);
    expect(readdirSync(join(root, 'writing'))).toEqual([]);
  });

  it('finds hashes and objects again when opened anew', async () => {
    const again = await open();
    expect(await again.head(REF)).toEqual({ key: REF.key, sizeBytes: 7, sha256: sha256('content') });
    const opened = await again.open(REF);
    expect(opened?.contentType).toBe('text/plain');
    await opened?.close();
  });

  it('takes the hash from the sidecar without reading the content', async () => {
    const sidecar = JSON.parse(readFileSync(sidecarPath, 'utf8')) as Record<string, unknown>;
    writeFileSync(sidecarPath, JSON.stringify({ ...sidecar, sha256: sha256('planted') }));
    expect((await store.head(REF))?.sha256).toBe(sha256('planted'));
  });

  it('believes no sidecar that is missing, torn or of another content, and mends it', async () => {
    const whole = readFileSync(sidecarPath, 'utf8');
    const damages = [
      () => rmSync(sidecarPath),
      () => writeFileSync(sidecarPath, whole.slice(0, 20)),
      () => writeFileSync(sidecarPath, 'null'),
    ];
    for (const damage of damages) {
      damage();
      expect((await store.head(REF))?.sha256).toBe(sha256('content'));
      expect(JSON.parse(readFileSync(sidecarPath, 'utf8'))).toMatchObject({ sha256: sha256('content') });
    }
    appendFileSync(dataPath, ' and more');
    expect(await store.head(REF)).toEqual({ key: REF.key, sizeBytes: 16, sha256: sha256('content and more') });
  });

  it('hands out no content that differs from its hash, and leaves the target as it was', async () => {
    const sidecar = JSON.parse(readFileSync(sidecarPath, 'utf8')) as Record<string, unknown>;
    writeFileSync(sidecarPath, JSON.stringify({ ...sidecar, sha256: sha256('before the disk rotted') }));
    const target = join(root, 'target');
    await expect(store.getFile(REF, target)).rejects.toMatchObject({ name: 'ChecksumMismatchError' });
    expect(existsSync(target)).toBe(false);
    expect(readdirSync(root).sort()).toEqual(['objects', 'sidecars', 'writing']);
    await expect(store.copy(REF, { bucket: 'tasks', key: 'copy' })).rejects.toMatchObject({
      name: 'ChecksumMismatchError',
    });
    expect(await store.head({ bucket: 'tasks', key: 'copy' })).toBeUndefined();
  });

  it('clears what a process that is gone was writing, and nothing of one that lives', async () => {
    writeFileSync(join(root, 'writing', '4194305_gone_1'), 'half');
    writeFileSync(join(root, 'writing', `${process.pid}_earlier-process-of-this-id_1`), 'half');
    writeFileSync(join(root, 'writing', `${process.ppid}_living_1`), 'half');
    await open();
    expect(readdirSync(join(root, 'writing'))).toEqual([`${process.ppid}_living_1`]);
  });

  it('gives a reader one whole version while the object is replaced', async () => {
    const old = 'old '.repeat(100_000);
    await store.put(REF, old);
    const opened = await store.open(REF);
    await store.put(REF, 'new');
    let text = '';
    for await (const chunk of opened?.read() ?? []) text += String(chunk);
    expect(text).toBe(old);
  });
});
