import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { testSteps } from '../runner/steps.ts';
import * as repository from './repository.ts';
import { filesMatching, listRepository, readRepositoryFile, root, violationsIn } from './source-tree.ts';

const files = listRepository();
const testFolders = testSteps.map((step) => step.folder);
/** The rules spell out what they look for. */
const isRuleItself = (file: string): boolean => /^test\/architecture\/repository(?:\.test)?\.ts$/.test(file);
const isText = (file: string): boolean =>
  /(?:^|\/)[^.]*$|\.(?:ts|mjs|cjs|js|json|jsonc|yaml|yml|md|sh|ps1|html|txt|csv|toml)$|^\.[^/]+$/.test(file);
const isSource = (file: string): boolean =>
  /\.(?:ts|mjs|cjs|sh|ps1)$|\.asl\.json$|^\.ci\//.test(file) && !/^tasks\/[^/]+\/[^/]+\/[^/]+\//.test(file);

function readAnything(target: string): string | undefined {
  const found = statSync(path.join(root, target), { throwIfNoEntry: false });
  return found?.isDirectory() ? '' : found && readFileSync(path.join(root, target), 'utf8');
}

describe('the repository', () => {
  it('has the agreed names at its root', () => {
    expect(repository.checkRoot(files)).toEqual([]);
  });

  it('pins every dependency to one version', () => {
    expect(repository.checkPins(readRepositoryFile('package.json').text)).toEqual([]);
  });

  it('has a lock file that proves every package and names no registry', () => {
    expect(repository.checkLock(readRepositoryFile('package-lock.json').text)).toEqual([]);
  });

  it('shows no trace of the machine it was written on', () => {
    const texts = filesMatching('a text file', (file) => isText(file) && !isRuleItself(file));
    expect(violationsIn(texts, (file) => repository.checkMachineTraces(file, root))).toEqual([]);
  });

  it('has nothing left over', () => {
    expect(
      violationsIn(
        filesMatching('a source file', (file) => isSource(file) && !isRuleItself(file)),
        repository.checkLeftovers,
      ),
    ).toEqual([]);
  });

  it('has every test where a check runs it', () => {
    const tests = filesMatching(
      'a test',
      (file) => /\.(?:test|spec)\./.test(file) && !/^tasks\/.*\/.*\/.*\//.test(file),
    );
    expect(violationsIn(tests, (file) => repository.checkTestPlace(file.path, testFolders))).toEqual([]);
  });

  it('has documents whose links lead somewhere', () => {
    const documents = filesMatching(
      'a document',
      (file) => file.endsWith('.md') && !/^tasks\/[^/]+\/[^/]+\/[^/]+\//.test(file),
    );
    expect(violationsIn(documents, (file) => repository.checkLinks(file, readAnything))).toEqual([]);
  });
});

describe('the root rule', () => {
  const whole = [
    ...repository.rootFiles,
    ...repository.rootFolders.map((folder) => `${folder}/a`),
    '.ci/run',
    '.gitignore',
  ];

  it('passes the agreed names with dotfiles', () => {
    expect(repository.checkRoot(whole)).toEqual([]);
  });

  it('names what is too much and what is missing', () => {
    const found = repository.checkRoot([...whole.filter((name) => name !== 'LICENSE'), 'knip.json', 'src/a.ts']);
    expect(found).toEqual(['knip.json may not lie at the root', 'src may not lie at the root', 'LICENSE is missing']);
  });
});

describe('the dependency rules', () => {
  it.each(['^1.2.3', '~1.2.3', '1.2', '*', 'latest', '>=1.0.0', 'file:../x'])('refuse version %s', (version) => {
    expect(repository.checkPins(JSON.stringify({ dependencies: { a: version, b: '1.2.3' } }))).toEqual([
      `a: ${version}`,
    ]);
  });

  it('refuse a lock entry with an origin or without a proof', () => {
    const packages = { '': {}, 'node_modules/a': { integrity: 'x', resolved: 'y' }, 'node_modules/b': {} };
    expect(repository.checkLock(JSON.stringify({ packages }))).toEqual([
      'node_modules/a has resolved: y',
      'node_modules/b has no integrity',
    ]);
  });

  it('lets a bundled package be proven by the archive it came in, and by nothing else', () => {
    const lockOf = (parent: object): string =>
      JSON.stringify({ packages: { 'node_modules/a': parent, 'node_modules/a/node_modules/b': { inBundle: true } } });
    expect(repository.checkLock(lockOf({ integrity: 'sha512-x' }))).toEqual([]);
    expect(repository.checkLock(lockOf({}))).toContain('node_modules/a/node_modules/b has no integrity');
    const loose = { packages: { 'node_modules/b': { inBundle: true } } };
    expect(repository.checkLock(JSON.stringify(loose))).toEqual(['node_modules/b has no integrity']);
  });

  it('refuse to pass for want of anything to check', () => {
    expect(() => repository.checkPins('{}')).toThrow('nothing to check');
    expect(() => repository.checkLock('{"packages":{}}')).toThrow('nothing to check');
  });
});

describe('the rule about traces of a machine', () => {
  const check = (text: string, checkout = '/srv/checkouts/hall') =>
    repository.checkMachineTraces({ path: 'a.md', text }, checkout).map(({ line }) => line);

  it.each([
    `cd /home/jane/x`,
    `open /Users/jane/x`,
    `https://registry.example.org/npm`,
    `https://npm-mirror.example.org`,
    'cat /srv/checkouts/hall/README.md',
  ])('refuses %s', (text) => {
    expect(check(`\n${text}`)).toEqual([2]);
  });

  it('allows the guest accounts, other hosts and a checkout at a common place', () => {
    expect(check('/home/user/Desktop /home/agent https://example.org/registry /srv/checkouts/hall-of-fame')).toEqual(
      [],
    );
    expect(check('/app/main.js', '/app')).toEqual([]);
  });
});

describe('the rule about what is left over', () => {
  it.each([`// TODO: later`, `throw new Error('not implemented')`, `/* FIXME */`, `${'<'.repeat(7)} ours`])(
    'refuses %s',
    (text) => {
      expect(repository.checkLeftovers({ path: 'a.ts', text })).toHaveLength(1);
    },
  );

  it('allows words that only contain one', () => {
    expect(repository.checkLeftovers({ path: 'a.ts', text: 'const todos = hackathon; // implemented' })).toEqual([]);
  });
});

describe('the rule about where tests lie', () => {
  it('refuses a test outside of the known folders, or with another ending', () => {
    const places = [
      'test/bench/a.test.ts',
      'infra/a.test.ts',
      'test/unit/a.spec.ts',
      'test/unit/a.test.mjs',
      'test/unit/a.test.ts',
    ];
    expect(places.map((place) => repository.checkTestPlace(place, testFolders).length)).toEqual([1, 1, 1, 1, 0]);
  });
});

describe('the rule about links', () => {
  const tree: Record<string, string> = { 'docs/b.md': '# A heading, with `code`!\n', 'docs/sub': '', 'README.md': '' };
  const check = (text: string) =>
    repository.checkLinks({ path: 'docs/a.md', text }, (target) => tree[target]).map(({ message }) => message);

  it.each(['[x](c.md)', '![x](../c.png)', '[x](../../outside.md)', '[x](b.md#other)', '[x](#nothing)', '[x]: c.md'])(
    'refuses %s',
    (text) => {
      tree['docs/a.md'] = text;
      expect(check(text)).toHaveLength(1);
    },
  );

  it.each([
    '[x](b.md)',
    '[x](sub/)',
    '[x](../README.md "t")',
    '[x](b.md#a-heading-with-code)',
    '[x](https://a.b)',
    '`[x](c.md)`',
  ])('allows %s', (text) => {
    expect(check(text)).toEqual([]);
  });

  it('does not read fenced code', () => {
    expect(check('```\n[x](c.md)\n```\n')).toEqual([]);
  });
});
