import { createHash, createHmac } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import { createS3Client } from '#adapters/s3-client';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: SECRET, sessionToken: 'session/token+of=a role' };
const client = createS3Client({ region: 'eu-central-1', credentials });
const buckets = { artifacts: 'exam-artifacts', tasks: 'exam-tasks' };
const store = new S3ArtifactStore({ client, buckets });

afterAll(() => client.destroy());

const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** Signature Version 4 of a text, as AWS documents it. */
function signature(credentialScope: string, text: string): string {
  const [date = '', region = '', service = '', end = ''] = credentialScope.split('/');
  const key = [region, service, end].reduce(hmac, hmac(`AWS4${SECRET}`, date));
  return hmac(key, text).toString('hex');
}

/** Percent-encoding as signatures have it. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/gu, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);

describe('a signed URL', () => {
  it.each(['plain', 'with space & ? # + %2f (1)', 'é/\u{1f600}/ü.txt', 'a//b', "it's!*"])(
    'of key %j is signed over host, key, expiry and session, and nothing else',
    async (key) => {
      const url = new URL(await store.signGet({ bucket: 'artifacts', key }, 900));
      expect(url.host).toBe('exam-artifacts.s3.eu-central-1.amazonaws.com');
      expect(decodeURIComponent(url.pathname)).toBe(`/${key}`);
      const query = Object.fromEntries(url.searchParams);
      expect(Object.keys(query).sort()).toEqual([
        'X-Amz-Algorithm',
        'X-Amz-Content-Sha256',
        'X-Amz-Credential',
        'X-Amz-Date',
        'X-Amz-Expires',
        'X-Amz-Security-Token',
        'X-Amz-Signature',
        'X-Amz-SignedHeaders',
        'x-id',
      ]);
      expect(query).toMatchObject({ 'X-Amz-Expires': '900', 'X-Amz-SignedHeaders': 'host', 'x-id': 'GetObject' });
      const { 'X-Amz-Signature': given, 'X-Amz-Credential': credential = '', ...signed } = query;
      const scope = credential.slice(credential.indexOf('/') + 1);
      const canonicalQuery = Object.entries({ ...signed, 'X-Amz-Credential': credential })
        .map(([name, value]) => `${encode(name)}=${encode(value)}`)
        .sort()
        .join('&');
      const path = key.split('/').map(encode).join('/');
      const request = ['GET', `/${path}`, canonicalQuery, `host:${url.host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join(
        '\n',
      );
      const hash = createHash('sha256').update(request).digest('hex');
      expect(given).toBe(signature(scope, ['AWS4-HMAC-SHA256', query['X-Amz-Date'], scope, hash].join('\n')));
    },
  );
});

describe('an upload form', () => {
  const PolicySchema = z.strictObject({
    expiration: z.iso.datetime(),
    conditions: z.array(z.union([z.array(z.union([z.string(), z.number()])), z.record(z.string(), z.string())])),
  });
  const policyOf = (fields: Readonly<Record<string, string>>) =>
    PolicySchema.parse(JSON.parse(Buffer.from(fields['Policy'] ?? '', 'base64').toString('utf8')));

  /** What S3 lets through: fields that a condition names, and the three that need none. */
  function expectCovered(fields: Readonly<Record<string, string>>): void {
    const exact = policyOf(fields).conditions.flatMap((condition) =>
      Array.isArray(condition) ? [] : Object.entries(condition),
    );
    const posted = Object.entries(fields).filter(([name]) => !['Policy', 'X-Amz-Signature'].includes(name));
    expect(exact.map(([name, value]) => [name.toLowerCase(), value]).sort()).toEqual(
      posted.map(([name, value]) => [name.toLowerCase(), value]).sort(),
    );
  }

  it('is bound to bucket, prefix, size and time, and has a condition for each of its fields', async () => {
    const before = Date.now();
    const { url, fields, keyPrefix } = await store.signUpload('tasks', 'attempts/ü 1/', 600, 5_000);
    expect([url, keyPrefix]).toEqual(['https://exam-tasks.s3.eu-central-1.amazonaws.com/', 'attempts/ü 1/']);
    const { expiration, conditions } = policyOf(fields);
    expect(conditions).toContainEqual({ bucket: 'exam-tasks' });
    expect(conditions).toContainEqual(['starts-with', '$key', 'attempts/ü 1/']);
    expect(conditions).toContainEqual(['content-length-range', 0, 5_000]);
    expect(conditions.filter((condition) => Array.isArray(condition))).toHaveLength(2);
    expect(Date.parse(expiration)).toBeGreaterThan(before + 590_000);
    expect(Date.parse(expiration)).toBeLessThan(before + 700_000);
    expect(fields).not.toHaveProperty('key');
    expect(fields['X-Amz-Security-Token']).toBe(credentials.sessionToken);
    expectCovered(fields);
    const scope = (fields['X-Amz-Credential'] ?? '').replace(/^[^/]*\//u, '');
    expect(fields['X-Amz-Signature']).toBe(signature(scope, fields['Policy'] ?? ''));
  });

  it('for content of one hash names hash and key as conditions, and leaves the key to whoever posts', async () => {
    const sha256 = createHash('sha256').update('content').digest();
    const limit = { maxBytes: 7, sha256: sha256.toString('hex') };
    const { fields, keyPrefix } = await store.signUpload('tasks', 'tasks/t/1', 600, limit);
    expect(fields['x-amz-checksum-sha256']).toBe(sha256.toString('base64'));
    expect(keyPrefix).toBe('tasks/t/1');
    expect(fields).not.toHaveProperty('key');
    const { conditions } = policyOf(fields);
    expect(conditions).toContainEqual({ key: 'tasks/t/1' });
    expect(conditions.filter((condition) => Array.isArray(condition))).toEqual([['content-length-range', 0, 7]]);
    expectCovered({ ...fields, key: 'tasks/t/1' });
  });
});
