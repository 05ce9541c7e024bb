import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CollectEntry, CollectJob } from '#contracts/guest';
import { collectAsAgent, readerOf } from '#guest/collect';
import { readForm, serve, type TestServer } from './object-server.ts';

const AGENT = { name: 'User', uid: null, gid: null, home: 'C:\\Users\\User' };

describe('row 17: the collect of a Windows sandbox, which SYSTEM does', () => {
  let root: string;
  let server: TestServer;
  const stored = new Map<string, string>();

  beforeEach(async () => {
    root = mkdtempSync(path.join(os.tmpdir(), 'examhall-foreign-'));
    stored.clear();
    server = await serve(async (request, response) => {
      const { fields } = await readForm(request);
      stored.set(String(fields.get('key')), String(fields.get('file')));
      response.writeHead(204).end();
    });
  });
  afterEach(async () => {
    await server.close();
    rmSync(root, { recursive: true, force: true });
  });

  const jobOf = (folder: string): CollectJob => ({
    ...{ version: 1, jobId: 'collect-1', kind: 'collect', wallSeconds: 9, account: AGENT, isolation: { kind: 'none' } },
    roots: [{ path: folder, keyPrefix: 'o/', as: 'agent' }],
    grant: { url: `${server.url}/bucket`, fields: {}, keyPrefix: 'a/' },
    manifestKey: 'collect.json',
    limits: { maxFiles: 100, maxFileMiB: 1, maxTotalMiB: 3 },
  });

  async function collected(folder: string): Promise<{ missing: boolean; entries: Record<string, CollectEntry> }> {
    const { roots } = await collectAsAgent(jobOf(folder), true);
    const { missing = true, entries = [] } = roots[0] ?? {};
    return { missing, entries: Object.fromEntries(entries.map((entry) => [entry.path, entry])) };
  }

  /** The agent's output, beside a folder whose files it may not read. */
  function makeFolders(): { readonly output: string; readonly secrets: string } {
    const [output, secrets] = [path.join(root, 'data', 'output'), path.join(root, 'secrets')];
    for (const folder of [path.join(output, 'sub'), path.join(secrets, 'output')])
      mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(output, 'sub', 'answer.txt'), 'forty-two');
    writeFileSync(path.join(secrets, 'key'), 'of SYSTEM');
    writeFileSync(path.join(secrets, 'output', 'key'), 'of SYSTEM');
    return { output, secrets };
  }

  it('runs as the runner, so that what it reports is not the word of the session', () => {
    const job = jobOf('C:\\');
    expect(readerOf(job, 'win32')).toBeNull();
    expect(readerOf(job, 'linux')).toEqual(AGENT);
    const fetch = { ...job, kind: 'fetch', listUrl: 'http://127.0.0.1/' } as const;
    expect(readerOf(fetch, 'win32')).toEqual(AGENT);
  });

  it('brings what the agent made', async () => {
    const { missing, entries } = await collected(makeFolders().output);
    expect([missing, entries['sub/answer.txt']?.skipped]).toEqual([false, null]);
    expect(Object.fromEntries(stored)).toEqual({ 'a/o/sub/answer.txt': 'forty-two' });
  });

  it('follows no link out of the folder', async () => {
    const { output, secrets } = makeFolders();
    symlinkSync(secrets, path.join(output, 'folder'));
    symlinkSync(path.join(secrets, 'key'), path.join(output, 'file'));
    const { entries } = await collected(output);
    for (const name of ['folder', 'file']) expect(entries[name]).toMatchObject({ kind: 'link', key: null });
    expect([...stored.values()]).toEqual(['forty-two']);
  });

  it('takes no folder that a link stands for, or that lies behind one', async () => {
    const { secrets } = makeFolders();
    rmSync(path.join(root, 'data'), { recursive: true });
    symlinkSync(secrets, path.join(root, 'data'));
    expect((await collected(path.join(root, 'data', 'output'))).missing).toBe(true);
    expect((await collected(path.join(root, 'data'))).missing).toBe(true);
    expect(stored.size).toBe(0);
  });

  it('reads no file that has another name, which may lie anywhere', async () => {
    const { output, secrets } = makeFolders();
    linkSync(path.join(secrets, 'key'), path.join(output, 'key'));
    const { entries } = await collected(output);
    expect(entries['key']).toMatchObject({ kind: 'file', skipped: 'not-regular', key: null });
    expect([...stored.values()]).toEqual(['forty-two']);
  });

  it('is stricter than one with the eyes of the agent, which reads what the agent could', async () => {
    const { output, secrets } = makeFolders();
    linkSync(path.join(secrets, 'key'), path.join(output, 'key'));
    await collectAsAgent(jobOf(output), false);
    expect(stored.get('a/o/key')).toBe('of SYSTEM');
  });
});
