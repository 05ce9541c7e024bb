import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { UNSCOPED_ACTIONS } from '../../infra/constructs/grants.ts';

const page = readFileSync('infra/SECURITY.md', 'utf8');

interface NamedTest {
  readonly file: string;
  readonly title: string;
}

/** Tests that a text names, as `path` "title"; scenarios lie beside their test. */
function testsIn(text: string): readonly NamedTest[] {
  return [...text.matchAll(/`(test\/[^`]+\.ts)`\s+"([^"]+)"/gu)].map(([, file = '', title = '']) => ({
    file,
    title,
  }));
}

/** What is wrong with a named test, or null. */
function problemWith({ file, title }: NamedTest): string | null {
  if (!existsSync(file)) return `${file} does not exist`;
  const source = readFileSync(file, 'utf8').replaceAll("\\'", "'");
  const quoted = ["'", '"', '`'].map((quote) => `${quote}${title}${quote}`);
  return quoted.some((each) => source.includes(each)) ? null : `${file} has no test "${title}"`;
}

/** Rows of the tables that claim something: attempt, what stops it, what shows it. */
function claims(): readonly string[] {
  const sections = page.split(/^## /mu).filter((section) => section.includes('| shown by'));
  return sections.flatMap((section) =>
    section
      .split('\n')
      .filter((line) => line.startsWith('| ') && !line.includes('| shown by') && !line.startsWith('| --')),
  );
}

/** The table of the page, from the lists that statements are made of. */
function unscopedTable(): string {
  const actions = UNSCOPED_ACTIONS;
  const rows = [...new Set(Object.values(actions))].map((reason) => {
    const names = Object.entries(actions).flatMap(([action, why]) => (why === reason ? [`\`${action}\``] : []));
    return `| ${names.join(', ')} | ${reason} |`;
  });
  return ['| actions | why |', '| --- | --- |', ...rows].join('\n');
}

/** A table without the padding that the formatter adds. */
const unpadded = (table: string): string =>
  table
    .trim()
    .replace(/ *\| */gu, '|')
    .replace(/-{3,}/gu, '---');

describe('the page on security', () => {
  it('names for each claim a test, or says that it is unverified', () => {
    expect(claims().length).toBeGreaterThan(20);
    expect(claims().filter((claim) => testsIn(claim).length === 0 && !/[*_]unverified[*_]/.test(claim))).toEqual([]);
  });

  it('names only tests that are there', () => {
    const named = testsIn(page);
    expect(named.length).toBeGreaterThan(30);
    expect(named.map(problemWith).filter((problem) => problem !== null)).toEqual([]);
  });

  it('would not pass with a test that is missing or called otherwise', () => {
    expect(problemWith({ file: 'test/infra/nowhere.test.ts', title: 'x' })).toContain('does not exist');
    expect(problemWith({ file: 'test/infra/security.test.ts', title: 'is called otherwise ' + 'by far' })).toContain(
      'has no test',
    );
  });

  it('lists each action without a resource, with the reason that the code gives', () => {
    const [, table = ''] = /<!-- unscoped actions -->\n([\s\S]*?)<!-- end -->/u.exec(page) ?? [];
    expect(unpadded(table)).toBe(unpadded(unscopedTable()));
  });
});
