import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { prepareOutput, readAgentText, shellQuote } from '#grading/output-folder';
import { folderReader } from '#test/builders/folder-reader';
import { localSession } from '#test/builders/local-session';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "it's a folder-"));
});

afterEach(() => rm(root, { recursive: true }));

describe('shellQuote', () => {
  it('keeps any word one word for the shell', async () => {
    const word = `it's $HOME \`id\` "x" \\ *`;
    const result = await localSession().runCommand(`printf %s ${shellQuote(word)}`, { check: true });
    expect(result.stdout).toBe(word);
  });
});

describe('prepareOutput', () => {
  it('makes the folder, and removes what an earlier run left, hidden files too', async () => {
    const paths = { input: path.join(root, 'input'), output: path.join(root, 'output') };
    await mkdir(path.join(paths.output, 'deep/er'), { recursive: true });
    await mkdir(paths.input);
    await writeFile(path.join(paths.input, 'a.csv'), '');
    for (const name of ['x', '.y', '..z', 'deep/er/w']) await writeFile(path.join(paths.output, name), '');
    await prepareOutput(localSession(), paths, ['a.csv']);
    expect(await readdir(paths.output)).toEqual([]);
    expect(await readdir(root)).toEqual(['input', 'output']);
  });

  it('names the input files that are not staged', async () => {
    const paths = { input: path.join(root, 'input'), output: path.join(root, 'output') };
    await expect(prepareOutput(localSession(), paths, ['a.csv', 'b.csv'])).rejects.toThrow(
      /not staged .* a.csv, b.csv/,
    );
  });
});

describe('readAgentText', () => {
  it('gives the text, or null for what is missing, too large, a folder, or a link', async () => {
    await writeFile(path.join(root, 'small.txt'), 'text');
    await writeFile(path.join(root, 'large.txt'), 'x'.repeat(2000));
    await mkdir(path.join(root, 'folder.txt'));
    await symlink('/etc/hostname', path.join(root, 'link.txt'));
    const reader = folderReader(root);
    expect(await readAgentText(reader, 'small.txt')).toBe('text');
    for (const name of ['none.txt', 'folder.txt', 'link.txt']) expect(await readAgentText(reader, name)).toBeNull();
    expect(await readAgentText(reader, 'large.txt', 1000)).toBeNull();
  });

  it('lets faults that are not the agent’s pass', async () => {
    const broken = { exists: () => Promise.resolve(true), readText: () => Promise.reject(new Error('store is away')) };
    await expect(readAgentText(broken, 'a')).rejects.toThrow('store is away');
  });
});
