import { randomUUID } from 'node:crypto';

import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';

import type { Row, RowQuery, UnitStore } from '#ports/unit-store';

import { expectFailure } from './unit-store-expectations.ts';

/** Every byte that can start or end a UTF-8 sequence appears; several orders differ from JavaScript's. */
const KEYS = [
  ...Array.from({ length: 0x100 }, (_, code) => `b${String.fromCharCode(code)}`),
  'a',
  'b',
  'c',
  'e\u0301',
  'é',
  'éa',
  '\u07ff',
  '\u0800',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\uff21',
  '\u{10000}',
  '\u{1f600}',
  '\u{1f600}\u200d\u{1f680}',
  '\u{10ffff}',
  'unit#1',
  'unit#10',
  'unit#2',
];

/** The part of the unit store's contract that is about queries. */
export function describeQueries(store: () => UnitStore): void {
  const pk = randomUUID();
  const sorted = [...KEYS].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
  beforeAll(async () => {
    for (let at = 0; at < KEYS.length; at += 50) {
      const part = KEYS.slice(at, at + 50);
      await store().write(part.map((sk) => ({ put: { pk, sk, body: { sk } }, when: 'absent' })));
    }
  });
  const keys = async (query: Omit<RowQuery, 'pk'>): Promise<string[]> => {
    return (await readAll(store(), { pk, ...query })).map((row) => row.sk);
  };

  describe('order and bounds', () => {
    it('rows sort by the UTF-8 bytes of sk, and back to front when asked', async () => {
      expect(await keys({})).toEqual(sorted);
      expect(await keys({ descending: true })).toEqual([...sorted].reverse());
    });

    it('a prefix finds its rows only, for every byte it may end in', async () => {
      const prefixes = [...new Set(sorted.flatMap((key) => [key, String.fromCodePoint(key.codePointAt(0) ?? 0)]))];
      expect(prefixes.length).toBeGreaterThan(256);
      const found = await Promise.all(prefixes.map((skPrefix) => keys({ skPrefix })));
      const wanted = prefixes.map((skPrefix) => sorted.filter((key) => key.startsWith(skPrefix)));
      expect(found).toEqual(wanted);
    });

    it('prefix, lower bound, direction and limit together give what a plain filter gives', async () => {
      const anyKey = fc.constantFrom(...sorted);
      const queries = fc.record({
        skPrefix: fc.option(fc.oneof(fc.constantFrom('b', 'unit#', '\u{1f600}', 'none'), anyKey), { nil: '' }),
        after: fc.option(fc.oneof(anyKey, fc.constantFrom('b\u0080\u0000', 'unit', 'zz')), { nil: '' }),
        descending: fc.boolean(),
        limit: fc.constantFrom(1, 7, 100, 1_000),
      });
      await fc.assert(
        fc.asyncProperty(queries, async (query) => {
          const after = Buffer.from(query.after);
          const wanted = sorted.filter((key) => {
            return key.startsWith(query.skPrefix) && Buffer.compare(Buffer.from(key), after) > 0;
          });
          if (query.descending) wanted.reverse();
          const few = query.limit === 1 ? wanted.slice(0, 12) : wanted;
          const found = await readAll(store(), { pk, ...query }, few.length);
          expect(found.map((row) => row.sk).slice(0, few.length)).toEqual(few);
        }),
        { numRuns: 40 },
      );
    });

    it('an unknown partition is an empty page without a cursor', async () => {
      expect(await store().query({ pk: randomUUID() })).toEqual({ rows: [] });
    });
  });

  describe('pages', () => {
    it('hold at most the limit, 100 unless told', async () => {
      expect((await store().query({ pk })).rows).toHaveLength(100);
      expect((await store().query({ pk, limit: 3 })).rows).toHaveLength(3);
      expect((await store().query({ pk, limit: 1_000 })).rows).toHaveLength(KEYS.length);
    });

    it('end before the limit when rows are large, and the rest follows', async () => {
      const own = randomUUID();
      const text = 'x'.repeat(300_000);
      for (const sk of ['1', '2', '3', '4', '5', '6']) {
        await store().write([{ put: { pk: own, sk, body: { text } }, when: 'absent' }]);
      }
      const first = await store().query({ pk: own });
      expect(first.rows.length).toBeLessThan(6);
      expect(first.cursor).toBeDefined();
      expect((await readAll(store(), { pk: own })).map((row) => row.sk)).toEqual(['1', '2', '3', '4', '5', '6']);
    });

    it('neither repeat nor skip a row that stays while others come and go', async () => {
      const own = randomUUID();
      const write = (sk: string) => store().write([{ put: { pk: own, sk, body: {} }, when: 'absent' }]);
      for (const sk of ['b', 'd', 'f', 'h']) await write(sk);
      const first = await store().query({ pk: own, limit: 2 });
      await store().write([{ remove: { pk: own, sk: 'd' }, when: 'exists' }]);
      await write('a');
      await write('e');
      const rest = await store().query({ pk: own, ...cursorOf(first) });
      expect([...first.rows, ...rest.rows].map((row) => row.sk)).toEqual(['b', 'd', 'e', 'f', 'h']);
    });

    it('may go on under another limit, but not under another query', async () => {
      const query = { pk, skPrefix: 'b', after: 'b\u0001' };
      const { cursor } = await store().query({ ...query, limit: 2 });
      if (cursor === undefined) throw new Error('no cursor');
      expect((await store().query({ ...query, cursor, limit: 1 })).rows.map((row) => row.sk)).toEqual(['b\u0004']);
      const others: RowQuery[] = [
        { ...query, pk: randomUUID(), cursor },
        { ...query, skPrefix: 'b\u0002', cursor },
        { pk, skPrefix: 'b', cursor },
        { ...query, descending: true, cursor },
      ];
      for (const other of others) await expectFailure(store().query(other), 'InvalidRequestError', /another query/);
    });

    it('refuse a damaged cursor and a limit out of range', async () => {
      const { cursor = '' } = await store().query({ pk, limit: 1 });
      for (const damaged of [
        '',
        'x',
        '!!',
        cursor.slice(0, -6),
        `${cursor}!`,
        Buffer.from('[1]').toString('base64url'),
      ]) {
        await expectFailure(store().query({ pk, cursor: damaged }), 'InvalidRequestError', /cursor .* cannot be used/);
      }
      for (const limit of [0, -1, 1.5, 1_001, Number.NaN]) {
        await expectFailure(store().query({ pk, limit }), 'InvalidRequestError', /limit is .* 1 to 1000/);
      }
    });
  });
}

/** Follows cursors to the end, or until `enough` rows are there. */
async function readAll(store: UnitStore, query: RowQuery, enough = Number.POSITIVE_INFINITY): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: { cursor?: string } = {};
  for (;;) {
    const page = await store.query({ ...query, ...cursor });
    rows.push(...page.rows);
    cursor = cursorOf(page);
    if (page.cursor === undefined || rows.length >= enough) return rows;
  }
}

function cursorOf(page: { readonly cursor?: string }): { cursor?: string } {
  return page.cursor === undefined ? {} : { cursor: page.cursor };
}
