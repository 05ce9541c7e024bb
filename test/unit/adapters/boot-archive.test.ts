import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createBootArchive, type BootArchiveOptions } from '#adapters/boot-archive';

const folder = mkdtempSync(path.join(tmpdir(), 'examhall-boot-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const content = 'runner and recipes';
const sha256 = createHash('sha256').update(content).digest('hex');
const key = `boot/${sha256}/boot.tar.gz`;
const file = path.join(folder, 'boot.tar.gz');
writeFileSync(file, content);

/** A bucket that counts. */
class Bucket {
  readonly held = new Map<string, string>();
  readonly asked: string[] = [];
  readonly store: BootArchiveOptions['artifacts'] = {
    head: ({ key: name }) => {
      this.asked.push('head');
      const found = this.held.get(name);
      return Promise.resolve(
        found === undefined ? undefined : { key: name, sizeBytes: found.length, sha256: sha(found) },
      );
    },
    put: ({ bucket, key: name }, body, options) => {
      this.asked.push('put');
      const text = Buffer.from(body).toString('utf8');
      expect([bucket, options?.sha256]).toEqual(['tasks', sha(text)]);
      this.held.set(name, text);
      return Promise.resolve({ key: name, sizeBytes: text.length, sha256: sha(text) });
    },
    signGet: ({ bucket, key: name }, seconds) => {
      this.asked.push('sign');
      return Promise.resolve(`https://${bucket}/${name}?for=${String(seconds)}`);
    },
  };
}
const sha = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('the boot archive', () => {
  it('is put below its own hash once, and signed anew for each machine', async () => {
    const bucket = new Bucket();
    const boot = createBootArchive({ artifacts: bucket.store, file });
    const first = await boot.archive();
    expect(first).toEqual({ url: `https://tasks/${key}?for=3600`, sha256 });
    expect(await boot.archive()).toEqual(first);
    expect(bucket.held.get(key)).toBe(content);
    expect(bucket.asked).toEqual(['head', 'put', 'sign', 'sign']);
  });

  it('is not put again by another function that finds it there', async () => {
    const bucket = new Bucket();
    await createBootArchive({ artifacts: bucket.store, file }).archive();
    bucket.asked.length = 0;
    await createBootArchive({ artifacts: bucket.store, file }).archive();
    expect(bucket.asked).toEqual(['head', 'sign']);
  });

  it('is put by the next call when the first could not', async () => {
    const bucket = new Bucket();
    let failures = 1;
    const put: BootArchiveOptions['artifacts']['put'] = async (...args) => {
      failures -= 1;
      if (failures >= 0) throw new Error('no connection');
      return await bucket.store.put(...args);
    };
    const boot = createBootArchive({ artifacts: { ...bucket.store, put }, file });
    await expect(boot.archive()).rejects.toThrow('no connection');
    expect((await boot.archive()).sha256).toBe(sha256);
  });

  it('that was not deployed is told by its path', async () => {
    const boot = createBootArchive({ artifacts: new Bucket().store, file: path.join(folder, 'absent.tar.gz') });
    await expect(boot.archive()).rejects.toMatchObject({
      name: 'ProvisionFailedError',
      message: expect.stringContaining('absent.tar.gz; deploy again') as string,
    });
  });
});
