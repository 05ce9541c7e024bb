import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  CompleteMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { S3ArtifactStore } from '#adapters/s3-artifact-store';
import type { ObjectRef } from '#ports/artifact-store';
import { startS3OnMoto, type S3OnMoto } from '#test/emulators/moto-s3';
import { tier } from '#test/runner/tier';

import { expectObjectError } from './artifact-store-expectations.ts';

const MIB = 1_024 * 1_024;

/** Does something once, right before the first request of a kind goes out. */
function beforeFirst(client: S3Client, commandName: string, action: () => Promise<void> | void): void {
  let isDone = false;
  client.middlewareStack.add(
    (next, context) => async (args) => {
      if (!isDone && context.commandName === commandName) {
        isDone = true;
        await action();
      }
      return await next(args);
    },
    { step: 'initialize', name: `before-${randomUUID()}` },
  );
}

tier('moto')('files in parts, on moto', () => {
  const folder = mkdtempSync(join(tmpdir(), 'multipart-'));
  const file = join(folder, 'large');
  const content = randomBytes(12 * MIB + 17);
  const sha256 = createHash('sha256').update(content).digest('hex');
  let s3: S3OnMoto | undefined;
  beforeAll(async () => {
    writeFileSync(file, content);
    s3 = await startS3OnMoto();
  });
  afterAll(async () => {
    await s3?.stop();
    rmSync(folder, { recursive: true });
  });
  const started = (): S3OnMoto => {
    if (s3 === undefined) throw new Error('the emulator did not start');
    return s3;
  };
  const store = (): S3ArtifactStore =>
    new S3ArtifactStore({ client: started().client, buckets: started().buckets, partBytes: 5 * MIB });
  const fresh = (): ObjectRef => ({ bucket: 'artifacts', key: `${randomUUID()}/large` });
  const uploadsLeft = async (): Promise<number> => {
    const command = new ListMultipartUploadsCommand({ Bucket: started().buckets.artifacts });
    return (await started().client.send(command)).Uploads?.length ?? 0;
  };

  it('are one object whose own hash is told and checked, and travels with copies', async () => {
    const [ref, copy, target] = [fresh(), fresh(), join(folder, 'out')];
    const info = { key: ref.key, sizeBytes: content.length, sha256 };
    expect(await store().putFile(ref, file, { sha256, contentType: 'text/plain' })).toEqual(info);
    expect(await store().head(ref)).toEqual(info);
    expect(await store().getFile(ref, target)).toEqual(info);
    expect(Buffer.compare(readFileSync(target), content)).toBe(0);
    expect(await store().copy(ref, copy)).toEqual({ ...info, key: copy.key });
    expect(await store().head(copy)).toEqual({ ...info, key: copy.key });
    const head = await started().client.send(
      new HeadObjectCommand({ Bucket: started().buckets.artifacts, Key: ref.key }),
    );
    expect([head.ContentType, head.ETag]).toEqual(['text/plain', expect.stringMatching(/-3"$/u)]);
  });

  it('take an absent key only, also when another takes it while they go up, and leave no parts', async () => {
    const ref = fresh();
    await store().put(ref, 'first');
    await expectObjectError(store().putFile(ref, file, { ifAbsent: true }), 'ObjectExistsError');
    const raced = fresh();
    beforeFirst(started().client, UploadPartCommand.name, async () => {
      await store().put(raced, 'another');
    });
    await expectObjectError(store().putFile(raced, file, { ifAbsent: true }), 'ObjectExistsError');
    expect(Buffer.from(await store().get(raced)).toString()).toBe('another');
    expect(await uploadsLeft()).toBe(0);
    const free = fresh();
    expect(await store().putFile(free, file, { ifAbsent: true })).toMatchObject({ sha256 });
  });

  it('that change while they go up are not stored', async () => {
    const changing = join(folder, 'changing');
    for (const size of [content.length, content.length - MIB]) {
      writeFileSync(changing, content);
      const ref = fresh();
      beforeFirst(started().client, 'CreateMultipartUploadCommand', () => {
        writeFileSync(changing, randomBytes(size));
      });
      const error = await expectObjectError(store().putFile(ref, changing), 'ChecksumMismatchError');
      expect(error.details).toEqual({ path: changing });
      expect(await store().head(ref)).toBeUndefined();
    }
    expect(await uploadsLeft()).toBe(0);
  });

  it('of another hash than announced are refused before anything goes up', async () => {
    const ref = fresh();
    let requests = 0;
    beforeFirst(started().client, 'CreateMultipartUploadCommand', () => {
      requests += 1;
    });
    await expectObjectError(store().putFile(ref, file, { sha256: '0'.repeat(64) }), 'ChecksumMismatchError');
    expect([requests, await store().head(ref)]).toEqual([0, undefined]);
  });

  it('whose completion did its work and lost its answer are stored once, and that is told as success', async () => {
    const ref = fresh();
    let completions = 0;
    started().client.middlewareStack.add(
      (next, context) => async (args) => {
        const answer = await next(args);
        if (context.commandName !== CompleteMultipartUploadCommand.name || completions > 0) return answer;
        completions += 1;
        throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
      },
      { step: 'initialize', name: 'lose-answer' },
    );
    expect(await store().putFile(ref, file, { ifAbsent: true })).toMatchObject({ sha256 });
    started().client.middlewareStack.remove('lose-answer');
    expect(completions).toBe(1);
    expect((await store().head(ref))?.sha256).toBe(sha256);
    expect(await uploadsLeft()).toBe(0);
  });
});
