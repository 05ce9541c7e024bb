import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DynamoUnitStore } from '#adapters/dynamo-unit-store';
import { createStaticFiles } from '#adapters/static-files';
import { createStaticRows } from '#adapters/static-rows';
import { rowKeys } from '#core/keys';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';
import type { UnitStore } from '#ports/unit-store';
import { startDynamoEmulator, type DynamoEmulator } from '#test/emulators/dynamodb';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { tier } from '#test/runner/tier';
import { describeStaticAttachments } from './static-attachments-suite.ts';

const clock = { now: () => new Date('2026-01-02T03:04:05.000Z') };
const ofStore = (unitStore: UnitStore) => () => createStaticRows({ unitStore, clock });

describe('attachments to given machines, as files', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'static-attachments-'));
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  describeStaticAttachments(() =>
    createStaticFiles({ root: path.join(folder, 'state'), locks: path.join(folder, 'locks') }),
  );
});

describe('attachments to given machines, as rows in memory', () => {
  const store = new InMemoryUnitStore();
  describeStaticAttachments(ofStore(store));

  it('takes over a lock whose attachment is not there', async () => {
    const endpoint = 'http://10.9.9.9:5000';
    const body = {
      endpoint,
      sandboxId: 'sbx-00000000000000000000',
      attemptId: 'lost.1',
      heldAt: '2026-01-01T00:00:00Z',
    };
    await store.write([{ put: { ...rowKeys.staticLock(endpoint), body }, when: 'absent' }]);
    const mine = {
      state: 'pending',
      sandboxId: 'sbx-11111111111111111111',
      attemptId: 'a.1',
      endpoint,
      expiresAt: '2099-01-01T00:00:00.000Z',
      ...{ knobs: {}, folder: null, sandbox: null },
    } as const;
    const rows = createStaticRows({ unitStore: store, clock });
    expect(await rows.hold(mine)).toEqual({ kind: 'held', attachment: mine });
    expect((await store.get(rowKeys.staticLock(endpoint)))?.body).toMatchObject({
      attemptId: 'a.1',
      heldAt: '2026-01-02T03:04:05.000Z',
    });
    await rows.free(mine, null);
    expect(await store.get(rowKeys.staticLock(endpoint))).toBeUndefined();
  });
});

describe('attachments to given machines, as rows in SQLite', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'static-attachments-'));
  const store = new SqliteUnitStore(path.join(folder, 'units.sqlite'));
  afterAll(() => {
    store.close();
    rmSync(folder, { recursive: true });
  });
  describeStaticAttachments(ofStore(store));
});

tier('dynamodb')('attachments to given machines, as rows in DynamoDB Local', () => {
  let emulator: DynamoEmulator | undefined;
  let store: UnitStore | undefined;
  beforeAll(async () => {
    emulator = await startDynamoEmulator();
    await emulator.createTable('units');
    store = new DynamoUnitStore(emulator.client, 'units');
  });
  afterAll(async () => {
    await emulator?.stop();
  });
  describeStaticAttachments(() => {
    if (store === undefined) throw new Error('the emulator did not start');
    return createStaticRows({ unitStore: store, clock });
  });
});
