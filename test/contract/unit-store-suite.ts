import { randomUUID } from 'node:crypto';

import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';

import { ExamHallError } from '#core/errors';
import { ROW_LIMITS } from '#core/row-rules';
import type { RowCondition, RowWrite, UnitStore } from '#ports/unit-store';

import { describeBodies } from './unit-store-body-suite.ts';
import { expectFailure, failureOf, put } from './unit-store-expectations.ts';
import { describeQueries } from './unit-store-query-suite.ts';

/** What every unit store must do. `store` is asked again for each test; tests keep to partitions of their own. */
export function describeUnitStore(store: () => UnitStore): void {
  describe('conditions', () => describeConditions(store));
  describe('calls of many writes', () => describeTransactions(store));
  describe('bodies', () => describeBodies(store));
  describe('bounds', () => describeBounds(store));
  describe('concurrent writers', () => describeConcurrency(store));
  describe('queries', () => describeQueries(store));
}

function describeConditions(store: () => UnitStore): void {
  let pk = '';
  beforeEach(() => (pk = randomUUID()));

  const cases: readonly { when: RowCondition; onAbsent: boolean; onVersion2: boolean }[] = [
    { when: 'any', onAbsent: true, onVersion2: true },
    { when: 'absent', onAbsent: true, onVersion2: false },
    { when: 'exists', onAbsent: false, onVersion2: true },
    { when: { version: 2 }, onAbsent: false, onVersion2: true },
    { when: { version: 1 }, onAbsent: false, onVersion2: false },
    { when: { version: 3 }, onAbsent: false, onVersion2: false },
  ];
  const kinds = {
    put: (when: RowCondition): RowWrite => put(pk, 'row', { value: 'new' }, when),
    remove: (when: RowCondition): RowWrite => ({ remove: { pk, sk: 'row' }, when }),
  };

  for (const { when, onAbsent, onVersion2 } of cases) {
    for (const [kind, write] of Object.entries(kinds)) {
      const label = `a ${kind} when ${JSON.stringify(when)}`;
      it(`${label} ${onAbsent ? 'holds' : 'fails'} on an absent row`, async () => {
        const action = store().write([write(when)]);
        if (onAbsent) {
          await action;
          expect((await store().get({ pk, sk: 'row' }))?.version).toBe(kind === 'put' ? 1 : undefined);
        } else {
          const error = await failureOf(action);
          expect(error.name).toBe('ConditionFailedError');
          expect(error.details).toMatchObject({ key: { pk, sk: 'row' }, row: null });
          expect(await store().get({ pk, sk: 'row' })).toBeUndefined();
        }
      });

      it(`${label} ${onVersion2 ? 'holds' : 'fails'} on version 2`, async () => {
        await store().write([put(pk, 'row', { value: 1 })]);
        await store().write([put(pk, 'row', { value: 2 })]);
        const before = { pk, sk: 'row', version: 2, body: { value: 2 } };
        const action = store().write([write(when)]);
        if (onVersion2) {
          await action;
          const after = kind === 'put' ? { pk, sk: 'row', version: 3, body: { value: 'new' } } : undefined;
          expect(await store().get({ pk, sk: 'row' })).toEqual(after);
        } else {
          const error = await failureOf(action);
          expect(error.name).toBe('ConditionFailedError');
          expect(error.details).toMatchObject({ key: { pk, sk: 'row' }, row: before });
          expect(await store().get({ pk, sk: 'row' })).toEqual(before);
        }
      });
    }
  }

  it('a check alone holds or fails and writes nothing', async () => {
    await store().write([{ check: { pk, sk: 'row' }, when: 'absent' }]);
    await store().write([put(pk, 'row', {})]);
    await store().write([{ check: { pk, sk: 'row' }, when: { version: 1 } }]);
    const error = await failureOf(store().write([{ check: { pk, sk: 'row' }, when: 'absent' }]));
    expect(error.name).toBe('ConditionFailedError');
    expect((await store().get({ pk, sk: 'row' }))?.version).toBe(1);
  });

  it('a removed row starts at version 1 again', async () => {
    await store().write([put(pk, 'row', {})]);
    await store().write([put(pk, 'row', {})]);
    await store().write([{ remove: { pk, sk: 'row' }, when: { version: 2 } }]);
    await store().write([put(pk, 'row', { again: true }, 'absent')]);
    expect(await store().get({ pk, sk: 'row' })).toEqual({ pk, sk: 'row', version: 1, body: { again: true } });
  });
}

function describeTransactions(store: () => UnitStore): void {
  let pk = '';
  beforeEach(() => (pk = randomUUID()));

  it('writes rows of several partitions together', async () => {
    const other = randomUUID();
    await store().write([put(pk, 'a', { n: 1 }, 'absent'), put(other, 'b', { n: 2 }), put(pk, 'c', { n: 3 })]);
    const rows = [await store().get({ pk, sk: 'a' }), await store().get({ pk: other, sk: 'b' })];
    expect(rows.map((row) => row?.body)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it('writes nothing when one condition fails, and names that key with its stored row', async () => {
    await store().write([put(pk, 'kept', { n: 1 }), put(pk, 'gone', { n: 2 })]);
    const error = await failureOf(
      store().write([
        put(pk, 'new', {}, 'absent'),
        { remove: { pk, sk: 'gone' }, when: 'exists' },
        put(pk, 'kept', { n: 9 }, { version: 7 }),
        { check: { pk, sk: 'nowhere' }, when: 'exists' },
      ]),
    );
    expect(error.name).toBe('ConditionFailedError');
    expect(error.details).toEqual({
      key: { pk, sk: 'kept' },
      row: { pk, sk: 'kept', version: 1, body: { n: 1 } },
      when: { version: 7 },
    });
    const page = await store().query({ pk });
    expect(page.rows.map((row) => [row.sk, row.version])).toEqual([
      ['gone', 1],
      ['kept', 1],
    ]);
  });

  it('a check of an absent row fails the call with no row in the details', async () => {
    const error = await failureOf(
      store().write([put(pk, 'a', {}), { check: { pk, sk: 'lease' }, when: { version: 1 } }]),
    );
    expect(error.details).toMatchObject({ key: { pk, sk: 'lease' }, row: null });
    expect(await store().get({ pk, sk: 'a' })).toBeUndefined();
  });

  it('puts under "any" and "exists" count the version up inside a transaction too', async () => {
    await store().write([put(pk, 'a', {}), put(pk, 'b', {})]);
    await store().write([put(pk, 'a', { n: 2 }, 'exists'), put(pk, 'b', { n: 2 }), put(pk, 'c', {}, 'absent')]);
    const page = await store().query({ pk });
    expect(page.rows.map((row) => row.version)).toEqual([2, 2, 1]);
  });

  it('takes 100 writes and refuses none, 101, and two on one key', async () => {
    const writes = (count: number): RowWrite[] =>
      Array.from({ length: count }, (_, at) => put(pk, `row-${at}`, { at }));
    await expectFailure(store().write(writes(101)), 'PayloadInvalidError', /101 writes; 1 to 100/);
    await expectFailure(store().write([]), 'PayloadInvalidError', /0 writes/);
    const twice = [put(pk, 'same', {}), { check: { pk, sk: 'same' }, when: 'absent' } as const];
    await expectFailure(store().write(twice), 'PayloadInvalidError', /two writes .*same/);
    expect((await store().query({ pk })).rows).toEqual([]);
    await store().write(writes(100));
    expect((await store().query({ pk, limit: 1_000 })).rows).toHaveLength(100);
  });
}

function describeBounds(store: () => UnitStore): void {
  const filled = (pk: string, sk: string, rowBytes: number): RowWrite => {
    const overhead = pk.length + sk.length + 128 + '{"text":""}'.length;
    return put(pk, sk, { text: 'x'.repeat(rowBytes - overhead) }, 'absent');
  };

  it('a row of 400 KB is stored, one byte more is refused', async () => {
    const pk = randomUUID();
    await store().write([filled(pk, 'fits', ROW_LIMITS.rowBytes)]);
    expect((await store().get({ pk, sk: 'fits' }))?.version).toBe(1);
    await expectFailure(
      store().write([filled(pk, 'over', ROW_LIMITS.rowBytes + 1)]),
      'RowTooLargeError',
      /409601 bytes/,
    );
  });

  it('4 MB of rows in one call are stored, one byte more is refused', async () => {
    const pk = randomUUID();
    const share = ROW_LIMITS.bytesPerCall / 16;
    const rows = Array.from({ length: 15 }, (_, at) => filled(pk, `row-${at}`, share));
    await expectFailure(store().write([...rows, filled(pk, 'last', share + 1)]), 'RowTooLargeError', /4194305 bytes/);
    expect((await store().query({ pk })).rows).toEqual([]);
    await store().write([...rows, filled(pk, 'last', share)]);
    expect((await store().get({ pk, sk: 'last' }))?.version).toBe(1);
  });

  it('keys of 2,048 and 1,024 bytes are taken, longer, empty and ill-formed ones refused', async () => {
    const pk = `${randomUUID()}${'é'.repeat(1_006)}`;
    const sk = '\u{1f600}'.repeat(256);
    await store().write([put(pk, sk, {})]);
    expect((await store().get({ pk, sk }))?.sk).toBe(sk);
    await expectFailure(store().get({ pk: `${pk}x`, sk }), 'PayloadInvalidError', /pk .*2049 bytes/);
    await expectFailure(store().get({ pk, sk: `${sk}x` }), 'PayloadInvalidError', /sk .*1025 bytes/);
    await expectFailure(store().write([put(pk, '', {})]), 'PayloadInvalidError', /sk is ""/);
    await expectFailure(store().query({ pk: '\ud83d' }), 'PayloadInvalidError', /well-formed/);
  });
}

function describeConcurrency(store: () => UnitStore): void {
  async function increment(pk: string): Promise<void> {
    for (;;) {
      const row = await store().get({ pk, sk: 'counter' });
      const count = typeof row?.body['count'] === 'number' ? row.body['count'] : 0;
      try {
        const when = row === undefined ? 'absent' : { version: row.version };
        await store().write([put(pk, 'counter', { count: count + 1 }, when)]);
        return;
      } catch (error) {
        if (!(error instanceof ExamHallError) || error.name !== 'ConditionFailedError') throw error;
      }
    }
  }

  it('lose no increment under optimistic versions', async () => {
    const writers = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 2, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(writers, async (rounds) => {
        const pk = randomUUID();
        await Promise.all(
          rounds.map(async (count) => {
            for (let round = 0; round < count; round += 1) await increment(pk);
          }),
        );
        const total = rounds.reduce((sum, count) => sum + count, 0);
        expect(await store().get({ pk, sk: 'counter' })).toMatchObject({ version: total, body: { count: total } });
      }),
      { numRuns: 5 },
    );
  });

  it('of many that claim one absent row exactly one wins', async () => {
    const pk = randomUUID();
    const claims = Array.from({ length: 10 }, (_, at) => store().write([put(pk, 'claim', { at }, 'absent')]));
    const outcomes = await Promise.allSettled(claims);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
  });
}
