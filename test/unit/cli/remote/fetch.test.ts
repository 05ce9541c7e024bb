import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fetchSweep } from '#cli/remote/fetch-sweep';
import { safeSegments } from '#cli/remote/safe-path';
import { attemptDetail, SWEEP_ID, unitDetail, unitSummary } from './api-answers.ts';
import { clientOf, startFakeApi, type FakeApi } from './fake-api.ts';

const RUN_DIR = `${SWEEP_ID}/oracle/unknown-model/e2e__word/v0/20260102_030405`;

let ground = '';
let api: FakeApi | null = null;

beforeEach(() => {
  ground = mkdtempSync(path.join(os.tmpdir(), 'examhall-fetch-'));
});
afterEach(async () => {
  await api?.close();
  rmSync(ground, { recursive: true, force: true });
});

interface Shown {
  /** Path as the host names it, to what the record says it is. */
  readonly files: Readonly<Record<string, string>>;
  readonly runDir?: string;
  /** What the host really sends for a path. */
  readonly sends?: (name: string, request: IncomingMessage, response: ServerResponse) => boolean;
  readonly pageSize?: number;
}

/** A host that shows one unit with these files. */
async function serve({ files, runDir = RUN_DIR, sends, pageSize = 1000 }: Shown): Promise<FakeApi> {
  const names = Object.keys(files);
  const started = await startFakeApi(
    {
      listUnits: () => ({ items: [unitSummary()], cursor: null }),
      getUnit: ({ query }) => {
        const from = Number(query['cursor'] ?? 0);
        const page = names.slice(from, from + pageSize).map((name) => ({
          path: name,
          sizeBytes: Buffer.byteLength(files[name] ?? ''),
          sha256: createHash('sha256')
            .update(files[name] ?? '')
            .digest('hex'),
          url: new URL(`/files/${String(names.indexOf(name))}`, started.url).href,
        }));
        const filesCursor = from + pageSize < names.length ? String(from + pageSize) : null;
        return unitDetail({ attemptList: [attemptDetail({ runDir, files: page, filesCursor })] });
      },
    },
    {
      files: (request, response) => {
        const at = /^\/files\/(\d+)$/u.exec(request.url ?? '')?.[1];
        const name = at === undefined ? undefined : names[Number(at)];
        if (name === undefined) return false;
        if (sends?.(name, request, response) !== true) response.end(files[name]);
        return true;
      },
    },
  );
  api = started;
  return started;
}

async function fetchAll(host: FakeApi) {
  const folder = path.join(ground, 'records');
  return await fetchSweep(SWEEP_ID, { client: clientOf(host), folder, timeoutSeconds: 2, tell: () => undefined });
}

const downloads = (host: FakeApi): readonly string[] => host.requests.filter((each) => each.includes('/files/'));
const everything = (): readonly string[] => readdirSync(ground, { recursive: true }).map(String).toSorted();

describe('fetching the records of a sweep', () => {
  it('brings every file to its place, page by page, and nothing twice', async () => {
    const files = { 'events.jsonl': '{}\n', 'output/a/b.txt': 'text', 'record.json': '{"files":[]}' };
    const host = await serve({ files, pageSize: 2 });
    const ended = await fetchAll(host);
    expect(ended).toMatchObject({ units: 1, openUnits: 0, unshown: [], records: [{ files: 3, hasRecord: true }] });
    expect(readFileSync(path.join(ground, 'records', RUN_DIR, 'output/a/b.txt'), 'utf8')).toBe('text');
    expect(downloads(host)).toHaveLength(3);
    expect((await fetchAll(host)).records).toMatchObject([{ files: 3, sentBytes: 0 }]);
    expect(downloads(host)).toHaveLength(3);
    expect(existsSync(path.join(ground, 'records', '.parts'))).toBe(false);
  });

  it('goes on with a file that was broken off, from where it was', async () => {
    const big = 'x'.repeat(300_000);
    let broken = 0;
    const ranges: (string | undefined)[] = [];
    const host = await serve({
      files: { 'output/big': big, 'record.json': '{"files":[]}' },
      sends: (name, request, response) => {
        if (name !== 'output/big') return false;
        ranges.push(request.headers.range);
        const from = Number(/^bytes=(\d+)-$/u.exec(request.headers.range ?? '')?.[1] ?? 0);
        response.writeHead(from > 0 ? 206 : 200, { 'content-length': String(big.length - from) });
        if ((broken += 1) > 1) return (response.end(big.slice(from)), true);
        response.write(big.slice(0, 200_000), () => setImmediate(() => response.destroy()));
        return true;
      },
    });
    await expect(fetchAll(host)).rejects.toMatchObject({ name: 'RemoteError' });
    await fetchAll(host);
    expect(ranges[0]).toBeUndefined();
    expect(ranges[1]).toMatch(/^bytes=[1-9]\d*-$/u);
    expect(readFileSync(path.join(ground, 'records', RUN_DIR, 'output/big'), 'utf8')).toBe(big);
  });

  it('asks for fresh links when those it has no longer hold', async () => {
    let refused = 0;
    const host = await serve({
      files: { 'events.jsonl': '{}\n', 'record.json': '{"files":[]}' },
      sends: (_name, _request, response) => {
        if ((refused += 1) > 1) return false;
        response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
        return true;
      },
    });
    expect((await fetchAll(host)).records).toMatchObject([{ files: 2, hasRecord: true }]);
  });
});

describe('a hostile host', () => {
  it.each([
    ['../outside', 'part'],
    ['a/../../outside', 'part'],
    ['/outside', 'absolute'],
    ['..\\outside', 'backslash'],
    ['a//b', 'part'],
    ['.', 'part'],
    ['a\u0000b', 'control character'],
    ['a\u202egpj.exe', 'control character'],
    [`${'a/'.repeat(60)}b`, 'too long'],
    ['n'.repeat(300), 'too long'],
  ])('cannot name a file %j', async (name, says) => {
    const host = await serve({ files: { [name]: 'harm', 'record.json': '{"files":[]}' } });
    await expect(fetchAll(host)).rejects.toThrow(says);
    expect(downloads(host)).toEqual([]);
    expect(existsSync(path.join(ground, 'outside'))).toBe(false);
  });

  it.each(['../../outside', '/tmp/outside', '.parts'])('cannot name %j as the folder of a record', async (runDir) => {
    await expect(fetchAll(await serve({ files: { 'record.json': 'harm' }, runDir }))).rejects.toMatchObject({
      name: 'RemoteError',
    });
    expect(everything().filter((each) => each.includes('record.json'))).toEqual([]);
  });

  it('cannot write through a link that lies in the folder', async () => {
    const outside = path.join(ground, 'outside');
    mkdirSync(outside);
    mkdirSync(path.join(ground, 'records', path.dirname(RUN_DIR)), { recursive: true });
    symlinkSync(outside, path.join(ground, 'records', RUN_DIR));
    await expect(fetchAll(await serve({ files: { 'record.json': 'harm' } }))).rejects.toThrow('is no folder');
    rmSync(path.join(ground, 'records', RUN_DIR));
    mkdirSync(path.join(ground, 'records', RUN_DIR));
    writeFileSync(path.join(outside, 'kept'), 'mine');
    symlinkSync(path.join(outside, 'kept'), path.join(ground, 'records', RUN_DIR, 'record.json'));
    await expect(fetchAll(await serve({ files: { 'record.json': 'harm' } }))).rejects.toThrow('no regular file');
    expect(readFileSync(path.join(outside, 'kept'), 'utf8')).toBe('mine');
  });

  it('cannot pass other bytes, or more of them, for those of a record', async () => {
    const files = { 'record.json': '{"files":[]}' };
    const other = await serve({ files, sends: (_name, _request, response) => (response.end('{"files":{}}'), true) });
    expect((await fetchAll(other)).records).toMatchObject([
      { files: 0, hasRecord: false, damaged: [expect.stringContaining('other bytes')] },
    ]);
    await other.close();
    const endless = await serve({
      files,
      sends: (_name, _request, response) => {
        const more = (): void => {
          if (!response.destroyed) response.write('x'.repeat(65_536), more);
        };
        more();
        return true;
      },
    });
    expect((await fetchAll(endless)).records).toMatchObject([
      { damaged: [expect.stringContaining('longer than the 12 bytes')] },
    ]);
    expect(existsSync(path.join(ground, 'records', RUN_DIR, 'record.json'))).toBe(false);
  });

  it('cannot send the download elsewhere by a redirect', async () => {
    const host = await serve({
      files: { 'record.json': '{"files":[]}' },
      sends: (_name, _request, response) => (
        response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
        true
      ),
    });
    await expect(fetchAll(host)).rejects.toThrow('answered 302');
    expect(downloads(host)).toHaveLength(1);
  });
});

describe('names that only some systems cannot have', () => {
  it.each(['a:b', 'con', 'NUL.txt', 'ends.', 'what?'])('%s is refused on Windows alone', (name) => {
    expect(safeSegments(name, 'linux')).toEqual([name]);
    expect(() => safeSegments(name, 'win32')).toThrow('Windows');
  });
});
