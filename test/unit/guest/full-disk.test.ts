import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ProcessKit } from '#test/unit/local/sandboxes/process-kit';
import { tier } from '#test/runner/tier';
import { JobsKit } from './guest-kit.ts';

tier('isolation')('a full disk', () => {
  let kit: JobsKit;
  let disk: string;
  beforeAll(() => {
    kit = new JobsKit();
    disk = path.join(kit.root, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=0700', 'examhall-test', disk]);
    mkdirSync(path.join(disk, 'jobs'));
  });
  afterAll(async () => {
    execFileSync('umount', ['-l', disk]);
    await kit.remove();
  });

  it('cuts the output of a job, and its result is written all the same', async () => {
    const small = Object.assign(new JobsKit(), { jobsDir: path.join(disk, 'jobs') });
    const job = small.shell(`head -c 3000000 /dev/zero; cat /dev/zero > ${disk}/ballast; exit 4`, {
      env: { KEY: 'v-5531' },
    });
    const result = await small.run(job);
    expect(result).toMatchObject({ end: 'exited', exitCode: 4, stdoutBytes: 3_000_000, stdoutTruncated: true });
    expect(statSync(path.join(disk, 'jobs', job.jobId, 'stdout')).size).toBeLessThan(1024 * 1024);
    expect(small.read(job.jobId, 'job.json')).not.toContain('v-5531');
    await expect(small.start(small.shell('true'))).rejects.toThrow(/ENOSPC/);
    execFileSync('rm', ['-rf', small.root]);
  });

  it('is named when a sandbox cannot be made on it', async () => {
    const process = await ProcessKit.open({ root: path.join(disk, 'sandboxes') });
    execFileSync('sh', ['-c', `cat /dev/zero > ${disk}/ballast || :`], { stdio: 'ignore' });
    await expect(process.acquire()).rejects.toMatchObject({ name: 'StorageFullError' });
    await process.remove();
  });

  it('is told apart from one that cannot be written', async () => {
    writeFileSync(path.join(disk, 'ballast'), '');
    execFileSync('mount', ['-o', 'remount,ro', disk]);
    const process = await ProcessKit.open({ root: path.join(disk, 'other') });
    await expect(process.acquire()).rejects.toMatchObject({ name: 'StorageReadOnlyError' });
    await process.remove();
  });
});
