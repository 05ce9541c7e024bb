import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { taskManifestKey } from '#core/catalog';
import { rowKeys } from '#core/keys';
import { functionNamed } from '#contracts/functions';
import { AgentOfferSchema, TaskOfferSchema } from '#contracts/publish-offer';
import { publishThroughApi, type PublishApi, type PublishProgress } from '#local/publish/publish-remote';
import { publishTask } from '#local/publish/publish-task';
import { startObjectServer, type ObjectServer } from '#local/stores/object-server';
import { RequestSigner } from '#local/stores/request-signer';
import { InMemoryArtifactStore } from '#test/fakes/artifact-store';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { VirtualClock } from '#local/clock';
import { World } from '#test/builders/world';
import { grantedPorts } from '#runtime/granted-ports';
import { offerAgent } from '#usecases/steps/publish-agent';
import { offerTask } from '#usecases/steps/publish-task';
import { openPublishFixture, type PublishFixture } from './publish-fixture.ts';

const PUBLISHER = 'arn:aws:iam::000000000000:user/publisher';

let fixture: PublishFixture;
let server: ObjectServer;
let store: InMemoryArtifactStore;
let rows: InMemoryUnitStore;
let api: PublishApi;
let now = Date.now();

beforeEach(async () => {
  fixture = await openPublishFixture();
  const served = { baseUrl: '' };
  const signer = new RequestSigner(
    () => served.baseUrl,
    () => now,
  );
  now = Date.now();
  store = new InMemoryArtifactStore(signer);
  server = await startObjectServer(store, signer);
  served.baseUrl = server.baseUrl;
  rows = new InMemoryUnitStore();
  const granted = grantedPorts(functionNamed('accept-commands'), { ...new World().ports, artifacts: store });
  const ports = {
    unitStore: rows,
    artifacts: granted.artifacts,
    clock: new VirtualClock({ isAutomatic: false }),
    digest: { sha256: (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex') },
  };
  // As the API reads bodies: JSON, parsed by the route's schema.
  const overTheWire = (body: unknown): unknown => JSON.parse(JSON.stringify(body)) as unknown;
  api = {
    publishTask: async (body) => await offerTask(TaskOfferSchema.parse(overTheWire(body)), PUBLISHER, ports),
    publishAgent: async (body) => await offerAgent(AgentOfferSchema.parse(overTheWire(body)), PUBLISHER, ports),
  };
});
afterEach(async () => {
  await server.close();
  await fixture.close();
});

const { runner, cacheDir } = { runner: () => fixture.deps.runner, cacheDir: () => fixture.deps.cacheDir };
const publish = async (folder: string, more: { onProgress?: (progress: PublishProgress) => void } = {}) =>
  await publishThroughApi(folder, api, {
    kind: 'task',
    runner: runner(),
    cacheDir: cacheDir(),
    retryWaitsMs: [1, 1],
    ...more,
  });

describe('publishing a task through the API', () => {
  it('stores what publishing into a store of one’s own does, and names the revision', async () => {
    const folder = await fixture.writeTask();
    const local = await publishTask(folder, fixture.deps);
    const seen: PublishProgress[] = [];
    const published = await publish(folder, { onProgress: (progress) => seen.push(progress) });
    expect(published).toMatchObject({ id: 'demo/hello', revision: local.revision, uploadedFiles: 8 });
    for (const bucket of ['tasks', 'references'] as const) {
      const [here, there] = await Promise.all([store.list(bucket, ''), fixture.deps.store.list(bucket, '')]);
      expect(here.objects.length).toBeGreaterThan(0);
      expect(here.objects).toEqual(there.objects);
      for (const { key } of here.objects)
        expect(await store.head({ bucket, key })).toEqual(await fixture.deps.store.head({ bucket, key }));
    }
    expect((await rows.get(rowKeys.publishedTask('demo/hello')))?.body).toMatchObject({
      revision: local.revision,
      manifestKey: taskManifestKey(local),
      publishedBy: PUBLISHER,
      variants: [
        { index: 0, name: 'a' },
        { index: 1, name: 'b' },
      ],
      snapshot: 'cpu-free-ubuntu',
      network: 'open',
    });
    expect(seen.at(0)).toMatchObject({ uploaded: null, filesLeft: 8 });
    expect(seen.at(-1)).toMatchObject({ filesLeft: 0, bytesLeft: 0 });
  });

  it('uploads nothing a second time, and an older revision becomes the named one again', async () => {
    const folder = await fixture.writeTask();
    const first = await publish(folder);
    expect(await publish(folder)).toMatchObject({ revision: first.revision, uploadedFiles: 0 });
    await fixture.write({ 'demo/hello/input/b/x.txt': 'in b, changed' });
    const second = await publish(folder);
    expect(second.revision).not.toBe(first.revision);
    const named = async () => (await rows.get(rowKeys.publishedTask('demo/hello')))?.body['revision'];
    expect(await named()).toBe(second.revision);
    await fixture.write({ 'demo/hello/input/b/x.txt': 'in b' });
    expect(await publish(folder)).toMatchObject({ revision: first.revision, uploadedFiles: 0 });
    expect(await named()).toBe(first.revision);
  });

  it('goes on where it was broken off, and puts right what was stored damaged', async () => {
    const folder = await fixture.writeTask();
    let uploads = 0;
    const whole = store.receive.bind(store);
    store.receive = async (...given) => {
      uploads += 1;
      if (uploads > 5) throw new Error('the line is cut');
      return await whole(...given);
    };
    await expect(publish(folder)).rejects.toMatchObject({ name: 'StoreUnavailableError' });
    expect(await rows.get(rowKeys.publishedTask('demo/hello'))).toBeUndefined();
    expect((await store.list('tasks', '')).objects.filter(({ key }) => key.endsWith('.json'))).toEqual([]);
    store.receive = whole;
    const { objects } = await store.list('tasks', 'tasks/');
    const damaged = objects.find(({ key }) => key.includes('/input/'));
    if (damaged !== undefined) await store.put({ bucket: 'tasks', key: damaged.key }, 'x'.repeat(damaged.sizeBytes));
    const left = damaged === undefined ? 3 : 4;
    expect(await publish(folder)).toMatchObject({ uploadedFiles: left });
  });

  it('asks for a new form when one has run out, and tries again what failed in passing', async () => {
    const folder = await fixture.writeTask();
    const whole = store.receive.bind(store);
    let uploads = 0;
    store.receive = async (...given) => {
      uploads += 1;
      if (uploads === 2) throw new Error('one passing trouble');
      if (uploads === 4) now += 3_601_000;
      return await whole(...given);
    };
    expect(await publish(folder)).toMatchObject({ uploadedFiles: 8 });
  });

  it('is given forms that take no other key than their own', async () => {
    const folder = await fixture.writeTask();
    const honest = api;
    const asked: number[] = [];
    api = {
      ...honest,
      publishTask: async (body) => {
        const answer = await honest.publishTask(body);
        for (const { grant, keys } of answer.uploads) {
          const form = new FormData();
          for (const [name, value] of Object.entries(grant.fields)) form.set(name, value);
          form.set('key', `${keys[0] ?? ''}0`);
          form.set('file', new Blob(['other']), 'file');
          asked.push((await fetch(grant.url, { method: 'POST', body: form })).status);
        }
        return answer;
      },
    };
    expect(await publish(folder)).toMatchObject({ uploadedFiles: 8 });
    expect(asked).toEqual(Array.from({ length: 8 }, () => 403));
  });

  it('publishes the same from several at once', async () => {
    const folder = await fixture.writeTask();
    const ended = await Promise.all([publish(folder), publish(folder), publish(folder)]);
    expect(new Set(ended.map(({ revision }) => revision)).size).toBe(1);
    expect((await rows.get(rowKeys.publishedTask('demo/hello')))?.body['revision']).toBe(ended[0].revision);
  });

  it('tells a server that never has enough from one that has', async () => {
    const folder = await fixture.writeTask();
    const honest = api;
    let first: Awaited<ReturnType<PublishApi['publishTask']>> | undefined;
    api = { ...honest, publishTask: async (body) => (first ??= await honest.publishTask(body)) };
    await expect(publish(folder)).rejects.toThrow(/goes on asking/u);
    api = {
      ...honest,
      publishTask: async (body) => {
        const answer = await honest.publishTask(body);
        return { ...answer, uploads: answer.uploads.map((each) => ({ ...each, keys: ['tasks/other/secret'] })) };
      },
    };
    await fixture.write({ 'demo/hello/input/b/x.txt': 'another revision' });
    await expect(publish(folder)).rejects.toThrow(/was not offered/u);
  });
});
