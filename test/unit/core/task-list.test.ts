import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigReader } from '#core/config-reader';
import { formatProblem, plainSource } from '#core/located';
import { readTaskEntries, readTaskLines } from '#core/task-list';

const rule = 'allowed: <domain>/<task>, relative to the tasks folder';

describe('a text list', () => {
  it('has a task a line, comments anywhere, and always variant 0', () => {
    const { tasks, problems } = readTaskLines('# head\n\n a/b # tail\r\nc/d#x\n\te/f/  \n', 'l.txt');
    expect(problems).toEqual([]);
    expect(tasks.map(({ path, variants, at }) => [path, variants, at.line, at.column])).toEqual([
      ['a/b', [0], 3, 2],
      ['c/d', [0], 4, 1],
      ['e/f', [0], 5, 2],
    ]);
  });

  it.each([
    ['hello', 'a task path has no domain'],
    ['/a/b', 'a task path is absolute'],
    ['a/../b', 'a task path has an empty, "." or ".." part'],
    ['a//b', 'a task path has an empty, "." or ".." part'],
    ['a\\b/c', 'a task path has a backslash or control character'],
  ])('refuses %j', (line, fault) => {
    const { problems } = readTaskLines(`${line}\n`, 'l.txt');
    expect(problems.map(formatProblem)).toEqual([
      `l.txt:1:1: ${fault}; got ${JSON.stringify(line)}; ${rule}; write one <domain>/<task> a line, as \`examhall list\` prints it`,
    ]);
  });

  it('gives every path written one a line, in order', () => {
    const path = fc.stringMatching(/^[a-z0-9_]{1,8}\/[a-z0-9_-]{1,8}$/);
    fc.assert(
      fc.property(fc.array(path), (paths) => {
        expect(readTaskLines(paths.join(' # x\n'), 'l.txt').tasks.map((task) => task.path)).toEqual(paths);
      }),
    );
  });
});

function entries(value: unknown): { readonly tasks: unknown[]; readonly problems: string[] } {
  const reader = new ConfigReader(plainSource('l.yaml', value));
  const tasks = readTaskEntries(reader).map(({ path, variants }) => [path, variants]);
  return { tasks, problems: reader.problems.map((problem) => formatProblem(problem).slice('l.yaml:1:1: '.length)) };
}

describe('a list of entries', () => {
  it('takes variants as written, else variant 0', () => {
    expect(entries([{ path: 'a/b' }, { path: 'c/d', variants: [2, 0] }])).toEqual({
      tasks: [
        ['a/b', [0]],
        ['c/d', [2, 0]],
      ],
      problems: [],
    });
  });

  const noVariants =
    '"variants" is not a list of variant indices; got %; allowed: a non-empty list of whole numbers 0 or more; write it as [0, 1], or remove it for variant 0';
  it.each([
    [
      'a/b',
      'a task entry is not a mapping; got "a/b"; allowed: {path, variants}; write it as "- path: <domain>/<task>"',
    ],
    [
      { variants: [0] },
      `missing required key "[0].path"; got nothing; ${rule}; add "path: <domain>/<task>" to the entry`,
    ],
    [{ path: 'b' }, `a task path has no domain; got "b"; ${rule}; name the task as \`examhall list\` prints it`],
    [
      { path: true },
      `"[0].path" is not text; got true; ${rule}; write it as text; put quotes around words such as on, yes and 1.5, which YAML 1.1 does not read as text`,
    ],
    [
      { path: 'a/b', varients: [1] },
      'unknown key in the task entry; got "varients"; allowed: path, variants; remove it, or write "variants" if you meant that',
    ],
    [{ path: 'a/b', variants: 1 }, noVariants.replace('%', '1')],
    [{ path: 'a/b', variants: [] }, noVariants.replace('%', 'an empty list')],
    [{ path: 'a/b', variants: [true] }, noVariants.replace('%', 'a list of 1')],
    [{ path: 'a/b', variants: [-1] }, noVariants.replace('%', 'a list of 1')],
    [{ path: 'a/b', variants: null }, noVariants.replace('%', 'null')],
  ])('refuses %j', (entry, message) => {
    expect(entries([entry]).problems).toEqual([message]);
  });

  it('must be a list', () => {
    expect(entries({ path: 'a/b' }).problems).toEqual([
      'the task list is not a list; got a mapping with key path; allowed: a list of {path, variants} entries; write each task as "- path: <domain>/<task>"',
    ]);
  });
});
