import { describe, expect, it } from 'vitest';

import { InMemoryArtifactStore } from '#test/fakes/artifact-store';
import { InMemoryUnitStore } from '#test/fakes/unit-store';

describe('fakes of the stores', () => {
  it('keep every unit store call, and fail the next ones before they do anything', async () => {
    const store = new InMemoryUnitStore();
    const write = { put: { pk: 'p', sk: 's', body: {} }, when: 'any' } as const;
    store.failNext(2, new Error('told to'));
    await expect(store.write([write])).rejects.toThrow('told to');
    await expect(store.get({ pk: 'p', sk: 's' })).rejects.toThrow('told to');
    expect(await store.get({ pk: 'p', sk: 's' })).toBeUndefined();
    expect(store.calls).toEqual([{ write: [write] }, { get: { pk: 'p', sk: 's' } }, { get: { pk: 'p', sk: 's' } }]);
  });

  it('give rows that share nothing with what was written or read before', async () => {
    const store = new InMemoryUnitStore();
    const body = { list: [1] };
    await store.write([{ put: { pk: 'p', sk: 's', body }, when: 'any' }]);
    body.list.push(2);
    const [first, second] = [await store.get({ pk: 'p', sk: 's' }), await store.get({ pk: 'p', sk: 's' })];
    expect(first?.body).toEqual({ list: [1] });
    expect(first?.body['list']).not.toBe(second?.body['list']);
  });

  it('keep every artefact store call, and fail the next ones before they do anything', async () => {
    const store = new InMemoryArtifactStore();
    const ref = { bucket: 'tasks', key: 'k' } as const;
    store.failNext(1, new Error('told to'));
    await expect(store.put(ref, 'x')).rejects.toThrow('told to');
    expect(await store.head(ref)).toBeUndefined();
    expect(store.calls).toEqual([
      { operation: 'put', ref },
      { operation: 'head', ref },
    ]);
  });
});
