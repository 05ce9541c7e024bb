import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

import type { RetryPolicy } from '#adapters/retry-policy';
import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import { createS3RunTree } from '#adapters/s3-run-tree';

import { expectObjectError } from './artifact-store-expectations.ts';

const MIB = 1_024 * 1_024;
const REF = { bucket: 'artifacts', key: 'a/b' } as const;
const answer = (name: string, httpStatusCode: number): S3ServiceException =>
  new S3ServiceException({ name, message: 'told', $fault: 'client', $metadata: { httpStatusCode, attempts: 1 } });
const lost = (): Error => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });

const wire = mockClient(S3Client);
const delays: number[] = [];
const policy: RetryPolicy = {
  tries: 4,
  baseDelayMs: 100,
  maxDelayMs: 250,
  sleep: async (milliseconds) => {
    delays.push(milliseconds);
  },
  random: () => 0.5,
};
const client = new S3Client({ region: 'us-east-1' });
const store = new S3ArtifactStore({ client, buckets: { artifacts: 'a-bucket' }, policy, partBytes: 5 * MIB });
const tree = createS3RunTree({ client, bucket: 'a-bucket', policy });
const folder = mkdtempSync(join(tmpdir(), 's3-trouble-'));
const large = join(folder, 'large');
writeFileSync(large, Buffer.alloc(11 * MIB, 7));

beforeEach(() => {
  wire.reset();
  delays.length = 0;
});
afterAll(() => rmSync(folder, { recursive: true }));

const bodyOf = (text: string): { readonly transformToByteArray: () => Promise<Uint8Array> } => ({
  transformToByteArray: async () => Buffer.from(text),
});

describe('S3ArtifactStore when S3 is in trouble', () => {
  it('tells a refusal as one, with the rights that may lack, and never as a missing object', async () => {
    wire.on(HeadObjectCommand).rejects(answer('403', 403));
    wire.on(GetObjectCommand).rejects(answer('AccessDenied', 403));
    const refused = {
      name: 'AccessDenied',
      message: expect.stringMatching(/S3 refused ".+" of bucket artifacts .*s3:ListBucket on the bucket/u) as string,
    };
    await expect(store.head(REF)).rejects.toMatchObject(refused);
    await expect(store.get(REF)).rejects.toMatchObject(refused);
    await expect(tree.appendEvent('u/r', '{}')).rejects.toMatchObject(refused);
    expect(wire.commandCalls(PutObjectCommand)).toHaveLength(0);
    wire.on(GetObjectCommand).rejects(answer('SignatureDoesNotMatch', 403));
    await expect(store.get(REF)).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' });
  });

  it('tries again with growing random waits when throttled, in conflict or cut off, and then succeeds', async () => {
    wire
      .on(PutObjectCommand)
      .rejectsOnce(answer('SlowDown', 503))
      .rejectsOnce(answer('ConditionalRequestConflict', 409))
      .rejectsOnce(lost())
      .resolves({});
    await store.put(REF, 'x', { ifAbsent: true });
    expect(wire.calls()).toHaveLength(4);
    expect(delays).toEqual([50, 100, 125]);
  });

  it('gives up as StoreUnavailableError, with the last answer as its cause', async () => {
    const last = answer('SlowDown', 503);
    wire.on(HeadObjectCommand).rejects(last);
    const error = await expectObjectError(store.head(REF), 'StoreUnavailableError');
    expect(error).toMatchObject({ retryable: true, cause: last });
    expect(error.message).toMatch(/bucket artifacts .*"a\/b" in 4 tries.*SlowDown: told; try again later/u);
  });

  it('does not repeat what can never succeed, and keeps the error that S3 gave', async () => {
    const denied = answer('AccessDenied', 403);
    wire.on(GetObjectCommand).rejects(denied);
    await expect(store.get(REF)).rejects.toMatchObject({ name: 'AccessDenied', cause: denied });
    expect(wire.calls()).toHaveLength(1);
  });

  it('tells content that S3 found damaged by name', async () => {
    wire.on(PutObjectCommand).rejects(answer('BadDigest', 400));
    await expectObjectError(store.put(REF, 'x'), 'ChecksumMismatchError');
  });

  it('sends the hash for S3 to check and to keep', async () => {
    wire.on(PutObjectCommand).resolves({});
    await store.put(REF, 'x');
    const sha256 = createHash('sha256').update('x');
    const hash = sha256.digest();
    expect(wire.commandCalls(PutObjectCommand)[0]?.args[0].input).toMatchObject({
      Bucket: 'a-bucket',
      ChecksumSHA256: hash.toString('base64'),
      Metadata: { sha256: hash.toString('hex') },
    });
  });

  it('takes a failed condition on its own write for the success whose answer was lost, and on another for what it is', async () => {
    let writeId = '';
    wire
      .on(PutObjectCommand)
      .callsFakeOnce((input: { Metadata: Record<string, string> }) => {
        writeId = input.Metadata['write-id'] ?? '';
        throw lost();
      })
      .rejects(answer('PreconditionFailed', 412));
    const head = { ETag: '"e"', ContentLength: 1 };
    wire.on(HeadObjectCommand).callsFake(() => ({ ...head, Metadata: { 'write-id': writeId } }));
    await store.put(REF, 'x', { ifAbsent: true });
    wire.on(HeadObjectCommand).resolves({ ...head, Metadata: { 'write-id': 'other' } });
    await expectObjectError(store.put(REF, 'x', { ifAbsent: true }), 'ObjectExistsError');
    wire.on(HeadObjectCommand).rejects(answer('Forbidden', 403));
    await expectObjectError(store.put(REF, 'x', { ifAbsent: true }), 'ObjectExistsError');
  });

  it('reads the version it was told of, and begins again when another came between', async () => {
    wire
      .on(HeadObjectCommand)
      .resolvesOnce({ ETag: '"1"', ContentLength: 1 })
      .resolves({
        ETag: '"2"',
        ContentLength: 3,
        Metadata: { sha256: 'f'.repeat(64) },
      });
    wire.on(CopyObjectCommand).rejectsOnce(answer('PreconditionFailed', 412)).resolves({ CopyObjectResult: {} });
    const copied = await store.copy(REF, { ...REF, key: 'ü ?' });
    expect(copied).toEqual({ key: 'ü ?', sizeBytes: 3, sha256: 'f'.repeat(64) });
    const inputs = wire.commandCalls(CopyObjectCommand).map((call) => call.args[0].input.CopySourceIfMatch);
    expect(inputs).toEqual(['"1"', '"2"']);
  });

  it('does not take a checksum over parts for the hash of the content, and reads the content when it knows none', async () => {
    const parts = Buffer.alloc(32).toString('base64');
    const content = () => ({ Body: Readable.from([Buffer.from('con'), Buffer.from('tent')]) as never });
    wire.on(GetObjectCommand).callsFake(content);
    for (const [ETag, ChecksumSHA256] of [
      ['"e"', `${parts}-3`],
      ['"e-3"', parts],
      ['"e"', undefined],
    ]) {
      wire.on(HeadObjectCommand).resolves({ ETag: ETag ?? '', ContentLength: 7, ChecksumSHA256 });
      expect((await store.head(REF))?.sha256).toBe(createHash('sha256').update('content').digest('hex'));
    }
    expect(wire.commandCalls(GetObjectCommand)).toHaveLength(3);
    wire.on(HeadObjectCommand).resolves({ ETag: '"e"', ContentLength: 7, ChecksumSHA256: parts });
    expect((await store.head(REF))?.sha256).toBe('0'.repeat(64));
  });

  it('knows only the buckets it was told', async () => {
    const error = await expectObjectError(store.head({ bucket: 'references', key: 'a' }), 'EnvironmentInvalidError');
    expect(error.message).toContain('named to this function are: artifacts');
    expect(wire.calls()).toEqual([]);
  });
});

describe('an upload in parts when S3 is in trouble', () => {
  const begin = (): void => {
    let made = 0;
    wire.on(CreateMultipartUploadCommand).callsFake(() => ({ UploadId: `u${String((made += 1))}` }));
    wire.on(UploadPartCommand).resolves({ ETag: '"p"' });
    wire.on(AbortMultipartUploadCommand).resolves({});
    wire.on(HeadObjectCommand).rejects(answer('NotFound', 404));
  };
  const aborted = () => wire.commandCalls(AbortMultipartUploadCommand).map((call) => call.args[0].input.UploadId);

  it('is aborted when a part cannot be sent, and no part is sent behind the abort', async () => {
    begin();
    const denied = answer('AccessDenied', 403);
    wire.on(UploadPartCommand, { PartNumber: 2 }).rejects(denied);
    await expect(store.putFile(REF, large)).rejects.toMatchObject({ name: 'AccessDenied', cause: denied });
    expect(aborted()).toEqual(['u1']);
    expect(wire.calls().at(-1)?.args[0]).toBeInstanceOf(AbortMultipartUploadCommand);
    expect(wire.commandCalls(CompleteMultipartUploadCommand)).toEqual([]);
  });

  it('tells its own error when even the abort fails', async () => {
    begin();
    const denied = answer('AccessDenied', 403);
    wire.on(UploadPartCommand).rejects(denied);
    wire.on(AbortMultipartUploadCommand).rejects(answer('NoSuchUpload', 404));
    await expect(store.putFile(REF, large)).rejects.toMatchObject({ name: 'AccessDenied', cause: denied });
  });

  it('sends a part again that was throttled, each with its own hash', async () => {
    begin();
    wire.on(UploadPartCommand, { PartNumber: 3 }).rejectsOnce(answer('SlowDown', 503)).resolves({ ETag: '"p3"' });
    wire.on(CompleteMultipartUploadCommand).resolves({});
    await store.putFile(REF, large);
    const [completion] = wire.commandCalls(CompleteMultipartUploadCommand);
    const sum = (mebibytes: number) =>
      createHash('sha256')
        .update(Buffer.alloc(mebibytes * MIB, 7))
        .digest('base64');
    expect(completion?.args[0].input.MultipartUpload?.Parts).toEqual([
      { PartNumber: 1, ETag: '"p"', ChecksumSHA256: sum(5) },
      { PartNumber: 2, ETag: '"p"', ChecksumSHA256: sum(5) },
      { PartNumber: 3, ETag: '"p3"', ChecksumSHA256: sum(1) },
    ]);
    expect(aborted()).toEqual([]);
  });

  it('is made anew with all its parts when its completion met another', async () => {
    begin();
    wire
      .on(CompleteMultipartUploadCommand)
      .rejectsOnce(answer('ConditionalRequestConflict', 409))
      .rejectsOnce(answer('InternalError', 500))
      .resolves({});
    await store.putFile(REF, large, { ifAbsent: true });
    expect(aborted()).toEqual(['u1']);
    expect(wire.commandCalls(UploadPartCommand)).toHaveLength(6);
    const completions = wire.commandCalls(CompleteMultipartUploadCommand).map((call) => call.args[0].input);
    expect(completions.map(({ UploadId, IfNoneMatch }) => [UploadId, IfNoneMatch])).toEqual([
      ['u1', '*'],
      ['u2', '*'],
      ['u2', '*'],
    ]);
  });
});

describe('an event of the run tree when S3 is in trouble', () => {
  const lines = (): readonly (string | undefined)[] =>
    wire.commandCalls(PutObjectCommand).map((call) => Buffer.from(call.args[0].input.Body as Uint8Array).toString());

  it('is added to what another wrote in between', async () => {
    wire
      .on(GetObjectCommand)
      .resolvesOnce({ ETag: '"1"', Body: bodyOf('a\n') as never })
      .resolves({ ETag: '"2"', Body: bodyOf('a\nb\n') as never });
    wire.on(PutObjectCommand).rejectsOnce(answer('PreconditionFailed', 412)).resolves({});
    await tree.appendEvent('u/r', 'c');
    expect(lines()).toEqual(['a\nc\n', 'a\nb\nc\n']);
    const conditions = wire.commandCalls(PutObjectCommand).map((call) => call.args[0].input.IfMatch);
    expect(conditions).toEqual(['"1"', '"2"']);
  });

  it('is not added twice when its first writing lost its answer', async () => {
    wire
      .on(GetObjectCommand)
      .rejectsOnce(answer('NoSuchKey', 404))
      .resolves({ ETag: '"2"', Body: bodyOf('c\nd\n') as never });
    wire.on(PutObjectCommand).rejectsOnce(lost()).rejectsOnce(answer('PreconditionFailed', 412)).resolves({});
    await tree.appendEvent('u/r', 'c');
    expect(lines()).toEqual(['c\n', 'c\n']);
    expect(wire.commandCalls(PutObjectCommand)[0]?.args[0].input.IfNoneMatch).toBe('*');
  });

  it("is added when another's line of the same words came between and no answer was lost", async () => {
    wire
      .on(GetObjectCommand)
      .rejectsOnce(answer('NoSuchKey', 404))
      .resolves({ ETag: '"2"', Body: bodyOf('c\n') as never });
    wire.on(PutObjectCommand).rejectsOnce(answer('PreconditionFailed', 412)).resolves({});
    await tree.appendEvent('u/r', 'c');
    expect(lines().at(-1)).toBe('c\nc\n');
  });
});
