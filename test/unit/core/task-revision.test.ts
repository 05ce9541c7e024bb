import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCachePath, revisionText, type RevisionRecord } from '#core/task-revision';

const record: fc.Arbitrary<RevisionRecord> = fc.record({
  path: fc.string({ minLength: 1 }),
  kind: fc.constantFrom('file', 'executable', 'symlink', 'module'),
  value: fc.string(),
});

const keyOf = ({ path, kind, value }: RevisionRecord): string => JSON.stringify([path, kind, value]);

describe('the text of a revision', () => {
  it('does not depend on the order in which a folder was read', () => {
    fc.assert(
      fc.property(fc.uniqueArray(record, { selector: ({ path }) => path }), fc.func(fc.integer()), (records, rank) => {
        const shuffled = records.toSorted((a, b) => rank(a.path) - rank(b.path));
        expect(revisionText(shuffled)).toBe(revisionText(records));
      }),
    );
  });

  it('differs for any two sets of records', () => {
    fc.assert(
      fc.property(fc.array(record), fc.array(record), (left, right) => {
        const isSame = JSON.stringify(left.map(keyOf).sort()) === JSON.stringify(right.map(keyOf).sort());
        const byPath = (records: RevisionRecord[]): boolean =>
          new Set(records.map(({ path }) => path)).size === records.length;
        fc.pre(byPath(left) && byPath(right));
        expect(revisionText(left) === revisionText(right)).toBe(isSame);
      }),
    );
  });

  it('starts with its version and sorts by the bytes of the path', () => {
    const records: RevisionRecord[] = ['\u{1F600}', '\uFF5E', 'b', 'B'].map((path) => ({
      path,
      kind: 'file',
      value: '0',
    }));
    expect(revisionText(records)).toBe(
      'examhall-revision 1\n["B","file","0"]\n["b","file","0"]\n["\uFF5E","file","0"]\n["\u{1F600}","file","0"]\n',
    );
  });

  it('leaves caches out', () => {
    const paths = ['input/a.txt', 'a/node_modules/b.js', '__pycache__/x.pyc', 'x.pyc', 'input/.DS_Store', 'x.pyc.txt'];
    expect(paths.filter((path) => !isCachePath(path))).toEqual(['input/a.txt', 'x.pyc.txt']);
  });
});
