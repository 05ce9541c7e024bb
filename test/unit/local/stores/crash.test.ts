import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { RequestSigner } from '#local/stores/request-signer';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';

import { killWhileRunning } from './probe-process.ts';

const DELAYS_MS = [0, 4, 13];
const TIMEOUT_MS = 120_000;

describe('stores of a process that is killed', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'crash-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it(
    'objects are the old content or the new, never half, and nothing is left of the write',
    async () => {
      for (const delayMs of DELAYS_MS) {
        await killWhileRunning('replace-object', folder, 3, delayMs);
        const store = await DiskArtifactStore.open(join(folder, 'objects'), new RequestSigner(() => '', Date.now));
        const ref = { bucket: 'artifacts', key: 'kept/object' } as const;
        const content = Buffer.from(await store.get(ref)).toString('utf8');
        expect(content).toHaveLength(2 * 1_024 * 1_024);
        expect(content).toBe(content.charAt(0).repeat(content.length));
        const copy = await store.getFile(ref, join(folder, 'copy'));
        expect(copy).toEqual(await store.head(ref));
        expect(readdirSync(join(folder, 'objects', 'writing'))).toEqual([]);
      }
    },
    TIMEOUT_MS,
  );

  it(
    'rows written together stay together, and what was acknowledged is there',
    async () => {
      for (const delayMs of DELAYS_MS) {
        const acknowledged = Number(await killWhileRunning('count-rows', folder, 20, delayMs));
        const store = new SqliteUnitStore(join(folder, 'rows', 'units.sqlite'));
        const [a, b] = [await store.get({ pk: 'count', sk: 'a' }), await store.get({ pk: 'count', sk: 'b' })];
        expect(a?.version).toBeGreaterThanOrEqual(acknowledged);
        expect(a?.body['count']).toBe(a?.version);
        expect([b?.version, b?.body['count']]).toEqual([a?.version, a?.version]);
        store.close();
      }
    },
    TIMEOUT_MS,
  );
});
