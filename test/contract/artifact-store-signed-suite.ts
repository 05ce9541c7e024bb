import { createHash, randomUUID } from 'node:crypto';

import { expect, it } from 'vitest';

import type { UploadGrant } from '#contracts/guest';
import type { ArtifactStore } from '#ports/artifact-store';

import { expectObjectError, type ArtifactHarness } from './artifact-store-expectations.ts';

const MAX_BYTES = 1_000;

/** Posts one object under a grant, its fields first and the file last. */
export async function postForm(
  grant: UploadGrant,
  key: string,
  content: string,
  extra: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries({ ...grant.fields, ...extra, key })) form.append(name, value);
  form.append('file', new Blob([content]), 'file');
  return fetch(grant.url, { method: 'POST', body: form });
}

/** The part of the artefact store's contract that is about URLs and forms handed to others. */
export function describeSignedRequests(harness: () => ArtifactHarness): void {
  const store = (): ArtifactStore => harness().store;

  it('a signed URL gives the object, and any part of it, under any key', async () => {
    for (const name of ['plain', 'with space & ? # + %2f', 'é/\u{1f600}/ü.txt', 'k'.repeat(800)]) {
      const ref = { bucket: 'artifacts', key: `${randomUUID()}/${name}` } as const;
      await store().put(ref, `content of ${name}`, { contentType: 'text/plain' });
      const url = await store().signGet(ref, 60);
      const whole = await fetch(url);
      expect(whole.status).toBe(200);
      expect(await whole.text()).toBe(`content of ${name}`);
      expect(whole.headers.get('content-type')).toBe('text/plain');
      expect(whole.headers.get('accept-ranges')).toBe('bytes');
      expect(whole.headers.get('etag')).toMatch(/^"[0-9a-f-]+"$/);
      const part = await fetch(url, { headers: { range: 'bytes=8-9' } });
      expect([part.status, await part.text()]).toEqual([206, 'of']);
    }
  });

  it('ranges are answered as S3 does: open ends, suffixes, 416 outside', async () => {
    const ref = { bucket: 'artifacts', key: randomUUID() } as const;
    await store().put(ref, '0123456789');
    const url = await store().signGet(ref, 60);
    const ask = async (range: string) => {
      const response = await fetch(url, { headers: { range } });
      return [response.status, response.headers.get('content-range'), (await response.text()).slice(0, 10)];
    };
    expect(await ask('bytes=7-')).toEqual([206, 'bytes 7-9/10', '789']);
    expect(await ask('bytes=-2')).toEqual([206, 'bytes 8-9/10', '89']);
    expect(await ask('bytes=0-0')).toEqual([206, 'bytes 0-0/10', '0']);
    expect(await ask('bytes=4-99')).toEqual([206, 'bytes 4-9/10', '456789']);
    expect((await ask('bytes=10-'))[0]).toBe(416);
  });

  it('a URL of an absent object answers 404', async () => {
    const url = await store().signGet({ bucket: 'artifacts', key: randomUUID() }, 60);
    expect((await fetch(url)).status).toBe(404);
  });

  it('a grant takes many objects under its prefix, replacing what was there', async () => {
    const keyPrefix = `${randomUUID()}/out put/`;
    const grant = await store().signUpload('artifacts', keyPrefix, 60, MAX_BYTES);
    expect(grant.keyPrefix).toBe(keyPrefix);
    for (const name of ['a', 'deep/é\u{1f600}.txt', 'a']) {
      const response = await postForm(grant, keyPrefix + name, `upload of ${name}`);
      expect(response.status).toBe(204);
      const ref = { bucket: 'artifacts', key: keyPrefix + name } as const;
      expect(Buffer.from(await store().get(ref)).toString()).toBe(`upload of ${name}`);
      const sha256 = createHash('sha256').update(`upload of ${name}`).digest('hex');
      expect((await store().head(ref))?.sha256).toBe(sha256);
    }
  });

  it('a grant takes files of up to its size, and empty ones', async () => {
    const keyPrefix = `${randomUUID()}/`;
    const grant = await store().signUpload('artifacts', keyPrefix, 60, MAX_BYTES);
    expect((await postForm(grant, `${keyPrefix}full`, 'x'.repeat(MAX_BYTES))).status).toBe(204);
    expect((await postForm(grant, `${keyPrefix}empty`, '')).status).toBe(204);
    const { objects } = await store().list('artifacts', keyPrefix);
    expect(objects.map(({ key }) => key.slice(keyPrefix.length))).toEqual(['empty', 'full']);
  });

  it('signatures last 1 second to 7 days, and uploads are bounded by 5 GiB', async () => {
    const ref = { bucket: 'artifacts', key: 'any' } as const;
    for (const seconds of [0, -5, 1.5, 7 * 86_400 + 1]) {
      await expectObjectError(store().signGet(ref, seconds), 'PayloadInvalidError');
      await expectObjectError(store().signUpload('artifacts', 'p/', seconds, 1), 'PayloadInvalidError');
    }
    await store().signGet(ref, 7 * 86_400);
    await expectObjectError(store().signUpload('artifacts', 'p/', 60, 5 * 1_024 ** 3 + 1), 'PayloadInvalidError');
    await expectObjectError(store().signUpload('artifacts', '', 60, 1), 'PayloadInvalidError');
    await expectObjectError(
      store().signUpload('artifacts', 'p/', 60, { maxBytes: 1, sha256: 'AB' }),
      'PayloadInvalidError',
    );
    await expectObjectError(
      store().signUpload('artifacts', 'p/${filename}', 60, { maxBytes: 1, sha256: 'a'.repeat(64) }),
      'PayloadInvalidError',
    );
  });
}

/** The part that a server which checks neither signatures nor policies cannot show. */
export function describeSignatureChecks(harness: () => ArtifactHarness): void {
  const store = (): ArtifactStore => harness().store;

  it('a range in other units than bytes is ignored', async () => {
    const ref = { bucket: 'artifacts', key: randomUUID() } as const;
    await store().put(ref, '0123456789');
    expect((await fetch(await store().signGet(ref, 60), { headers: { range: 'lines=1-2' } })).status).toBe(200);
  });

  it('a grant takes no byte more than its size, and tells an entity tag', async () => {
    const keyPrefix = `${randomUUID()}/`;
    const grant = await store().signUpload('artifacts', keyPrefix, 60, MAX_BYTES);
    const over = await postForm(grant, `${keyPrefix}over`, 'x'.repeat(MAX_BYTES + 1));
    expect([over.status, await over.text()]).toEqual([400, expect.stringContaining('EntityTooLarge')]);
    expect((await store().list('artifacts', keyPrefix)).objects).toEqual([]);
    expect((await postForm(grant, `${keyPrefix}a`, 'x')).headers.get('etag')).not.toBeNull();
  });

  it('a URL with any part changed, taken for another method, or expired gives nothing', async () => {
    const ref = { bucket: 'references', key: `${randomUUID()}/secret` } as const;
    await store().put(ref, 'secret');
    const url = await store().signGet(ref, 10);
    const names = [...new URL(url).searchParams.keys()];
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      const changed = new URL(url);
      const value = changed.searchParams.get(name) ?? '';
      changed.searchParams.set(name, `${value.slice(0, -1)}${value.endsWith('1') ? '2' : '1'}`);
      const response = await fetch(changed);
      expect([400, 403], name).toContain(response.status);
      expect(await response.text()).not.toBe('secret');
    }
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(403);
    expect((await fetch(url)).status).toBe(200);
    await harness().pass(11);
    expect((await fetch(url)).status).toBe(403);
  });

  it('a grant is worth nothing for other keys, with a changed field, extra fields or after its time', async () => {
    const keyPrefix = `${randomUUID()}/mine/`;
    const other = keyPrefix.replace('mine', 'other');
    const grant = await store().signUpload('artifacts', keyPrefix, 10, MAX_BYTES);
    const refused = async (response: Promise<Response>) => expect((await response).status).toBe(403);
    await refused(postForm(grant, `${other}a`, 'x'));
    await refused(postForm(grant, `${keyPrefix}a`, 'x', { acl: 'public-read' }));
    await refused(postForm(grant, `${keyPrefix}a`, 'x', { 'Content-Type': 'text/html' }));
    const [otherGrant] = [await store().signUpload('artifacts', other, 10, MAX_BYTES)];
    await refused(
      postForm({ ...grant, fields: { ...grant.fields, ...pick(otherGrant.fields, 'policy') } }, `${other}a`, 'x'),
    );
    await refused(
      postForm(
        { ...grant, fields: { ...grant.fields, ...pick(otherGrant.fields, 'x-amz-signature') } },
        `${keyPrefix}a`,
        'x',
      ),
    );
    await harness().pass(11);
    await refused(postForm(grant, `${keyPrefix}a`, 'x'));
    expect((await store().list('artifacts', keyPrefix.slice(0, 36))).objects).toEqual([]);
  });

  it('a grant for one hash takes content of that hash only', async () => {
    const key = `${randomUUID()}/file`;
    const sha256 = createHash('sha256').update('content').digest('hex');
    const grant = await store().signUpload('artifacts', key, 60, { maxBytes: MAX_BYTES, sha256 });
    expect((await postForm(grant, key, 'other')).status).toBe(400);
    const own = { 'x-amz-checksum-sha256': createHash('sha256').update('other').digest('base64') };
    expect((await postForm(grant, key, 'other', own)).status).toBe(403);
    expect(await store().head({ bucket: 'artifacts', key })).toBeUndefined();
    expect((await postForm(grant, key, 'content')).status).toBe(204);
    expect((await store().head({ bucket: 'artifacts', key }))?.sha256).toBe(sha256);
  });

  it('a grant for one hash takes it to one key only, not to those that begin with it', async () => {
    const folder = `${randomUUID()}/`;
    const key = `${folder}reference/1`;
    const sha256 = createHash('sha256').update('content').digest('hex');
    const grant = await store().signUpload('artifacts', key, 60, { maxBytes: MAX_BYTES, sha256 });
    expect(grant.keyPrefix).toBe(key);
    for (const other of ['0', '/more', '${filename}', '.json']) {
      expect([other, (await postForm(grant, key + other, 'content')).status]).toEqual([other, 403]);
    }
    expect((await postForm(grant, `${folder}reference/`, 'content')).status).toBe(403);
    expect((await store().list('artifacts', folder)).objects).toEqual([]);
    expect((await postForm(grant, key, 'content')).status).toBe(204);
    expect((await store().list('artifacts', folder)).objects).toMatchObject([{ key }]);
  });
}

function pick(fields: Readonly<Record<string, string>>, name: string): Record<string, string> {
  return { [name]: fields[name] ?? '' };
}
