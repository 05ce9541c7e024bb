import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { startObjectServer, type ObjectServer } from '#local/stores/object-server';
import { RequestSigner } from '#local/stores/request-signer';
import { createTreeView } from '#local/stores/tree-view';

let folder: string;
let store: DiskArtifactStore;
let server: ObjectServer;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-tree-view-'));
  const state = path.join(folder, 'tree', '.examhall');
  const served = { baseUrl: '' };
  const signer = new RequestSigner(
    () => served.baseUrl,
    () => Date.now(),
  );
  await mkdir(path.join(folder, 'tree', 'sweep', 'run'), { recursive: true });
  store = await DiskArtifactStore.open(
    path.join(state, 'store'),
    signer,
    createTreeView(path.join(folder, 'tree'), path.join(state, 'tree-hashes')),
  );
  server = await startObjectServer(store, signer);
  served.baseUrl = server.baseUrl;
  await writeFile(path.join(folder, 'tree', 'sweep', 'run', 'events.jsonl'), 'one\n');
  await writeFile(path.join(folder, 'outside.txt'), 'outside');
  await writeFile(path.join(state, 'secret.db'), 'state');
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const ref = (key: string) => ({ bucket: 'artifacts', key }) as const;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the run tree as objects', () => {
  it('is read under runs/ with the hash it has now, also by link', async () => {
    const key = 'runs/sweep/run/events.jsonl';
    expect(await store.head(ref(key))).toEqual({ key, sizeBytes: 4, sha256: sha256('one\n') });
    await writeFile(path.join(folder, 'tree', 'sweep', 'run', 'events.jsonl'), 'one\ntwo\n');
    expect(await store.head(ref(key))).toEqual({ key, sizeBytes: 8, sha256: sha256('one\ntwo\n') });
    const response = await fetch(await store.signGet(ref(key), 60));
    expect(await response.text()).toBe('one\ntwo\n');
    expect(new TextDecoder().decode(await store.get(ref(key), { start: 4, end: 6 }))).toBe('two');
  });

  it('leaves every other key to the store, in every other bucket too', async () => {
    await store.put(ref('attempts/x/output/a'), 'own');
    expect(new TextDecoder().decode(await store.get(ref('attempts/x/output/a')))).toBe('own');
    expect(await store.head({ bucket: 'tasks', key: 'runs/sweep/run/events.jsonl' })).toBeUndefined();
  });

  it('has nothing of our state, of links, of folders and of what lies outside', async () => {
    const run = path.join(folder, 'tree', 'sweep', 'run');
    await symlink(path.join(folder, 'outside.txt'), path.join(run, 'link.txt'));
    await symlink(folder, path.join(run, 'up'));
    await symlink(path.join(folder, 'tree', '.examhall'), path.join(folder, 'tree', 'state'));
    for (const key of [
      'runs/.examhall/secret.db',
      'runs/state/secret.db',
      'runs/sweep/run/link.txt',
      'runs/sweep/run/up/outside.txt',
      'runs/sweep/run',
      'runs/sweep/../.examhall/secret.db',
      'runs/sweep/run/../../../outside.txt',
      'runs//sweep/run/events.jsonl',
      'runs/./sweep/run/events.jsonl',
      'runs/sweep/run/nothing',
      'runs/',
    ]) {
      expect(await store.head(ref(key)), key).toBeUndefined();
      expect((await fetch(await store.signGet(ref(key), 60))).status, key).toBe(404);
    }
  });
});
