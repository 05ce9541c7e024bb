import { randomUUID } from 'node:crypto';

import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { UnitStore } from '#ports/unit-store';

import { expectFailure } from './unit-store-expectations.ts';

/** The part of the unit store's contract that is about what a row may hold. */
export function describeBodies(store: () => UnitStore): void {
  async function roundTrip(body: Readonly<Record<string, unknown>>): Promise<unknown> {
    const key = { pk: randomUUID(), sk: 'body' };
    await store().write([{ put: { ...key, body }, when: 'absent' }]);
    return (await store().get(key))?.body;
  }

  it('come back exactly: unicode, nulls, empty things, decimals and large integers', async () => {
    const body = {
      text: 'e\u0301 é \u{1f600} \u0000 "\\" \u2028 \ufeff',
      '\u{1f511}.key': null,
      '': { empty: '', list: [], object: {} },
      numbers: [0.1, 1e-130, 5e-324, 1.7976931348623157e308, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 1e21],
      deep: [[[[{ a: [{ b: [true, false, null] }] }]]]],
    };
    expect(await roundTrip(body)).toEqual(body);
  });

  it('come back exactly whatever JSON they are', async () => {
    const bodies = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }), { maxKeys: 6 });
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        expect(await roundTrip(body)).toEqual(JSON.parse(JSON.stringify(body)));
      }),
      { numRuns: 40 },
    );
  });

  it('store half a surrogate pair as U+FFFD', async () => {
    expect(await roundTrip({ text: 'cut \ud83d', list: ['\ude00'] })).toEqual({ text: 'cut \ufffd', list: ['\ufffd'] });
  });

  const refused = [
    { body: { a: { b: [1, undefined] } }, message: /body\.a\.b\[1\] .* undefined/ },
    { body: { gone: undefined }, message: /body\.gone .* undefined/ },
    { body: { score: Number.NaN }, message: /body\.score .* NaN/ },
    { body: { score: Number.POSITIVE_INFINITY }, message: /body\.score .* Infinity/ },
    { body: { at: new Date(0) }, message: /body\.at .* a Date/ },
    { body: { big: 1n }, message: /body\.big .* bigint/ },
    { body: { run: () => 1 }, message: /body\.run .* function/ },
  ];
  for (const { body, message } of refused) {
    it(`are refused by path: ${message.source}`, async () => {
      const key = { pk: randomUUID(), sk: 'body' };
      await expectFailure(store().write([{ put: { ...key, body }, when: 'any' }]), 'PayloadInvalidError', message);
      expect(await store().get(key)).toBeUndefined();
    });
  }
}
