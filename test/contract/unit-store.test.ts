import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe } from 'vitest';

import { DynamoUnitStore } from '#adapters/dynamo-unit-store';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';
import type { UnitStore } from '#ports/unit-store';
import { startDynamoEmulator, type DynamoEmulator } from '#test/emulators/dynamodb';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { tier } from '#test/runner/tier';

import { describeUnitStore } from './unit-store-suite.ts';

describe('InMemoryUnitStore', () => {
  const store = new InMemoryUnitStore();
  describeUnitStore(() => store);
});

describe('SqliteUnitStore', () => {
  const folder = mkdtempSync(join(tmpdir(), 'unit-store-'));
  const store = new SqliteUnitStore(join(folder, 'units.sqlite'));
  afterAll(() => {
    store.close();
    rmSync(folder, { recursive: true });
  });
  describeUnitStore(() => store);
});

tier('dynamodb')('DynamoUnitStore on DynamoDB Local', () => {
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
  describeUnitStore(() => {
    if (store === undefined) throw new Error('the emulator did not start');
    return store;
  });
});
