/** What a child process does to a store under test: `node --import tsx probe.ts <action> <folder>`. Speaks JSON lines. */
import { join } from 'node:path';

import Database from 'libsql';

import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { RequestSigner } from '#local/stores/request-signer';
import { SqliteUnitStore } from '#local/stores/sqlite-unit-store';

const OBJECT = { bucket: 'artifacts', key: 'kept/object' } as const;
const ROW = { pk: 'kept', sk: 'row' };

function say(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

async function openObjects(folder: string): Promise<DiskArtifactStore> {
  return DiskArtifactStore.open(join(folder, 'objects'), new RequestSigner(() => '', Date.now));
}

function openRows(folder: string): SqliteUnitStore {
  return new SqliteUnitStore(join(folder, 'rows', 'units.sqlite'));
}

/** The error's name, message and path, or the value. */
async function outcomeOf(action: () => unknown): Promise<unknown> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { error: error.name, message: error.message, details: 'details' in error ? error.details : undefined };
  }
}

const actions: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  /** Replaces one object without end: 2 MiB of one letter each time. */
  'replace-object': async (folder) => {
    const store = await openObjects(folder);
    for (let turn = 0; ; turn += 1) {
      await store.put(OBJECT, String.fromCharCode(97 + (turn % 26)).repeat(2 * 1_024 * 1_024));
      say(turn);
    }
  },

  /** Counts two rows up together without end. */
  'count-rows': async (folder) => {
    const store = openRows(folder);
    const start = (await store.get({ pk: 'count', sk: 'a' }))?.version ?? 0;
    for (let count = start + 1; ; count += 1) {
      const body = { count, filler: 'x'.repeat(20_000) };
      const puts = ['a', 'b'].map((sk) => ({ put: { pk: 'count', sk, body }, when: 'any' as const }));
      await store.write(puts);
      say(count);
    }
  },

  /** Puts what fits, then more than the disk holds, then reads all back. */
  'fill-objects': async (folder) => {
    const store = await openObjects(folder);
    await store.put(OBJECT, 'old');
    const large = Buffer.alloc(4 * 1_024 * 1_024, 'x');
    say(await outcomeOf(() => store.put(OBJECT, large)));
    say(await outcomeOf(() => store.put({ bucket: 'tasks', key: 'new' }, large)));
    say(await outcomeOf(() => store.getFile(OBJECT, join(folder, 'out'))));
    say(Buffer.from(await store.get(OBJECT)).toString('utf8'));
    say((await store.list('tasks', '')).objects);
    say(await outcomeOf(() => store.put(OBJECT, 'small still fits')));
  },

  /** Writes rows until the disk is full, removes most, and writes again. */
  'fill-rows': async (folder) => {
    const store = openRows(folder);
    await store.write([{ put: { ...ROW, body: { text: 'old' } }, when: 'absent' }]);
    const sks = (at: number) => [`${at}a`, `${at}b`];
    const put = (at: number) =>
      store.write(
        sks(at).map((sk) => ({ put: { pk: 'filler', sk, body: { text: 'x'.repeat(50_000) } }, when: 'any' as const })),
      );
    let filled = 0;
    say(
      await outcomeOf(async () => {
        for (; filled < 1_000; filled += 1) await put(filled);
      }),
    );
    say((await store.get(ROW))?.body);
    const asked = Array.from({ length: filled + 1 }, (_, at) => sks(at)).flat();
    const kept = await Promise.all(asked.map((sk) => store.get({ pk: 'filler', sk })));
    say([filled > 0, kept.filter((row) => row !== undefined).length === 2 * filled]);
    store.close();
  },

  /** Holds the rows' lock for a moment. */
  'hold-lock': async (folder) => {
    const database = new Database(join(folder, 'rows', 'units.sqlite'));
    database.exec('BEGIN IMMEDIATE');
    say('held');
    setTimeout(() => database.exec('ROLLBACK'), 500);
  },

  /** Makes what `read-only` looks at later. */
  prepare: async (folder) => {
    await (await openObjects(folder)).put(OBJECT, 'old');
    const rows = openRows(folder);
    await rows.write([{ put: { ...ROW, body: {} }, when: 'any' }]);
    rows.close();
    say('prepared');
  },

  'read-only': async (folder) => {
    const store = await openObjects(folder);
    say(await outcomeOf(() => store.put(OBJECT, 'new')));
    say(await outcomeOf(() => store.remove(OBJECT)));
    say(await outcomeOf(() => store.getFile(OBJECT, join(folder, 'out'))));
    say(Buffer.from(await store.get(OBJECT)).toString('utf8'));
    say(await outcomeOf(() => openRows(folder).get(ROW)));
    say(await outcomeOf(() => DiskArtifactStore.open(join(folder, 'fresh'), new RequestSigner(() => '', Date.now))));
  },
};

const [, , action = '', folder = ''] = process.argv;
const run = actions[action];
if (run === undefined) throw new Error(`unknown action ${action}`);
await run(folder);
