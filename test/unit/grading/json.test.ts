import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareLeaves, findShapeFault, listLeaves, readJson } from '#grading/json';

describe('readJson', () => {
  it('reads text with a byte order mark, and says why text is no JSON', () => {
    expect(readJson('\uFEFF{"a": 1}')).toEqual({ ok: true, value: { a: 1 } });
    expect(readJson('{"a": ')).toMatchObject({ ok: false });
  });
});

describe('findShapeFault', () => {
  const expected = { a: '', b: [], c: { d: 0 } };

  it('finds nothing where members and kinds agree', () => {
    expect(findShapeFault({ c: { d: 7 }, b: ['x'], a: 'y' }, expected)).toBeNull();
  });

  it.each([
    [{ a: '', b: [] }, '/c is missing'],
    [{ a: '', b: [], c: { d: 0, e: 1 } }, '/c/e is not a member'],
    [{ a: 1, b: [], c: { d: 0 } }, '/a is number, must be string'],
    [{ a: '', b: null, c: { d: 0 } }, '/b is null, must be array'],
    [[], 'the document is array, must be object'],
    [null, 'the document is null'],
  ])('says what is wrong with %j', (actual, fault) => {
    expect(findShapeFault(actual, expected)).toContain(fault);
  });

  it('does not take an inherited member for one of the document', () => {
    expect(findShapeFault({}, { toString: '' })).toContain('/toString is missing');
  });
});

describe('compareLeaves', () => {
  it('lists leaves by pointer', () => {
    expect([...listLeaves({ a: [1, { b: null }], c: {} })]).toEqual([
      ['/a/0', 1],
      ['/a/1/b', null],
      ['/c', {}],
    ]);
  });

  it('counts right leaves over expected and unexpected ones', () => {
    const expected = { x: 1, y: 'text', z: true };
    expect(compareLeaves({ x: 1.05, y: 'text', z: false, more: 0 }, expected, 0.1)).toEqual({
      score: 0.5,
      rightLeaves: 2,
      leaves: 4,
      wrong: ['/z'],
    });
  });

  it('does not take text for a number', () => {
    expect(compareLeaves({ x: '1' }, { x: 1 }, 0.1).score).toBe(0);
  });

  it('gives 1 for any document compared with itself', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        expect(compareLeaves(value, value, 0).score).toBe(1);
      }),
    );
  });
});
