import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, ftruncateSync, mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CollectEntry, CollectJob, CollectManifest, CollectRoot, JobResult } from '#contracts/guest';
import { tier } from '#test/runner/tier';
import { JobsKit, testAccount, walls } from './guest-kit.ts';
import { readForm, serve, type TestServer } from './object-server.ts';

const sha256 = (content: Buffer | string): string => createHash('sha256').update(content).digest('hex');

describe('a collect job', () => {
  let kit: JobsKit;
  let server: TestServer;
  const stored = new Map<string, Buffer>();
  const orders = new Set<string>();
  const trouble = { left: 0 };

  beforeAll(async () => {
    kit = new JobsKit();
    server = await serve(async (request, response) => {
      const { order, fields } = await readForm(request);
      if (trouble.left > 0) {
        trouble.left -= 1;
        response.writeHead(503).end('<Code>SlowDown</Code>');
        return;
      }
      if (fields.get('policy')?.toString() !== 'signed-7712') response.writeHead(403).end('<Code>AccessDenied</Code>');
      else {
        orders.add(order.join(' '));
        stored.set(fields.get('key')?.toString() ?? '', fields.get('file') ?? Buffer.alloc(0));
        response.writeHead(204).end();
      }
    });
  });
  afterAll(async () => {
    await server.close();
    await kit.remove();
  });

  let count = 0;
  function collectJob(roots: readonly CollectRoot[], overrides: Partial<CollectJob> = {}): CollectJob {
    count += 1;
    const { version, account, isolation } = kit.shell('');
    const grant = {
      url: `${server.url}/bucket?X-Signature=q`,
      fields: { policy: 'signed-7712' },
      keyPrefix: `a/${count}/`,
    };
    const limits = { maxFiles: 100, maxFileMiB: 1, maxTotalMiB: 3 };
    const base = { version, account, isolation, kind: 'collect', jobId: `collect-${count}`, wallSeconds: 25 } as const;
    return { ...base, roots, grant, manifestKey: 'collect.json', limits, ...overrides };
  }

  async function collect(job: CollectJob): Promise<{ result: JobResult; manifest: CollectManifest }> {
    const result = await kit.run(job);
    const body = stored.get(`${job.grant.keyPrefix}collect.json`);
    if (body === undefined) throw new Error(`no manifest: ${JSON.stringify(result)}`);
    expect(result.sha256OfManifest).toBe(sha256(body));
    return { result, manifest: JSON.parse(body.toString()) as CollectManifest };
  }

  const entriesOf = (manifest: CollectManifest, root = 0): readonly CollectEntry[] =>
    manifest.roots[root]?.entries ?? [];

  it('uploads every regular file with its checksum, below its prefix', async () => {
    const folder = kit.folder('plain', null);
    mkdirSync(path.join(folder, 'sub/empty'), { recursive: true });
    writeFileSync(path.join(folder, 'sub/a.txt'), 'hello');
    writeFileSync(path.join(folder, 'zero'), '');
    trouble.left = 2;
    const job = collectJob([
      { path: folder, keyPrefix: 'output/', as: 'agent' },
      { path: path.join(kit.root, 'nowhere'), keyPrefix: 'log/', as: 'runner' },
    ]);
    const { result, manifest } = await collect(job);
    expect(result).toMatchObject({ exitCode: 0, transferredFiles: 2, transferredBytes: 5 });
    expect(manifest.roots[1]).toEqual({ keyPrefix: 'log/', missing: true, entries: [] });
    expect(entriesOf(manifest).map((entry) => entry.path)).toEqual(['sub/a.txt', 'zero']);
    const key = `${job.grant.keyPrefix}output/sub/a.txt`;
    expect(entriesOf(manifest)[0]).toMatchObject({
      kind: 'file',
      sizeBytes: 5,
      sha256: sha256('hello'),
      key,
      skipped: null,
    });
    expect(stored.get(key)?.toString()).toBe('hello');
    expect([...orders]).toEqual(['policy key file']);
    expect(kit.read(job.jobId, 'job.json')).not.toMatch(/signed-7712|X-Signature/);
  });

  it('follows no link, opens nothing odd and reads nothing that is too large', async () => {
    const folder = kit.folder('odd', null);
    const inside = (name: string): string => path.join(folder, name);
    symlinkSync('/etc/passwd', inside('link-out'));
    symlinkSync('..', inside('link-up'));
    symlinkSync(folder, inside('link-loop'));
    execFileSync('mkfifo', [inside('fifo')]);
    const socket = createServer().listen(inside('socket'));
    await new Promise((resolve) => socket.once('listening', resolve));
    const sparse = openSync(inside('sparse'), 'w');
    ftruncateSync(sparse, 5 * 1024 ** 3);
    closeSync(sparse);
    for (const name of ['t1', 't2', 't3', 't4']) writeFileSync(inside(name), Buffer.alloc(1024 * 1024, name));
    const { manifest } = await collect(collectJob([{ path: folder, keyPrefix: 'o/', as: 'agent' }]));
    socket.close();
    const seen = Object.fromEntries(entriesOf(manifest).map((entry) => [entry.path, entry]));
    expect(seen['link-out']).toMatchObject({ kind: 'link', target: '/etc/passwd', key: null });
    expect(seen['link-up']).toMatchObject({ kind: 'link', target: '..', key: null });
    expect(seen['link-loop']).toMatchObject({ kind: 'link', key: null });
    expect(seen['fifo']).toMatchObject({ kind: 'other', skipped: 'not-regular', key: null });
    expect(seen['socket']).toMatchObject({ kind: 'other', skipped: 'not-regular', key: null });
    expect(seen['sparse']).toMatchObject({ kind: 'file', sizeBytes: 5 * 1024 ** 3, skipped: 'too-large', key: null });
    expect(['t1', 't2', 't3', 't4'].map((name) => seen[name]?.skipped)).toEqual([null, null, null, 'total-too-large']);
  });

  it('gives names of any bytes keys of their own', async () => {
    const folder = kit.folder('names', null);
    const names = ['new\nline', 'ünï', '%41', 'A', ' ', '"quote"', '-rf', 'é'.repeat(120)].map((name) =>
      Buffer.from(name),
    );
    const raw = [...names, Buffer.from([0xff, 0x41]), Buffer.from([0xfe, 0x41])];
    for (const name of raw) writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), name]), sha256(name));
    const job = collectJob([{ path: folder, keyPrefix: 'o/', as: 'agent' }]);
    const { manifest } = await collect(job);
    const keys = entriesOf(manifest).map((entry) => entry.key ?? '');
    expect(new Set(keys).size).toBe(raw.length);
    expect(keys.every((key) => /^[A-Za-z0-9./_%-]+$/.test(key))).toBe(true);
    expect(new Set(keys.map((key) => stored.get(key)?.toString()))).toEqual(new Set(raw.map((name) => sha256(name))));
    expect(keys).toContain(`${job.grant.keyPrefix}o/%FFA`);
  });

  it('stops at the limit of files and says so for each', async () => {
    const folder = kit.folder('many', null);
    for (let index = 0; index < 5; index += 1) writeFileSync(path.join(folder, `f${index}`), 'x');
    const limits = { maxFiles: 3, maxFileMiB: 1, maxTotalMiB: 1 };
    const { manifest } = await collect(collectJob([{ path: folder, keyPrefix: 'o/', as: 'agent' }], { limits }));
    expect(entriesOf(manifest).map((entry) => entry.skipped)).toEqual([null, null, null, 'too-many', 'too-many']);
  });

  it('tells a file that changes under its hands', async () => {
    const folder = kit.folder('changing', null);
    writeFileSync(path.join(folder, 'grows'), Buffer.alloc(512 * 1024));
    trouble.left = 1;
    const job = collectJob([{ path: folder, keyPrefix: 'o/', as: 'agent' }]);
    await kit.start(job);
    const growing = setInterval(() => writeFileSync(path.join(folder, 'grows'), 'x', { flag: 'a' }), 5);
    await kit.wait(job.jobId).finally(() => clearInterval(growing));
    const manifest = JSON.parse(String(stored.get(`${job.grant.keyPrefix}collect.json`))) as CollectManifest;
    expect(entriesOf(manifest)[0]).toMatchObject({
      path: 'grows',
      skipped: 'changed-while-read',
      key: null,
      sha256: null,
    });
  });

  it('fails where the grant is refused', async () => {
    const folder = kit.folder('refused', null);
    writeFileSync(path.join(folder, 'x'), 'x');
    const job = collectJob([{ path: folder, keyPrefix: 'o/', as: 'agent' }]);
    const result = await kit.run({ ...job, grant: { ...job.grant, fields: { policy: 'forged' } } });
    expect(result).toMatchObject({ end: 'exited', exitCode: 1, sha256OfManifest: null });
    expect(result.message).toMatch(/403.*AccessDenied/);
  });

  tier('isolation')('behind walls', () => {
    it("reads with the agent's eyes what is the agent's, and as the runner what is the runner's", async () => {
      const account = testAccount('/work');
      const folder = kit.folder('walled', account);
      writeFileSync(path.join(folder, 'mine'), 'mine');
      writeFileSync(path.join(folder, 'closed'), 'not for the agent');
      chmodSync(path.join(folder, 'closed'), 0o600);
      symlinkSync(kit.root, path.join(folder, 'way-out'));
      const console = kit.folder('console', null);
      writeFileSync(path.join(console, 'stdout'), 'said', { mode: 0o600 });
      const roots: CollectRoot[] = [
        { path: console, keyPrefix: 'console/', as: 'runner' },
        { path: '/work', keyPrefix: 'output/', as: 'agent' },
        { path: console, keyPrefix: 'peek/', as: 'agent' },
      ];
      const isolation = walls([{ source: folder, target: '/work', readOnly: false }]);
      const { manifest } = await collect(collectJob(roots, { account, isolation }));
      expect(manifest.roots.map((root) => [root.keyPrefix, root.missing])).toEqual([
        ['console/', false],
        ['output/', false],
        ['peek/', true],
      ]);
      expect(entriesOf(manifest, 0)).toMatchObject([{ path: 'stdout', skipped: null }]);
      expect(entriesOf(manifest, 1)).toMatchObject([
        { path: 'closed', skipped: 'unreadable' },
        { path: 'mine', skipped: null },
        { path: 'way-out', kind: 'link' },
      ]);
    });
  });
});
