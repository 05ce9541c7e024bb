import { randomUUID } from 'node:crypto';

import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { ArtifactStore } from '#ports/artifact-store';

import { expectObjectError } from './artifact-store-expectations.ts';

/** The part of the artefact store's contract that is about listings. */
export function describeListing(store: () => ArtifactStore, isSlow: boolean): void {
  async function listAll(prefix: string, limit: number): Promise<string[]> {
    const keys: string[] = [];
    let page: { cursor?: string } = {};
    for (;;) {
      const { objects, cursor } = await store().list('artifacts', prefix, { limit, ...page });
      expect(objects.length).toBeLessThanOrEqual(limit);
      keys.push(...objects.map(({ key }) => key));
      if (cursor === undefined) return keys;
      page = { cursor };
    }
  }

  it('tell sizes, and end without a cursor', async () => {
    const folder = `${randomUUID()}/`;
    await store().put({ bucket: 'artifacts', key: `${folder}b` }, '12345');
    await store().put({ bucket: 'artifacts', key: `${folder}a` }, '');
    expect(await store().list('artifacts', folder)).toEqual({
      objects: [
        { key: `${folder}a`, sizeBytes: 0 },
        { key: `${folder}b`, sizeBytes: 5 },
      ],
    });
    expect(await store().list('artifacts', `${folder}none`)).toEqual({ objects: [] });
    expect(await store().list('tasks', folder)).toEqual({ objects: [] });
  });

  it('are in the order of UTF-8 bytes, across what looks like folders, for any keys, prefix and page size', async () => {
    const part = fc.constantFrom(
      'a',
      'A',
      'b',
      '/',
      '/',
      '-',
      '.',
      '0',
      '~',
      'é',
      'e\u0301',
      '\uffff',
      '\u{1f600}',
      'y'.repeat(150),
    );
    const keys = fc.uniqueArray(
      fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('')),
      {
        minLength: 1,
        maxLength: 15,
      },
    );
    await fc.assert(
      fc.asyncProperty(keys, fc.nat(4), fc.integer({ min: 1, max: 6 }), async (names, cut, limit) => {
        const folder = `${randomUUID()}/`;
        await Promise.all(names.map((name) => store().put({ bucket: 'artifacts', key: folder + name }, name)));
        const prefix =
          folder +
          Array.from(names[0] ?? '')
            .slice(0, cut)
            .join('');
        const sorted = names
          .map((name) => folder + name)
          .filter((key) => key.startsWith(prefix))
          .sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
        expect(await listAll(prefix, limit)).toEqual(sorted);
      }),
      { numRuns: isSlow ? 10 : 40 },
    );
  });

  it('neither repeat nor skip what stays while other objects come and go', async () => {
    const folder = `${randomUUID()}/`;
    const put = (name: string) => store().put({ bucket: 'artifacts', key: folder + name }, '');
    for (const name of ['b', 'd/1', 'd/2', 'f']) await put(name);
    const first = await store().list('artifacts', folder, { limit: 2 });
    await store().remove({ bucket: 'artifacts', key: `${folder}d/1` });
    await put('a');
    await put('d/15');
    const { cursor = '' } = first;
    const rest = await store().list('artifacts', folder, { cursor });
    const names = [...first.objects, ...rest.objects].map(({ key }) => key.slice(folder.length));
    expect(names).toEqual(['b', 'd/1', 'd/15', 'd/2', 'f']);
  });

  it('refuse cursors of other listings and damaged ones, and limits out of range', async () => {
    const folder = `${randomUUID()}/`;
    for (const name of ['a', 'b']) await store().put({ bucket: 'artifacts', key: folder + name }, '');
    const { cursor = '' } = await store().list('artifacts', folder, { limit: 1 });
    expect(cursor).not.toBe('');
    await expectObjectError(store().list('artifacts', `${folder}a`, { cursor }), 'InvalidRequestError');
    await expectObjectError(store().list('tasks', folder, { cursor }), 'InvalidRequestError');
    await expectObjectError(store().list('artifacts', folder, { cursor: 'x' }), 'InvalidRequestError');
    for (const limit of [0, 1_001, 1.5]) {
      await expectObjectError(store().list('artifacts', folder, { limit }), 'InvalidRequestError');
    }
  });
}
