import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FetchJob } from '#contracts/guest';
import { fetchFiles } from '#guest/fetch-files';
import { nameNotForWindows, syncFolder, whileBusy, whileBusyLater } from '#guest/windows-files';
import { serve } from './object-server.ts';

const GUEST = path.resolve(import.meta.dirname, '../../../images/guest');

function failing(times: number, code: string): { readonly work: () => string; readonly calls: () => number } {
  let calls = 0;
  const work = (): string => {
    calls += 1;
    if (calls <= times) throw Object.assign(new Error(code), { code });
    return 'done';
  };
  return { work, calls: () => calls };
}

describe('a file of Windows that somebody else has open', () => {
  it.each(['EPERM', 'EACCES', 'EBUSY'])('is tried again after %s', async (code) => {
    const [now, later] = [failing(3, code), failing(3, code)];
    expect(whileBusy(now.work, 'win32')).toBe('done');
    expect(await whileBusyLater(async () => later.work(), 'win32')).toBe('done');
    expect([now.calls(), later.calls()]).toEqual([4, 4]);
  });

  it('is given up after about a second, with what was said last', () => {
    const { work, calls } = failing(1000, 'EBUSY');
    expect(() => whileBusy(work, 'win32')).toThrow('EBUSY');
    expect(calls()).toBe(10);
  });

  it('is no reason to try anything else again, nor anything on other systems', async () => {
    for (const [code, platform] of [
      ['ENOENT', 'win32'],
      ['EEXIST', 'win32'],
      ['EPERM', 'linux'],
      ['EBUSY', 'darwin'],
    ] as const) {
      const { work, calls } = failing(1, code);
      expect(() => whileBusy(work, platform)).toThrow(code);
      await expect(whileBusyLater(async () => failing(1, code).work(), platform)).rejects.toThrow(code);
      expect(calls()).toBe(1);
    }
  });

  it('is thought of wherever the runner gives a file another name or takes one away', () => {
    const calls = readdirSync(GUEST)
      .filter((name) => name.endsWith('.ts') && !['named-pipe.ts', 'rpc-commands.ts'].includes(name))
      .flatMap((name) => readFileSync(path.join(GUEST, name), 'utf8').split('\n'))
      .filter((line) => /(?<![\w#.])(?:renameSync|linkSync|unlinkSync|rename|link|unlink)\(/.test(line));
    expect(calls.length).toBeGreaterThanOrEqual(8);
    const unguarded = calls.filter((line) => !/whileBusy(?:Later)?\(\(\) => /.test(line));
    expect(unguarded.map((line) => line.trim())).toEqual(['renameSync(draft, this.path);']);
  });
});

describe('a folder', () => {
  it('is not opened on Windows, which refuses that, to have its names written', () => {
    const nowhere = path.join(os.tmpdir(), 'examhall-nowhere', 'below');
    expect(() => syncFolder(nowhere, 'win32')).not.toThrow();
    expect(() => syncFolder(nowhere, 'linux')).toThrow(/ENOENT/);
    expect(() => syncFolder(os.tmpdir(), 'linux')).not.toThrow();
  });
});

describe('names that Windows does not take as they stand', () => {
  it.each(['a:b', 'what?', 'x.', 'x ', 'CON', 'nul.txt', 'com1', 'LPT9.log', 'a|b', '"q"', 'tab\t'])(
    'has %j',
    (name) => {
      expect(nameNotForWindows(`E:\\agenthle\\${name}\\file.txt`)).toBe(name);
      expect(nameNotForWindows(`E:/agenthle/${name}`)).toBe(name);
    },
  );

  it('has no others, drives and dots among them', () => {
    for (const each of ['C:\\Users\\User\\.ale\\a b.txt', 'E:/x/console.log', 'E:\\com10\\nullable', 'C:\\ü\\日本.txt'])
      expect(nameNotForWindows(each), each).toBeUndefined();
    const plain = fc.stringMatching(/^[a-z0-9_-]{4,12}$/).filter((name) => !/^(?:com|lpt)\d$/.test(name));
    fc.assert(
      fc.property(fc.array(plain, { minLength: 1, maxLength: 5 }), (names) => {
        expect(nameNotForWindows(`C:\\${names.join('\\')}`)).toBeUndefined();
      }),
    );
  });
});

describe('files of a task that Windows cannot have', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'examhall-names-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('are refused there before any of the list is brought, and are files as others elsewhere', async () => {
    const target = path.join(folder, 'in', 'a:b.txt');
    const sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    const asked: string[] = [];
    const server = await serve((request, response) => {
      asked.push(request.url ?? '');
      const item = { url: `${server.url}/empty`, path: target, sha256, sizeBytes: 0, executable: false };
      response.end(request.url === '/list' ? JSON.stringify({ items: [item], directories: [] }) : '');
    });
    try {
      const job = { listUrl: `${server.url}/list` } as FetchJob;
      await expect(fetchFiles(job, 'win32')).rejects.toThrow(/"a:b\.txt" in .* is no name of a file on Windows/);
      expect(asked).toEqual(['/list']);
      mkdirSync(path.dirname(target));
      expect(await fetchFiles(job, 'linux')).toMatchObject({ files: 1, message: null });
      expect(readFileSync(target, 'utf8')).toBe('');
    } finally {
      await server.close();
    }
  });
});
