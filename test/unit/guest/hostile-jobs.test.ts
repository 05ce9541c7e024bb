import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ExecJob, GuestAccount, JobResult } from '#contracts/guest';
import { tier } from '#test/runner/tier';
import { JobsKit, livingPidsOf, testAccount, until, walls } from './guest-kit.ts';

/** Each job of these does what it can to live on, to block the runner or to lie about itself. */
const hostile: readonly { readonly name: string; readonly script: string; readonly expected?: Partial<JobResult> }[] = [
  {
    name: 'clears its environment and starts over in the background',
    script: 'exec env -i /bin/sh -c "(while :; do /bin/sleep 0.05; done) & exit 0"',
  },
  { name: 'forks twice', script: '( (sleep 300 & exec sleep 300) & ) & sleep 0.2; exit 0' },
  { name: 'makes a session of its own', script: 'setsid sleep 300 & setsid -f sleep 300; sleep 0.2; exit 0' },
  {
    name: 'outlives its parent with closed files',
    script: 'setsid -f sh -c "exec <&- >&- 2>&-; while :; do sleep 0.1; done"; sleep 0.2; exit 0',
  },
  {
    name: 'keeps the output open after the command has ended',
    script: 'setsid -f sh -c "while :; do echo still here; sleep 0.05; done"; exit 0',
  },
  {
    name: 'ignores every signal it may ignore',
    script:
      "trap '' TERM HUP INT QUIT USR1; setsid -f sh -c 'while :; do sleep 0.1; done'; while :; do sleep 0.1; done",
    expected: { end: 'wall-limit', exitCode: null },
  },
  {
    name: 'stops itself',
    script: 'kill -STOP $$; sleep 300',
    expected: { end: 'wall-limit', exitCode: null },
  },
  {
    name: 'kills everything it may signal',
    script: '/bin/sh -c "kill -9 -1"; sleep 300',
    expected: { end: 'exited', exitCode: null, signal: 'SIGKILL' },
  },
];

const noExpectation: Partial<JobResult> = { end: 'exited', exitCode: 0 };

tier('isolation')('hostile jobs', () => {
  let kit: JobsKit;
  beforeAll(() => {
    kit = new JobsKit();
  });
  afterAll(() => kit.remove());

  /** The same job behind walls, and as a user of its own without them. */
  function bothWays(script: string, overrides: Partial<ExecJob> = {}): { job: ExecJob; account: GuestAccount }[] {
    return [walls(), { kind: 'none' } as const].map((isolation) => {
      const account = testAccount();
      return { account, job: kit.shell(script, { account, isolation, wallSeconds: 1.5, ...overrides }) };
    });
  }

  async function expectEnd(each: { job: ExecJob; account: GuestAccount }, expected: Partial<JobResult>): Promise<void> {
    const result = await kit.run(each.job);
    expect(result, each.job.isolation.kind).toMatchObject({ ...expected, confirmedDead: true, survivors: 0 });
    expect(livingPidsOf(each.account.uid ?? 0), each.job.isolation.kind).toEqual([]);
    expect(await kit.stop(each.job.jobId, each.account.uid)).toEqual({ confirmedDead: true, survivors: 0 });
  }

  it.each(hostile)('nothing is left of one that $name', async ({ script, expected = noExpectation }) => {
    await Promise.all(bothWays(script).map((each) => expectEnd(each, expected)));
  });

  it('counts a flood of 1 GiB without keeping it', async () => {
    const flood = 'head -c 1073741824 /dev/zero; echo done >&2';
    for (const each of bothWays(flood, { wallSeconds: 60, outputLimitMiB: 1 })) {
      await expectEnd(each, {
        end: 'exited',
        exitCode: 0,
        stdoutBytes: 1_073_741_824,
        stdoutTruncated: true,
        stderrBytes: 5,
      });
    }
  });

  it('survives a fork bomb', async () => {
    const bomb = 'exec prlimit --nproc=150:150 /bin/bash -c "f() { f | f & }; f; while :; do :; done"';
    for (const each of bothWays(bomb)) await expectEnd(each, { end: 'wall-limit' });
  });

  it('cannot reach its supervisor, its result or its neighbours', async () => {
    const [walled, plain] = bothWays('', { wallSeconds: 20 });
    if (walled === undefined || plain === undefined) throw new Error('no jobs');
    for (const { job } of [walled, plain]) {
      const folder = path.join(kit.jobsDir, job.jobId);
      const script = [
        `for i in 1 2 3 4 5; do sleep 0.1; kill -9 $(cat ${folder}/supervisor.pid 2>/dev/null | sed 's/[^0-9]*\\([0-9]*\\).*/\\1/') 2>/dev/null; done`,
        'for pid in $(ls /proc | grep "^[0-9]*$"); do kill -9 "$pid" 2>/dev/null && [ "$pid" != $$ ] && echo "killed $pid"; [ "$pid" = $$ ] && break; done',
        `mkdir -p ${folder} 2>/dev/null; echo '{"end":"exited","exitCode":0}' > ${folder}/result.json && echo forged`,
        `ls ${kit.jobsDir} && echo listed`,
        'exit 5',
      ].join('\n');
      const result = await kit.run({ ...job, argv: ['/bin/bash', '-c', script] });
      expect(result).toMatchObject({ end: 'exited', confirmedDead: true });
      expect(kit.read(job.jobId, 'stdout')).not.toMatch(/forged|listed|killed/);
    }
  });

  it('leaves a tree that stop ends after the supervisor was killed', async () => {
    for (const { job, account } of bothWays('setsid -f sleep 300; sleep 300', { wallSeconds: 60 })) {
      await kit.start(job);
      await until(() => livingPidsOf(account.uid ?? 0).length >= 2);
      const supervisor = JSON.parse(kit.read(job.jobId, 'supervisor.pid')) as { pid: number };
      process.kill(supervisor.pid, 'SIGKILL');
      await until(() => !existsSync(`/proc/${supervisor.pid}/exe`));
      expect(await kit.wait(job.jobId)).toMatchObject({ end: 'runner-lost' });
      expect(await kit.stop(job.jobId, account.uid)).toEqual({ confirmedDead: true, survivors: 0 });
      expect(livingPidsOf(account.uid ?? 0)).toEqual([]);
    }
  });

  it('falls with its walls when the supervisor is killed, even before anybody stops it', async () => {
    const account = testAccount();
    const job = kit.shell('setsid -f sleep 300; sleep 300', { account, isolation: walls(), wallSeconds: 60 });
    await kit.start(job);
    await until(() => livingPidsOf(account.uid ?? 0).length >= 2);
    process.kill((JSON.parse(kit.read(job.jobId, 'supervisor.pid')) as { pid: number }).pid, 'SIGKILL');
    await until(() => livingPidsOf(account.uid ?? 0).length === 0);
  });

  it('has no capability, no way to gain one, and no process of the host in sight', async () => {
    const account = testAccount();
    const script =
      'grep -E "^(Cap|NoNewPrivs)" /proc/self/status; mount -t tmpfs x /mnt 2>&1 | head -1; ls -d /proc/[0-9]* | wc -l';
    const job = kit.shell(script, { account, isolation: walls() });
    await kit.run(job);
    const lines = kit.read(job.jobId, 'stdout').trim().split('\n');
    expect(lines.filter((line) => /^Cap\w+:\s+0+$/.test(line))).toHaveLength(5);
    expect(lines).toContain('NoNewPrivs:\t1');
    expect(Number(lines.at(-1))).toBeLessThan(10);
  });
});
