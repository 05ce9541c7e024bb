import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { UploadGrant } from '#contracts/guest';
import { startObjectServer, type ObjectServer } from '#local/stores/object-server';
import { DiskArtifactStore } from '#local/stores/disk-artifact-store';
import { RequestSigner } from '#local/stores/request-signer';

const MIB = 1_024 * 1_024;
const BOUNDARY = 'boundary0123456789';

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

describe('the object server', () => {
  const root = mkdtempSync(join(tmpdir(), 'object-server-'));
  let nowMs = Date.parse('2026-01-01T00:00:00Z');
  const signer = new RequestSigner(
    () => server?.baseUrl ?? '',
    () => nowMs,
  );
  let server: ObjectServer | undefined;
  let store: DiskArtifactStore;
  beforeAll(async () => {
    store = await DiskArtifactStore.open(root, signer);
    server = await startObjectServer(store, signer);
  });
  afterAll(async () => {
    await server?.close();
    rmSync(root, { recursive: true });
  });

  async function send(
    url: string,
    method: string,
    headers: Readonly<Record<string, string | number>> = {},
    body?: Iterable<Uint8Array | string>,
  ): Promise<Answer> {
    const outgoing = request(url, { method, headers });
    const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>;
    if (body === undefined) outgoing.end();
    else await pipeline(Readable.from(body), outgoing);
    const [response] = await answered;
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk as string;
    return { status: response.statusCode, headers: response.headers, body: text };
  }

  function formHead(fields: Readonly<Record<string, string>>): string {
    const parts = Object.entries(fields).map(
      ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    );
    return `${parts.join('')}--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\nContent-Type: application/octet-stream\r\n\r\n`;
  }

  const FORM_TAIL = `\r\n--${BOUNDARY}--\r\n`;
  const multipart = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

  async function post(grant: UploadGrant, fields: Readonly<Record<string, string>>, content: string): Promise<Answer> {
    const body = formHead({ ...grant.fields, ...fields }) + content + FORM_TAIL;
    return send(grant.url, 'POST', { ...multipart, 'content-length': Buffer.byteLength(body) }, [body]);
  }

  it('listens on loopback only, and refuses in XML by code', async () => {
    expect(server?.baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const url = await store.signGet({ bucket: 'tasks', key: 'absent & <gone>' }, 60);
    const codes: readonly (readonly [Promise<Answer>, number, string])[] = [
      [send(url, 'GET'), 404, 'NoSuchKey'],
      [send(url.replace('/tasks?', '/none?'), 'GET'), 404, 'NoSuchBucket'],
      [send(url.replace('/tasks?', '/references?'), 'GET'), 403, 'SignatureDoesNotMatch'],
      [send(url.replace(/signature=\w/, 'signature='), 'GET'), 403, 'SignatureDoesNotMatch'],
      [send(`${server?.baseUrl ?? ''}/artifacts`, 'GET'), 403, 'SignatureDoesNotMatch'],
      [send(url, 'PUT', { 'content-length': 0 }), 405, 'MethodNotAllowed'],
      [send(url, 'POST', { ...multipart, 'transfer-encoding': 'chunked' }), 411, 'MissingContentLength'],
      [send(url, 'POST', { 'content-length': 0 }), 412, 'PreconditionFailed'],
    ];
    for (const [answer, status, code] of codes) {
      expect(await answer).toMatchObject({ status, body: expect.stringContaining(`<Code>${code}</Code>`) as string });
    }
    expect((await send(url, 'GET')).headers['content-type']).toBe('application/xml');
  });

  it('signs HEAD apart from GET, and answers it without a body', async () => {
    const ref = { bucket: 'tasks', key: 'head' } as const;
    const { sha256 } = await store.put(ref, 'content', { contentType: 'text/x' });
    const answer = await send(signer.signUrl('HEAD', ref, 60), 'HEAD');
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(answer.headers).toMatchObject({ 'content-length': '7', etag: `"${sha256}"`, 'content-type': 'text/x' });
    expect((await send(signer.signUrl('HEAD', ref, 60), 'GET')).status).toBe(403);
  });

  it('honours If-Match and If-None-Match, and says the size of what is not satisfiable', async () => {
    const ref = { bucket: 'tasks', key: 'conditions' } as const;
    const { sha256 } = await store.put(ref, '0123456789');
    const url = await store.signGet(ref, 60);
    expect((await send(url, 'GET', { 'if-match': `"${sha256}"`, range: 'bytes=5-' })).body).toBe('56789');
    expect((await send(url, 'GET', { 'if-match': '"other"' })).status).toBe(412);
    expect(await send(url, 'GET', { 'if-none-match': `"${sha256}"` })).toMatchObject({ status: 304, body: '' });
    const outside = await send(url, 'GET', { range: 'bytes=10-' });
    expect([outside.status, outside.headers['content-range']]).toEqual([416, 'bytes */10']);
    expect((await send(url, 'GET', { range: 'bytes=-0' })).status).toBe(416);
    for (const range of ['bytes=5-4', 'bytes=-', 'bytes=1-2,4-5', 'bytes=x-']) {
      expect((await send(url, 'GET', { range })).status).toBe(200);
    }
    await store.put(ref, '');
    expect(await send(url, 'GET')).toMatchObject({ status: 200, body: '' });
    expect((await send(url, 'GET', { range: 'bytes=0-' })).status).toBe(416);
  });

  it('holds a URL good until its last second and no longer', async () => {
    const ref = { bucket: 'tasks', key: 'expiring' } as const;
    await store.put(ref, 'x');
    const url = await store.signGet(ref, 5);
    nowMs += 4_999;
    expect((await send(url, 'GET')).status).toBe(200);
    nowMs += 1;
    const late = await send(url, 'GET');
    expect([late.status, late.body]).toEqual([403, expect.stringContaining('expired')]);
    const forever = new URL(url);
    forever.searchParams.set('expires', '99999999999');
    expect((await send(forever.href, 'GET')).status).toBe(403);
  });

  it('refuses forms that S3 refuses', async () => {
    const grant = await store.signUpload('artifacts', 'forms/', 60, MIB);
    const cases: readonly (readonly [Promise<Answer>, number, string])[] = [
      [post(grant, {}, 'x'), 400, "field named 'key'"],
      [post(grant, { key: 'other/a' }, 'x'), 403, 'Policy Condition failed'],
      [post(grant, { key: 'forms/a', 'x-amz-meta-a': '1' }, 'x'), 403, 'Extra input fields: x-amz-meta-a'],
      [post(grant, { key: `forms/${'k'.repeat(1_024)}` }, 'x'), 400, '1 to 1024'],
      [post(grant, { key: 'forms/../../a' }, 'x'), 400, 'climbs out'],
      [post(grant, { key: 'forms/a', 'x-ignore-filler': 'x'.repeat(30_000) }, 'x'), 400, 'PreDataLengthExceeded'],
      [post({ ...grant, url: grant.url.replace('artifacts', 'references') }, { key: 'forms/a' }, 'x'), 403, 'bucket'],
      [post({ ...grant, fields: {} }, { key: 'forms/a' }, 'x'), 403, 'SignatureDoesNotMatch'],
    ];
    for (const [answer, status, text] of cases) {
      expect(await answer).toMatchObject({ status, body: expect.stringContaining(text) as string });
    }
    const noFile = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="key"\r\n\r\nforms/a${FORM_TAIL}`;
    const length = { 'content-length': noFile.length };
    expect(await send(grant.url, 'POST', { ...multipart, ...length }, [noFile])).toMatchObject({ status: 400 });
    expect((await store.list('artifacts', 'forms/')).objects).toEqual([]);
  });

  it('replaces ${filename} in a key, and takes fields in any case and unsigned x-ignore- ones', async () => {
    const grant = await store.signUpload('artifacts', 'names/', 60, MIB);
    const fields = { 'X-Ignore-Me': '1', key: 'names/${filename}.txt' };
    const upper = Object.fromEntries(Object.entries(grant.fields).map(([name, value]) => [name.toUpperCase(), value]));
    expect((await post({ ...grant, fields: upper }, fields, 'x')).status).toBe(204);
    const url = await store.signGet({ bucket: 'artifacts', key: 'names/f.txt' }, 60);
    expect((await send(url, 'GET')).status).toBe(200);
  });

  it('stores nothing of an upload that is cut off', async () => {
    const grant = await store.signUpload('artifacts', 'cut/', 60, 10 * MIB);
    const { hostname, port, pathname } = new URL(grant.url);
    const socket = connect(Number(port), hostname);
    const head = formHead({ ...grant.fields, key: 'cut/a' });
    socket.write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: ${multipart['content-type']}\r\n`);
    socket.write(`Content-Length: ${5 * MIB}\r\n\r\n${head}`);
    socket.write(Buffer.alloc(2 * MIB));
    await expect.poll(() => readdirSync(join(root, 'writing')).length, { timeout: 10_000 }).toBe(1);
    socket.destroy();
    await expect.poll(() => readdirSync(join(root, 'writing')).length, { timeout: 10_000 }).toBe(0);
    expect((await store.list('artifacts', 'cut/')).objects).toEqual([]);
  });

  it('streams uploads to disk: memory does not grow with their size', async () => {
    const grant = await store.signUpload('artifacts', 'large/', 60, 1_024 * MIB);
    const upload = async (key: string, mebibytes: number): Promise<string> => {
      const [head, hash] = [formHead({ ...grant.fields, key }), createHash('sha256')];
      const length = head.length + mebibytes * MIB + FORM_TAIL.length;
      function* body(): Generator<Uint8Array | string> {
        yield head;
        for (let at = 0; at < mebibytes * 4; at += 1) {
          const chunk = Buffer.alloc(MIB / 4, at % 251);
          hash.update(chunk);
          yield chunk;
        }
        yield FORM_TAIL;
      }
      expect((await send(grant.url, 'POST', { ...multipart, 'content-length': length }, body())).status).toBe(204);
      return hash.digest('hex');
    };
    const small = await upload('large/20', 20);
    expect(await store.head({ bucket: 'artifacts', key: 'large/20' })).toMatchObject({
      sizeBytes: 20 * MIB,
      sha256: small,
    });
    const peakBefore = process.resourceUsage().maxRSS;
    await upload('large/300', 300);
    const grownMiB = (process.resourceUsage().maxRSS - peakBefore) / 1_024;
    expect(grownMiB).toBeLessThan(150);
    expect((await store.head({ bucket: 'artifacts', key: 'large/300' }))?.sizeBytes).toBe(300 * MIB);
  }, 120_000);

  it('stops when closed, cutting what is open, and may be closed twice', async () => {
    const own = await startObjectServer(store, signer);
    const { hostname, port } = new URL(own.baseUrl);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const cut = once(socket, 'close');
    await own.close();
    await own.close();
    await cut;
    await expect(fetch(own.baseUrl)).rejects.toThrow();
  });
});
