import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DOC_BLOCKS, DOCUMENTS, withBlocks } from '#cli/docs-blocks';
import { listRepository } from './source-tree.ts';
import { machine, MACHINE_NAMES } from '../state-machines/definitions.ts';

describe('the documentation', () => {
  it.each([...DOCUMENTS])('%s has generated blocks that fit the code (npm run docs writes them)', (file) => {
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('<!-- generated: ');
    expect(withBlocks(text)).toBe(text);
  });

  it('uses every block somewhere, and knows when one is stale', () => {
    const all = DOCUMENTS.map((file) => readFileSync(file, 'utf8')).join('');
    expect(Object.keys(DOC_BLOCKS).filter((name) => !all.includes(`<!-- generated: ${name} -->`))).toEqual([]);
    expect(Object.keys(DOC_BLOCKS).length).toBeGreaterThan(0);
    const stale = '<!-- generated: blame-table -->\nold\n<!-- end -->';
    expect(withBlocks(stale)).not.toBe(stale);
  });

  it('says where `npx examhall` is ours, and no program tells anybody to call it: elsewhere a registry would be asked', () => {
    const files = listRepository().filter((file) =>
      /^(?:infra|lambdas|images|agents|tasks)\/.*\.(?:ts|mjs|sh)$/u.test(file),
    );
    expect(files.length).toBeGreaterThan(100);
    const told = files.filter((file) => /npx examhall \w/u.test(readFileSync(file, 'utf8')));
    expect(told).toEqual([]);
    expect(readFileSync('README.md', 'utf8')).toContain('node <clone>/infra/cli/examhall.mjs');
  });

  it('pictures each state of the machines by its name', () => {
    const picture = readFileSync('state-machines/README.md', 'utf8');
    const states = MACHINE_NAMES.flatMap((name) => Object.keys(machine(name).States)).filter(
      (name) => name !== 'SpliceUnit',
    );
    expect(states.length).toBeGreaterThan(20);
    expect(states.filter((name) => !picture.includes(name))).toEqual([]);
  });
});
