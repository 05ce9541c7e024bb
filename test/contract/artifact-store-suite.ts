import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import type { ArtifactStore, ObjectRef } from '#ports/artifact-store';

import { expectObjectError, type ArtifactHarness } from './artifact-store-expectations.ts';
import { describeListing } from './artifact-store-listing-suite.ts';
import { describeSignatureChecks, describeSignedRequests } from './artifact-store-signed-suite.ts';

/**
 * What every artefact store must do. `harness` is asked again for each test; tests keep to prefixes of their own.
 * Behind a slow server fewer random cases are tried.
 */
export function describeArtifactStore(harness: () => ArtifactHarness, isSlow = false): void {
  const store = (): ArtifactStore => harness().store;
  describe('whole objects', () => describeObjects(store));
  describe('conditional and checked writes', () => describeCheckedWrites(store));
  describe('local files', () => describeFiles(store));
  describe('listings', () => describeListing(store, isSlow));
  describe('signed requests', () => describeSignedRequests(harness));
}

/** What the server behind a store must check in requests that the store has signed. */
export function describeSignatures(harness: () => ArtifactHarness): void {
  describe('signatures', () => describeSignatureChecks(harness));
}

function sha256(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}

function fresh(name = 'object'): ObjectRef {
  return { bucket: 'artifacts', key: `${randomUUID()}/${name}` };
}

/** Hostile and merely unusual keys; every one is an object of its own. */
const ODD_KEYS = [
  'a',
  'A',
  'a/',
  'a//b',
  '/a',
  'a/b',
  './a',
  '../a',
  'a/../b',
  'a/..',
  '.',
  '..',
  '...',
  'a.',
  'a..',
  '.a',
  'a%2fb',
  'a%00b',
  'é',
  'e\u0301',
  '\u{1f600}/\u{10ffff}',
  'C:\\windows\\nul',
  'con',
  'a b ',
  ' ',
  '~',
  '^a+',
  '%',
  'x'.repeat(900),
  'é'.repeat(450),
  `${'d/'.repeat(400)}f`,
];

function describeObjects(store: () => ArtifactStore): void {
  it('come back as they were put, text as UTF-8', async () => {
    const ref = fresh();
    const info = await store().put(ref, 'grüße \u{1f600}', { contentType: 'text/plain' });
    expect(info).toEqual({ key: ref.key, sizeBytes: 12, sha256: sha256('grüße \u{1f600}') });
    expect(Buffer.from(await store().get(ref)).toString('utf8')).toBe('grüße \u{1f600}');
    expect(await store().head(ref)).toEqual(info);
  });

  it('may be empty, and are replaced whole', async () => {
    const ref = fresh();
    expect(await store().put(ref, '')).toMatchObject({ sizeBytes: 0, sha256: sha256('') });
    expect(await store().get(ref)).toHaveLength(0);
    const content = randomBytes(300_000);
    await store().put(ref, content);
    await store().put(ref, content.subarray(0, 1_000));
    expect(Buffer.compare(await store().get(ref), content.subarray(0, 1_000))).toBe(0);
    expect((await store().head(ref))?.sha256).toBe(sha256(content.subarray(0, 1_000)));
  });

  it('are apart in each bucket', async () => {
    const { key } = fresh();
    await store().put({ bucket: 'references', key }, 'answer');
    expect(await store().head({ bucket: 'artifacts', key })).toBeUndefined();
    expect(await store().head({ bucket: 'references', key })).toMatchObject({ sizeBytes: 6 });
  });

  it('that are absent have no head, cannot be read or copied, and are removed without error', async () => {
    const ref = fresh();
    expect(await store().head(ref)).toBeUndefined();
    const error = await expectObjectError(store().get(ref), 'ObjectNotFoundError');
    expect(error.details).toMatchObject({ bucket: 'artifacts', key: ref.key });
    await expectObjectError(store().copy(ref, fresh()), 'ObjectNotFoundError');
    await store().remove(ref);
    await store().put(ref, 'x');
    await store().remove(ref);
    expect(await store().head(ref)).toBeUndefined();
  });

  it('are copied over buckets and over what was there', async () => {
    const [from, to] = [fresh(), { ...fresh(), bucket: 'tasks' } as const];
    await store().put(from, 'new', { contentType: 'text/plain' });
    await store().put(to, 'old content');
    expect(await store().copy(from, to)).toEqual({ key: to.key, sizeBytes: 3, sha256: sha256('new') });
    await store().put(from, 'changed later');
    expect(Buffer.from(await store().get(to)).toString()).toBe('new');
  });

  it('give inclusive byte ranges, cut at the end of the content', async () => {
    const ref = fresh();
    await store().put(ref, '0123456789');
    const read = async (start: number, end: number) => Buffer.from(await store().get(ref, { start, end })).toString();
    expect(await read(0, 0)).toBe('0');
    expect(await read(3, 5)).toBe('345');
    expect(await read(8, 1_000)).toBe('89');
    await expectObjectError(read(10, 12), 'InvalidRequestError');
    await expectObjectError(read(5, 4), 'InvalidRequestError');
    await expectObjectError(read(-1, 4), 'InvalidRequestError');
  });

  it('may have any key of 1 to 1,024 bytes, each being an object of its own', async () => {
    const folder = `${randomUUID()}/`;
    for (const odd of ODD_KEYS) await store().put({ bucket: 'artifacts', key: folder + odd }, odd);
    for (const odd of ODD_KEYS) {
      const content = await store().get({ bucket: 'artifacts', key: folder + odd });
      expect(Buffer.from(content).toString('utf8')).toBe(odd);
    }
    const page = await store().list('artifacts', folder);
    expect(page.objects.map(({ key }) => key.slice(folder.length)).sort()).toEqual([...ODD_KEYS].sort());
    const bare = `..${randomUUID()}`;
    await store().put({ bucket: 'artifacts', key: bare }, 'no prefix at all');
    expect((await store().list('artifacts', bare)).objects).toHaveLength(1);
  });

  it('have no empty key, none over 1,024 bytes, with half a surrogate pair or climbing out', async () => {
    for (const key of ['', 'x'.repeat(1_025), 'é'.repeat(513), 'a\ud83d', '../a', 'a/../../../etc/passwd']) {
      await expectObjectError(store().put({ bucket: 'artifacts', key }, ''), 'PayloadInvalidError');
      await expectObjectError(store().head({ bucket: 'artifacts', key }), 'PayloadInvalidError');
    }
  });
}

function describeCheckedWrites(store: () => ArtifactStore): void {
  it('an absent key is taken once, and the first content stays', async () => {
    const ref = fresh();
    await store().put(ref, 'first', { ifAbsent: true });
    await expectObjectError(store().put(ref, 'second', { ifAbsent: true }), 'ObjectExistsError');
    expect(Buffer.from(await store().get(ref)).toString()).toBe('first');
    await store().remove(ref);
    await store().put(ref, 'third', { ifAbsent: true });
  });

  it('of 50 writers of one absent key exactly one wins, and its content is the object', async () => {
    const ref = fresh();
    const contents = Array.from({ length: 50 }, (_, at) => `writer ${at}`.padEnd(5_000, '.'));
    const outcomes = await Promise.allSettled(contents.map((text) => store().put(ref, text, { ifAbsent: true })));
    const winners = outcomes.flatMap((outcome, at) => (outcome.status === 'fulfilled' ? [contents[at]] : []));
    expect(winners).toEqual([Buffer.from(await store().get(ref)).toString()]);
    const losers = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
    expect(new Set(losers.map((error) => error.name))).toEqual(new Set(['ObjectExistsError']));
  });

  it('of many plain writers one wins whole, and its hash is told', async () => {
    const ref = fresh();
    const contents = Array.from({ length: 20 }, (_, at) => String.fromCharCode(97 + at).repeat(50_000));
    await Promise.all(contents.map((text) => store().put(ref, text)));
    const content = Buffer.from(await store().get(ref)).toString();
    expect(contents).toContain(content);
    expect((await store().head(ref))?.sha256).toBe(sha256(content));
  });

  it('content of another hash than announced is not stored and replaces nothing', async () => {
    const ref = fresh();
    await expectObjectError(store().put(ref, 'content', { sha256: sha256('other') }), 'ChecksumMismatchError');
    expect(await store().head(ref)).toBeUndefined();
    await store().put(ref, 'content', { sha256: sha256('content') });
    await expectObjectError(store().put(ref, 'newer', { sha256: sha256('other') }), 'ChecksumMismatchError');
    expect(Buffer.from(await store().get(ref)).toString()).toBe('content');
  });
}

function describeFiles(store: () => ArtifactStore): void {
  const folder = mkdtempSync(join(tmpdir(), 'artifact-files-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('go in and come out again, folders made on the way', async () => {
    const ref = fresh();
    const content = randomBytes(3_000_000);
    writeFileSync(join(folder, 'in'), content);
    const info = await store().putFile(ref, join(folder, 'in'), { ifAbsent: true, sha256: sha256(content) });
    expect(info).toEqual({ key: ref.key, sizeBytes: 3_000_000, sha256: sha256(content) });
    const target = join(folder, 'made', 'on the way', 'out');
    expect(await store().getFile(ref, target)).toEqual(info);
    expect(Buffer.compare(readFileSync(target), content)).toBe(0);
    expect(readdirSync(join(folder, 'made', 'on the way'))).toEqual(['out']);
  });

  it('replace a file whole, and an absent object leaves it alone', async () => {
    const ref = fresh();
    const target = join(folder, 'kept');
    writeFileSync(target, 'kept');
    await expectObjectError(store().getFile(ref, target), 'ObjectNotFoundError');
    expect(readFileSync(target, 'utf8')).toBe('kept');
    await store().put(ref, 'new');
    await store().getFile(ref, target);
    expect(readFileSync(target, 'utf8')).toBe('new');
  });

  it('that are not there are refused by their path, and nothing is stored', async () => {
    const ref = fresh();
    const error = await expectObjectError(store().putFile(ref, join(folder, 'nowhere')), 'PayloadInvalidError');
    expect(error.details['path']).toBe(join(folder, 'nowhere'));
    expect(await store().head(ref)).toBeUndefined();
  });
}
