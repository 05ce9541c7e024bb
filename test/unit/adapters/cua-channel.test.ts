import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectManifest, JobResult } from '#contracts/guest';
import type { ChannelJob } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import { StaticKit } from '#test/builders/static-kit';
import { sleepJob } from '#test/contract/channel-suite';
import { until } from '#test/unit/guest/guest-kit';
import { readForm, serve, type TestServer } from '#test/unit/guest/object-server';

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

describe('a machine reached by its cua-server alone', () => {
  let kit: StaticKit;
  let sandbox: Sandbox;
  let objects: TestServer;
  const served = new Map<string, Buffer>();
  const stored = new Map<string, Buffer>();
  const uploads = { areRefused: false };

  beforeAll(async () => {
    kit = await StaticKit.open(1);
    sandbox = await kit.acquire();
    objects = await serve(async (request, response) => {
      const found = served.get(request.url ?? '');
      if (request.url === '/never') return;
      if (request.method === 'GET') response.writeHead(found ? 200 : 404).end(found ?? 'no such object');
      else if (uploads.areRefused) response.writeHead(403).end('<Code>AccessDenied</Code>');
      else {
        const { order, fields } = await readForm(request);
        expect(order).toEqual(['policy', 'key', 'file']);
        stored.set(fields.get('key')?.toString() ?? '', fields.get('file') ?? Buffer.alloc(0));
        response.writeHead(204).end();
      }
    });
  });
  afterAll(async () => {
    await kit.provider.release(sandbox, 'delete');
    await objects.close();
    await kit.remove();
  });

  async function run(job: ChannelJob): Promise<JobResult> {
    await kit.channel.start(sandbox, job);
    await kit.channel.wait(sandbox, job.jobId);
    await until(() => kit.finished.includes(job.jobId), 25);
    const status = await kit.channel.status(sandbox, job.jobId);
    if (status.state !== 'finished') throw new Error(`the job is ${status.state}`);
    return status.result;
  }

  const base = (): { jobId: string; wallSeconds: number } => ({
    jobId: `demo__x.1~t.${randomUUID()}`,
    wallSeconds: 25,
  });
  function fetchJob(
    items: readonly { name: string; content: Buffer; hash?: string; executable?: boolean }[],
  ): ChannelJob {
    const listed = items.map(({ name, content, hash = sha256(content), executable = false }) => {
      served.set(`/${name}`, content);
      const file = { path: path.join(sandbox.paths.dataRoot, name), sha256: hash, sizeBytes: content.length };
      return { url: `${objects.url}/${name}`, ...file, executable };
    });
    const directories = [path.join(sandbox.paths.dataRoot, 'empty/folder')];
    served.set('/list', Buffer.from(JSON.stringify({ items: listed, directories })));
    return { kind: 'fetch', as: 'agent', ...base(), listUrl: `${objects.url}/list` };
  }

  it('is brought files by the host, whole and executable where they are to be', async () => {
    const items = [
      { name: 'big', content: Buffer.alloc(2 * 1024 * 1024 + 3, 'x') },
      { name: `sub/it's`, content: Buffer.from('#!/bin/sh\n'), executable: true },
      { name: 'nothing', content: Buffer.alloc(0) },
    ];
    const result = await run(fetchJob(items));
    expect(result).toMatchObject({
      end: 'exited',
      exitCode: 0,
      message: null,
      transferredFiles: 3,
      transferredBytes: 2097165,
    });
    for (const { name, content } of items)
      expect(readFileSync(path.join(sandbox.paths.dataRoot, name)).equals(content)).toBe(true);
    expect(statSync(path.join(sandbox.paths.dataRoot, `sub/it's`)).mode & 0o111).toBe(0o111);
    expect(statSync(path.join(sandbox.paths.dataRoot, 'empty/folder')).isDirectory()).toBe(true);
  });

  it('is waited for by its end when a transfer is asked for its first line', async () => {
    const job = fetchJob([{ name: 'one', content: Buffer.from('1') }]);
    await kit.channel.start(sandbox, job);
    const over = { line: null, stderr: '', status: { state: 'finished', result: { exitCode: 0 } } };
    expect(await kit.channel.firstLine(sandbox, job.jobId, 20)).toMatchObject(over);
    const slow = { ...fetchJob([]), listUrl: `${objects.url}/never` };
    await kit.channel.start(sandbox, slow);
    expect(await kit.channel.firstLine(sandbox, slow.jobId, 0.1)).toMatchObject({ status: { state: 'running' } });
    await kit.channel.stop(sandbox, slow.jobId);
    expect(await kit.channel.status(sandbox, slow.jobId)).toMatchObject({
      state: 'finished',
      result: { end: 'stopped' },
    });
  });

  it('is not given a file that is not what the list says', async () => {
    const result = await run(fetchJob([{ name: 'bad', content: Buffer.from('abc'), hash: sha256('abd') }]));
    expect(result).toMatchObject({ end: 'exited', exitCode: 1 });
    expect(result.message).toMatch(/bad: got 3 bytes with sha256 ba78.*, expected 3 bytes/);
    expect(() => statSync(path.join(sandbox.paths.dataRoot, 'bad'))).toThrow();
    const missing = await run({
      ...(fetchJob([]) as Extract<ChannelJob, { kind: 'fetch' }>),
      listUrl: `${objects.url}/nowhere`,
    });
    expect(missing).toMatchObject({ exitCode: 1, message: 'the list of files answered 404: no such object' });
  });

  function collectJob(folder: string): Extract<ChannelJob, { kind: 'collect' }> {
    const grant = { url: `${objects.url}/bucket`, fields: { policy: 'signed' }, keyPrefix: 'a/1/' };
    const limits = { maxFiles: 10, maxFileMiB: 1, maxTotalMiB: 3 };
    const roots = [
      { path: folder, keyPrefix: 'output/', as: 'agent' as const },
      { path: path.join(folder, 'not-there'), keyPrefix: 'more/', as: 'runner' as const },
    ];
    return { kind: 'collect', as: 'runner', ...base(), roots, grant, manifestKey: 'collect.json', limits };
  }

  it('gives up its files by the rules of every collect job', async () => {
    const folder = path.join(sandbox.paths.dataRoot, 'output');
    mkdirSync(path.join(folder, 'sub'), { recursive: true });
    writeFileSync(path.join(folder, 'sub/ä.txt'), 'hello');
    writeFileSync(path.join(folder, 'empty'), '');
    writeFileSync(path.join(folder, 'huge'), Buffer.alloc(1024 * 1024 + 1));
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff])]), 'odd');
    symlinkSync('/etc/passwd', path.join(folder, 'link'));
    const result = await run(collectJob(folder));
    const body = stored.get('a/1/collect.json') ?? Buffer.alloc(0);
    expect(result).toMatchObject({ end: 'exited', exitCode: 0, transferredFiles: 2, transferredBytes: 5 });
    expect(result.sha256OfManifest).toBe(sha256(body));
    const { roots } = JSON.parse(body.toString()) as CollectManifest;
    const entry = { kind: 'file', target: null, skipped: null };
    expect(roots).toEqual([
      {
        keyPrefix: 'output/',
        missing: false,
        entries: [
          { ...entry, path: 'empty', sizeBytes: 0, sha256: sha256(''), key: 'a/1/output/empty' },
          { ...entry, path: 'huge', sizeBytes: 1024 * 1024 + 1, sha256: null, key: null, skipped: 'too-large' },
          { ...entry, path: 'link', kind: 'link', sizeBytes: 0, sha256: null, key: null, target: '/etc/passwd' },
          { ...entry, path: 'sub/ä.txt', sizeBytes: 5, sha256: sha256('hello'), key: 'a/1/output/sub/%C3%A4.txt' },
          { ...entry, path: '\ufffd', sizeBytes: 3, sha256: null, key: null, skipped: 'unreadable' },
        ],
      },
      { keyPrefix: 'more/', missing: true, entries: [] },
    ]);
    expect(stored.get('a/1/output/sub/%C3%A4.txt')?.toString()).toBe('hello');
    uploads.areRefused = true;
    const refused = await run(collectJob(folder));
    uploads.areRefused = false;
    expect(refused).toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('answered with HTTP 403') as string,
    });
  });

  it('runs jobs with their own input, environment and folder, which no argument or variable of another process shows', async () => {
    const job = sleepJob(0, {
      argv: ['/bin/sh', '-c', 'pwd; cat; echo "$SECRET $HOME"; echo trouble >&2; sleep 1; exit 5'],
      env: { SECRET: 'in-the-environment' },
      cwd: sandbox.paths.workRoot,
      stdin: 'by input\n',
    });
    await kit.channel.start(sandbox, job);
    const first = await kit.channel.firstLine(sandbox, job.jobId, 20);
    expect(first).toMatchObject({ line: sandbox.paths.workRoot, stderr: 'trouble\n' });
    expect(await run(job)).toMatchObject({ end: 'exited', exitCode: 5 });
    const home = sandbox.guestIsolation.kind === 'none' ? sandbox.guestIsolation.home : '';
    const output = readFileSync(path.join(kit.channel.jobFolder(sandbox, job.jobId), 'stdout'), 'utf8');
    expect(output).toBe(`${sandbox.paths.workRoot}\nby input\nin-the-environment ${home ?? ''}\n`);
    const sent = kit.servers[0]?.requests.filter(({ command }) => command === 'run_command') ?? [];
    expect(JSON.stringify(sent)).not.toContain('in-the-environment');
  });

  it('answers with the fields of the server, in time', async () => {
    const answers = await kit.channel.call(
      sandbox,
      [
        { command: 'run_command', params: { command: 'echo out; echo err >&2; exit 3' } },
        { command: 'run_command', params: { command: 'echo part; sleep 60', timeout: 1 } },
        { command: 'screenshot', params: {} },
        { command: 'left_click', params: { x: 1, y: 2 } },
      ],
      20,
    );
    expect(answers).toMatchObject([
      { success: true, stdout: 'out\n', stderr: 'err\n', return_code: 3 },
      { success: false, stdout: 'part\n', stderr: 'Command timed out after 1s', return_code: -1 },
      { success: true, format: 'png' },
      { success: true },
    ]);
    const late = [
      { command: 'run_command', params: { command: 'sleep 5' } },
      { command: 'version', params: {} },
    ];
    expect(await kit.channel.call(sandbox, late, 0.5)).toMatchObject([
      { success: false },
      { success: false, error: expect.stringContaining('was over before version could begin') as string },
    ]);
  });

  it('is not available when its server or its folder is gone', async () => {
    const gone = { ...sandbox, resources: [{ kind: 'folder', resourceId: `${kit.folder}/nowhere` }] } as const;
    const unavailable = { name: 'ChannelUnavailableError' };
    await expect(kit.channel.start(gone, sleepJob(0))).rejects.toMatchObject(unavailable);
    const silent = { ...sandbox, endpoint: 'http://127.0.0.1:9' };
    await expect(kit.channel.status(silent, 'x~run')).rejects.toMatchObject(unavailable);
    await expect(kit.channel.call(silent, [{ command: 'version', params: {} }], 5)).rejects.toMatchObject(unavailable);
    await expect(kit.channel.call({ ...sandbox, endpoint: null }, [], 5)).rejects.toMatchObject(unavailable);
  });
});
