import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FetchItem, FetchJob, GuestAccount } from '#contracts/guest';
import { tier } from '#test/runner/tier';
import { JobsKit, testAccount, walls } from './guest-kit.ts';
import { serve, type TestServer } from './object-server.ts';

const big = Buffer.alloc(3_000_000, 'exam hall ');
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/** How often a path has been asked for, so that it can go wrong at first. */
const asked = new Map<string, number>();

function answer(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://x');
  const time = (asked.get(pathname) ?? 0) + 1;
  asked.set(pathname, time);
  const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
  if (pathname === '/busy' && time <= 2) response.writeHead(503).end('slow down');
  else if (pathname === '/reset' && time === 1) response.destroy();
  else if (pathname === '/expired') response.writeHead(403).end('<Code>AccessDenied</Code>');
  else if (pathname === '/cut' && time === 1) {
    response.writeHead(200, { 'content-length': big.length });
    response.write(big.subarray(0, 1_000_000), () => setTimeout(() => response.destroy(), 50));
  } else if (pathname === '/lists') response.end(lists.get(new URL(request.url ?? '/', 'http://x').search));
  else if (start > 0) {
    response
      .writeHead(206, { 'content-range': `bytes ${start}-${big.length - 1}/${big.length}` })
      .end(big.subarray(start));
  } else response.end(pathname === '/wrong' ? 'not what was promised' : big);
}

const lists = new Map<string, string>();

describe('a fetch job', () => {
  let kit: JobsKit;
  let server: TestServer;
  beforeAll(async () => {
    kit = new JobsKit();
    server = await serve(answer);
  });
  afterAll(async () => {
    await server.close();
    await kit.remove();
  });

  let count = 0;
  function fetchJob(items: readonly FetchItem[], directories: readonly string[] = []): FetchJob {
    count += 1;
    const search = `?list=${count}&X-Signature=secret-9911`;
    lists.set(search, JSON.stringify({ items, directories }));
    const { version, account, isolation } = kit.shell('');
    const listUrl = `${server.url}/lists${search}`;
    return { version, account, isolation, kind: 'fetch', jobId: `fetch-${count}`, wallSeconds: 20, listUrl };
  }

  function item(name: string, target: string, overrides: Partial<FetchItem> = {}): FetchItem {
    const url = `${server.url}/${name}`;
    return { url, path: target, sha256: sha256(big), sizeBytes: big.length, executable: false, ...overrides };
  }

  it('brings files and folders, with their executable bit', async () => {
    const folder = kit.folder('fetched', null);
    const job = fetchJob(
      [
        item('a', path.join(folder, 'deep/er/ünï code')),
        item('b', path.join(folder, 'run.sh'), { executable: true }),
        item('empty', path.join(folder, 'empty'), {
          sizeBytes: 0,
          sha256: sha256(Buffer.alloc(0)),
          url: `${server.url}/lists?none`,
        }),
      ],
      [path.join(folder, 'output')],
    );
    expect(await kit.run(job)).toMatchObject({
      end: 'exited',
      exitCode: 0,
      transferredFiles: 3,
      transferredBytes: 6_000_000,
    });
    expect(readdirSync(folder).sort()).toEqual(['deep', 'empty', 'output', 'run.sh']);
    expect(readFileSync(path.join(folder, 'deep/er/ünï code')).equals(big)).toBe(true);
    expect(statSync(path.join(folder, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(statSync(path.join(folder, 'deep/er/ünï code')).mode & 0o777).toBe(0o644);
  });

  it('goes on where a connection was cut, and tries again what was busy or reset', async () => {
    const folder = kit.folder('resumed', null);
    const names = ['cut', 'busy', 'reset'];
    const job = fetchJob(names.map((name) => item(name, path.join(folder, name))));
    expect(await kit.run(job)).toMatchObject({ exitCode: 0, transferredFiles: 3 });
    for (const name of names) expect(readFileSync(path.join(folder, name)).equals(big), name).toBe(true);
    const ranges = server.requests.filter((request) => request.url === '/cut').map((request) => request.range);
    expect(ranges).toEqual([undefined, expect.stringMatching(/^bytes=[1-9]\d*-$/)]);
    expect(readdirSync(folder).sort()).toEqual(names.sort());
  });

  it('fails at once where permission is gone, without showing the URL', async () => {
    const folder = kit.folder('expired', null);
    const result = await kit.run(fetchJob([item('expired?X-Signature=secret-9911', path.join(folder, 'x'))]));
    expect(result).toMatchObject({ end: 'exited', exitCode: 1, transferredFiles: 0 });
    expect(result.message).toMatch(/403.*AccessDenied/);
    expect(JSON.stringify(result)).not.toContain('secret-9911');
    expect(asked.get('/expired')).toBe(1);
    expect(kit.read(result.jobId, 'job.json')).not.toContain('secret-9911');
  });

  it('keeps nothing whose checksum is wrong', async () => {
    const folder = kit.folder('wrong', null);
    const result = await kit.run(fetchJob([item('wrong', path.join(folder, 'x'), { sizeBytes: 21 })]));
    expect(result).toMatchObject({ exitCode: 1 });
    expect(result.message).toContain(`expected 21 bytes with ${sha256(big)}`);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('refuses a list that is not one', async () => {
    const result = await kit.run(fetchJob([item('a', 'relative/path')]));
    expect(result).toMatchObject({ exitCode: 1 });
    expect(result.message).toContain('relative/path');
  });

  tier('isolation')('behind walls', () => {
    it('writes as the agent, where the agent sees it', async () => {
      const account: GuestAccount = testAccount('/work');
      const folder = kit.folder('walled', account);
      const isolation = walls([{ source: folder, target: '/work', readOnly: false }]);
      const job = { ...fetchJob([item('a', '/work/in/file')]), account, isolation };
      expect(await kit.run(job)).toMatchObject({ exitCode: 0, transferredFiles: 1, confirmedDead: true });
      expect(statSync(path.join(folder, 'in/file')).uid).toBe(account.uid);
    });
  });
});
