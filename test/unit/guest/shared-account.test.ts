import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { GuestAccount, GuestIsolation } from '#contracts/guest';
import { makeGroup, removeGroup } from '#guest/job-cgroup';
import { tier } from '#test/runner/tier';
import { JobsKit, livingPidsOf, testAccount, until } from './guest-kit.ts';

const SHARED: GuestIsolation = { kind: 'none', keepsDesktop: true };

tier('isolation')('the account of a desktop', () => {
  let kit: JobsKit;
  let account: GuestAccount & { uid: number };
  let desktop: number;
  beforeEach(async () => {
    kit = new JobsKit();
    const { uid, ...rest } = testAccount();
    account = { ...rest, uid: uid ?? 0 };
    // What stands for the screen and its server.
    const child = spawn('sleep', ['600'], { uid: account.uid, gid: account.uid, stdio: 'ignore', detached: true });
    await once(child, 'spawn');
    desktop = child.pid ?? 0;
  });
  afterEach(async () => {
    await kit.stop('job-1', account.uid);
    await kit.remove();
  });

  const others = (): number[] => livingPidsOf(account.uid).filter((pid) => pid !== desktop);

  it('goes on when a job of it ends, and nothing of the job does', async () => {
    const script =
      'setsid sh -c "sleep 600 & sleep 600" > /dev/null 2>&1 < /dev/null & (sleep 601 &) ; sleep 0.2; exit 3';
    const result = await kit.run(kit.shell(script, { account, isolation: SHARED }));
    expect(result).toMatchObject({ end: 'exited', exitCode: 3, confirmedDead: true, survivors: 0 });
    expect(livingPidsOf(account.uid)).toEqual([desktop]);
  });

  it('goes on at the wall limit of a job, and ends with a stop', async () => {
    const job = kit.shell('sleep 600', { account, isolation: SHARED, wallSeconds: 0.5 });
    expect(await kit.run(job)).toMatchObject({ end: 'wall-limit', confirmedDead: true });
    expect(livingPidsOf(account.uid)).toEqual([desktop]);
    expect(await kit.stop(job.jobId, account.uid)).toEqual({ confirmedDead: true, survivors: 0 });
    expect(livingPidsOf(account.uid)).toEqual([]);
  });

  it('ends with every job that has no word of a desktop', async () => {
    await kit.run(kit.shell('true', { account }));
    expect(livingPidsOf(account.uid)).toEqual([]);
  });

  it('a process that leaves parent, group and session at once is found by its control group, or by the stop', async () => {
    // Double fork with a new session each: nothing in the process table leads back to the job.
    const script =
      'setsid setsid sh -c "setsid sleep 600 &" > /dev/null 2>&1 < /dev/null; setsid -f setsid -f sleep 601';
    const job = kit.shell(script, { account, isolation: SHARED });
    expect(await kit.run(job)).toMatchObject({ end: 'exited', confirmedDead: true });
    if (hasGroups()) expect(others()).toEqual([]);
    expect(await kit.stop(job.jobId, account.uid)).toEqual({ confirmedDead: true, survivors: 0 });
    expect(livingPidsOf(account.uid)).toEqual([]);
  });

  it('keeps no group of a job that has ended', async () => {
    const groups = (): readonly string[] => (existsSync(groupsFolder()) ? readdirSync(groupsFolder()) : []);
    const before = groups().length;
    const job = kit.shell('sleep 600', { account, isolation: SHARED });
    await kit.start(job);
    await until(() => others().length > 0);
    expect(await kit.stop(job.jobId)).toEqual({ confirmedDead: true, survivors: 0 });
    await kit.wait(job.jobId);
    expect(groups().length).toBeLessThanOrEqual(before);
  });

  it('may gain privileges in its jobs only where it is told to', async () => {
    const look = 'grep NoNewPrivs /proc/self/status';
    await kit.run(kit.shell(look, { jobId: 'held', account, isolation: SHARED }));
    await kit.run(kit.shell(look, { jobId: 'free', account, isolation: { ...SHARED, allowsSudo: true } }));
    expect(kit.read('held', 'stdout')).toMatch(/NoNewPrivs:\s+1/);
    expect(kit.read('free', 'stdout')).toMatch(/NoNewPrivs:\s+0/);
  });
});

function groupsFolder(): string {
  const made = makeGroup('test-probe');
  if (made === null) return '';
  removeGroup(made);
  return path.dirname(made);
}

function hasGroups(): boolean {
  return groupsFolder() !== '';
}
