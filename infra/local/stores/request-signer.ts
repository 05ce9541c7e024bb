import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

import * as z from 'zod';

import type { UploadGrant } from '#contracts/guest';
import { checkExpiry, checkObjectKey, checkUploadTerms } from '#core/object-rules';
import type { Bucket, ObjectRef, UploadLimit } from '#ports/artifact-store';

import { RequestRefusal } from './request-refusal.ts';

const ALGORITHM = 'AWS4-HMAC-SHA256';
/** Fields that a form may always have; every other one must appear in the policy. */
const FREE_FIELDS = new Set(['policy', 'x-amz-signature', 'file']);

const BucketSchema = z.enum(['artifacts', 'tasks', 'references']);
const PolicySchema = z.strictObject({
  expiration: z.iso.datetime(),
  conditions: z.array(
    z.union([
      z.tuple([z.literal('starts-with'), z.string().startsWith('$'), z.string()]),
      z.tuple([z.literal('content-length-range'), z.int(), z.int()]),
      z.record(z.string(), z.string()),
    ]),
  ),
});
type Policy = z.infer<typeof PolicySchema>;

/** Makes and checks signed URLs and upload policies. Its key is made anew in every process and leaves it never. */
export class RequestSigner {
  readonly #key = randomBytes(32);
  readonly #baseUrl: () => string;
  readonly #now: () => number;

  /** `baseUrl` is asked at each signature, so that the server may start later; `now` is in milliseconds. */
  constructor(baseUrl: () => string, now: () => number) {
    this.#baseUrl = baseUrl;
    this.#now = now;
  }

  /** The key is a parameter and not a path, because clients rewrite paths. */
  signUrl(method: 'GET' | 'HEAD', ref: ObjectRef, expiresInSeconds: number): string {
    checkObjectKey(ref.key);
    checkExpiry(expiresInSeconds);
    const expires = String(Math.floor(this.#now() / 1_000) + expiresInSeconds);
    const signature = this.#sign(['url', method, ref.bucket, ref.key, expires]);
    const query = new URLSearchParams({ key: ref.key, expires, signature });
    return `${this.#baseUrl()}/${ref.bucket}?${query.toString()}`;
  }

  /** The object that a request may have. @throws RequestRefusal */
  checkUrl(method: string, url: URL): ObjectRef {
    const bucket = parseBucket(url);
    const read = (name: string): string => url.searchParams.get(name) ?? '';
    const [key, expires, signature] = [read('key'), read('expires'), read('signature')];
    if (!this.#isSigned(['url', method, bucket, key, expires], signature)) {
      throw new RequestRefusal(
        403,
        'SignatureDoesNotMatch',
        'the signature does not fit the method, bucket, key and time',
      );
    }
    if (this.#now() >= Number(expires) * 1_000) throw new RequestRefusal(403, 'AccessDenied', 'Request has expired');
    return { bucket, key };
  }

  signUpload(bucket: Bucket, keyPrefix: string, expiresInSeconds: number, limit: UploadLimit): UploadGrant {
    const { maxBytes, sha256 } = checkUploadTerms(keyPrefix, expiresInSeconds, limit);
    const checksum: Record<string, string> =
      sha256 === undefined ? {} : { 'x-amz-checksum-sha256': Buffer.from(sha256, 'hex').toString('base64') };
    const document: Policy = {
      expiration: new Date(this.#now() + expiresInSeconds * 1_000).toISOString(),
      conditions: [
        { bucket },
        sha256 === undefined ? ['starts-with', '$key', keyPrefix] : { key: keyPrefix },
        ['content-length-range', 0, maxBytes],
        { 'x-amz-algorithm': ALGORITHM, ...checksum },
      ],
    };
    const policy = Buffer.from(JSON.stringify(document), 'utf8').toString('base64');
    const signature = this.#sign(['policy', policy]);
    const fields = { 'x-amz-algorithm': ALGORITHM, ...checksum, policy, 'x-amz-signature': signature };
    return { url: `${this.#baseUrl()}/${bucket}`, fields, keyPrefix };
  }

  /** What a form may store, by its policy; field names are lower-case. @throws RequestRefusal */
  checkForm(url: URL, fields: ReadonlyMap<string, string>): { readonly ref: ObjectRef; readonly maxBytes: number } {
    const bucket = parseBucket(url);
    const policy = fields.get('policy') ?? '';
    if (!this.#isSigned(['policy', policy], fields.get('x-amz-signature') ?? '')) {
      throw new RequestRefusal(403, 'SignatureDoesNotMatch', 'the form is not signed, or its policy was changed');
    }
    const document = parsePolicy(policy);
    if (this.#now() >= Date.parse(document.expiration)) {
      throw new RequestRefusal(403, 'AccessDenied', 'Invalid according to Policy: Policy expired.');
    }
    const key = fields.get('key') ?? '';
    if (key === '') throw new RequestRefusal(400, 'InvalidArgument', "Bucket POST must contain a field named 'key'");
    return { ref: { bucket, key }, maxBytes: checkConditions(document, new Map(fields).set('bucket', bucket)) };
  }

  #sign(parts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(parts)).digest('hex');
  }

  #isSigned(parts: readonly string[], signature: string): boolean {
    const wanted = Buffer.from(this.#sign(parts), 'utf8');
    const given = Buffer.from(signature, 'utf8');
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  }
}

function parseBucket(url: URL): Bucket {
  const found = BucketSchema.safeParse(url.pathname.slice(1));
  if (found.success) return found.data;
  throw new RequestRefusal(404, 'NoSuchBucket', 'The specified bucket does not exist');
}

function parsePolicy(policy: string): Policy {
  try {
    return PolicySchema.parse(JSON.parse(Buffer.from(policy, 'base64').toString('utf8')));
  } catch {
    throw new RequestRefusal(400, 'InvalidPolicyDocument', 'the policy is not one of this server');
  }
}

/** Every condition must hold, and every field must have one. Returns the bound on the file's size. */
function checkConditions(policy: Policy, fields: ReadonlyMap<string, string>): number {
  const covered = new Set(FREE_FIELDS);
  let maxBytes = 0;
  for (const condition of policy.conditions) {
    if (!Array.isArray(condition)) {
      for (const [name, value] of Object.entries(condition)) {
        covered.add(name);
        if (fields.get(name) !== value) throw denied(`Policy Condition failed: ["eq", "$${name}", "${value}"]`);
      }
    } else if (condition[0] === 'starts-with') {
      const name = condition[1].slice(1).toLowerCase();
      covered.add(name);
      if (!(fields.get(name) ?? '').startsWith(condition[2])) {
        throw denied(`Policy Condition failed: ${JSON.stringify(condition)}`);
      }
    } else {
      maxBytes = condition[2];
    }
  }
  const extra = [...fields.keys()].filter((name) => !covered.has(name) && !name.startsWith('x-ignore-'));
  if (extra.length > 0) throw denied(`Extra input fields: ${extra.join(', ')}`);
  return maxBytes;
}

function denied(what: string): RequestRefusal {
  return new RequestRefusal(403, 'AccessDenied', `Invalid according to Policy: ${what}`);
}
