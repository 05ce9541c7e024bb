import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withFate } from '#core/teardown';
import { sleepJob } from '#test/contract/channel-suite';
import { sandboxSpec } from '#test/fakes/sandbox';
import { tier } from '#test/runner/tier';
import { livingPidsOf, until } from '#test/unit/guest/guest-kit';
import { ProcessKit } from './process-kit.ts';

describe('the process provider on any computer', () => {
  let kit: ProcessKit;
  beforeAll(async () => {
    kit = await ProcessKit.open({ withoutWalls: 'asked for by the test' });
  });
  afterAll(() => kit.remove());

  it.each([
    ['os windows', { os: 'windows' }],
    ['a GPU', { gpu: true }],
    ['network sealed', { network: 'sealed' }],
    ['privilege upstream', { privilege: 'upstream' }],
    ['the settings cpus, image', { knobs: { image: 'x', cpus: 2 } }],
  ] as const)('refuses %s by name and makes nothing', async (wish, overrides) => {
    await expect(kit.acquire(overrides)).rejects.toMatchObject({
      name: 'SandboxRefusedError',
      blame: 'caller',
      message: expect.stringContaining(wish) as string,
    });
    expect((await kit.provider.list()).sandboxes).toEqual([]);
  });

  it('says that nothing is walled in, and why', async () => {
    const sandbox = await kit.acquire();
    expect(sandbox.isolation).toEqual({ kind: 'none', network: 'host', reason: 'asked for by the test' });
    expect(sandbox.agent).toBeNull();
    expect(statSync(sandbox.paths.dataRoot).isDirectory()).toBe(true);
    expect(statSync(sandbox.paths.workRoot).isDirectory()).toBe(true);
    const [answer] = await kit.channel.call(
      sandbox,
      [{ command: 'run_command', params: { command: 'echo $HOME; pwd' } }],
      20,
    );
    expect(answer).toMatchObject({ stdout: `${path.dirname(sandbox.paths.workRoot)}\n`.repeat(2) });
    await kit.provider.release(sandbox, 'delete');
  });

  it('is gone, and not left, when its folder was gone before it could be left on purpose', async () => {
    const sandbox = await kit.acquire();
    rmSync(sandbox.endpoint ?? '', { recursive: true });
    for (const resources of [[], sandbox.resources]) {
      const report = await kit.provider.release({ ...sandbox, resources }, 'keep');
      expect(report).toEqual(expect.arrayContaining([...withFate(resources, 'gone')]));
      expect(report.map(({ fate }) => fate)).not.toContain('set-aside');
    }
  });

  it('ends running jobs with their sandbox', async () => {
    const sandbox = await kit.acquire();
    const job = sleepJob(300);
    await kit.channel.start(sandbox, job);
    expect(await kit.provider.release(sandbox, 'stop')).toEqual(withFate(sandbox.resources, 'set-aside'));
    expect(await kit.channel.status(sandbox, job.jobId)).toMatchObject({
      result: { end: 'stopped', confirmedDead: true },
    });
    await expect(kit.channel.start(sandbox, sleepJob(1))).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    await kit.provider.release(sandbox, 'delete');
    await expect(kit.channel.start(sandbox, sleepJob(1))).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    expect(existsSync(sandbox.endpoint ?? '')).toBe(false);
  });

  it.each([
    ['echo first; echo second; sleep 300', 'first', 'running'],
    ['printf "no end"; echo trouble >&2; exit 3', null, 'finished'],
    ['head -c 5000 /dev/zero | tr "\\0" x; sleep 300', 'x'.repeat(4096), 'running'],
  ])('hands over the first line of %s', async (script, line, state) => {
    const sandbox = await kit.acquire();
    const job = sleepJob(0, { argv: ['/bin/sh', '-c', script], as: 'runner' });
    await kit.channel.start(sandbox, job);
    const said = await kit.channel.firstLine(sandbox, job.jobId, 20);
    expect(said).toMatchObject({ line, status: { state } });
    expect(said.stderr).toBe(state === 'finished' ? 'trouble\n' : '');
    await expect(kit.channel.firstLine(sandbox, 'never~run', 1)).rejects.toMatchObject({
      name: 'ChannelUnavailableError',
    });
    await kit.provider.release(sandbox, 'delete');
  });

  it('lists in pages, and a folder whose maker died at once with no time left', async () => {
    const folder = path.join(kit.root, 'sandboxes');
    const ids = Array.from({ length: 103 }, (_, index) => `sbx-${String(index).padStart(20, '0')}`);
    for (const id of ids) mkdirSync(path.join(folder, id));
    mkdirSync(path.join(folder, 'somebody-elses'));
    const first = await kit.provider.list();
    const second = await kit.provider.list(first.cursor);
    expect(first.sandboxes).toHaveLength(100);
    expect([...first.sandboxes, ...second.sandboxes].map((each) => each.sandboxId)).toEqual(ids);
    expect(second).toMatchObject({ sandboxes: [{ state: 'pending', expiresAt: '1970-01-01T00:00:00.000Z' }, {}, {}] });
    expect(second.cursor).toBeUndefined();
    for (const id of ids) rmSync(path.join(folder, id), { recursive: true });
    expect(readdirSync(folder)).toEqual(['somebody-elses']);
    rmSync(path.join(folder, 'somebody-elses'), { recursive: true });
  });
});

tier('isolation')('the process provider as root on Linux', () => {
  let kit: ProcessKit;
  beforeAll(async () => {
    kit = await ProcessKit.open();
  });
  afterAll(() => kit.remove());

  const modeAndOwner = (target: string): [number, number] => {
    const info = statSync(target);
    return [info.mode & 0o7777, info.uid];
  };

  it("gives upstream's paths, a user of its own and folders nobody else can enter", async () => {
    const sandbox = await kit.acquire();
    expect(sandbox.isolation).toEqual({ kind: 'namespaces', network: 'host', reason: null });
    expect(sandbox.paths).toEqual({
      dataRoot: '/media/user/data/agenthle',
      workRoot: '/home/user/.ale',
      node: '/opt/examhall/node/bin/node',
      runnerNode: process.execPath,
    });
    const folder = sandbox.endpoint ?? '';
    const uid = sandbox.agent?.uid ?? 0;
    expect(uid).toBeGreaterThan(60_000);
    expect(modeAndOwner(folder)).toEqual([0o700, 0]);
    expect(modeAndOwner(path.join(folder, 'jobs'))).toEqual([0o700, 0]);
    expect(modeAndOwner(path.join(folder, 'data'))).toEqual([0o755, uid]);
    expect(modeAndOwner(path.join(folder, 'home/.ale'))).toEqual([0o755, uid]);
    expect(modeAndOwner(path.join(folder, 'tmp'))).toEqual([0o1777, uid]);
    const script = `${sandbox.paths.node} -p process.version; id -un; ls -A / /home /media/user/data`;
    const [answer] = await kit.channel.call(sandbox, [{ command: 'run_command', params: { command: script } }], 20);
    expect(answer).toMatchObject({ success: true, return_code: 0 });
    const stdout = String(Object.entries(answer ?? {}).find(([name]) => name === 'stdout')?.[1]);
    expect(stdout).toContain(`${process.version}\nuser\n`);
    expect(stdout.split('/home:\n')[1]).toBe('user\n\n/media/user/data:\nagenthle\n');
    const root = stdout.split('\n/home:')[0]?.split('\n') ?? [];
    expect(
      root.filter((name) => ['root', 'run', 'srv', 'mnt', 'work', 'boot', 'sys', 'old_root'].includes(name)),
    ).toEqual([]);
    await kit.provider.release(sandbox, 'delete');
  });

  it('never gives two live sandboxes one uid, whatever folder they are in', async () => {
    const other = await ProcessKit.open();
    const sandboxes = await Promise.all([kit, kit, kit, other, other].map((each) => each.acquire()));
    const uids = sandboxes.map((sandbox) => sandbox.agent?.uid);
    expect(new Set(uids).size).toBe(sandboxes.length);
    await other.remove();
    for (const sandbox of sandboxes.slice(0, 3)) await kit.provider.release(sandbox, 'delete');
  });

  it('keeps jobs of one sandbox apart but lets them share its folders', async () => {
    const sandbox = await kit.acquire();
    const job = (script: string, jobId: string) =>
      sleepJob(0, { argv: ['/bin/sh', '-c', script], cwd: '/home/user', jobId });
    await kit.run(sandbox, job('echo kept > note; echo shared > /tmp/t; echo gone > /dev/shm/x', 'first'));
    const result = await kit.run(sandbox, job('cat note /tmp/t /var/tmp/t; test ! -e /dev/shm/x', 'second'));
    expect(result).toMatchObject({ exitCode: 0, stdoutBytes: 'kept\nshared\nshared\n'.length });
    await kit.provider.release(sandbox, 'delete');
  });

  it('ends everything of a sandbox and removes trees that no path can name', async () => {
    const sandbox = await kit.acquire();
    const script =
      'for i in $(seq 1 300); do mkdir -p aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa && cd aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done; touch x; chmod 0 . ; ln -s /etc ~/link; setsid -f sleep 300; sleep 300';
    const job = sleepJob(0, { argv: ['/bin/bash', '-c', script], cwd: '/home/user' });
    await kit.channel.start(sandbox, job);
    const uid = sandbox.agent?.uid ?? 0;
    await until(() => livingPidsOf(uid).length >= 2);
    const report = await kit.provider.release(sandbox, 'delete');
    expect(report).toEqual(withFate(sandbox.resources, 'gone'));
    expect(livingPidsOf(uid)).toEqual([]);
    expect(existsSync(sandbox.endpoint ?? '')).toBe(false);
    expect(existsSync('/etc/passwd')).toBe(true);
    expect(execFileSync('cat', ['/proc/self/mountinfo'], { encoding: 'utf8' })).not.toContain(kit.root);
  });

  it('gives no walls, and says why, where something hidden would have to be shown', async () => {
    const hidden = mkdtempSync('/usr/share/examhall-hidden-');
    try {
      writeFileSync(path.join(hidden, 'reference'), 'x');
      const exposed = await ProcessKit.open({ hidden: [hidden] });
      const sandbox = await exposed.acquire();
      expect(sandbox.isolation).toMatchObject({
        kind: 'none',
        reason: `${hidden} is to be hidden, but /usr has to be shown`,
      });
      await exposed.remove();
    } finally {
      rmSync(hidden, { recursive: true });
    }
  });

  it('asks for a machine again after its maker died halfway', async () => {
    const spec = sandboxSpec();
    const sandbox = await kit.provider.acquire(spec);
    const marker = path.join(sandbox.endpoint ?? '', 'sandbox.json');
    const halfway = { version: 1, state: 'pending', clientToken: spec.clientToken, attemptId: spec.attemptId };
    writeFileSync(
      marker,
      JSON.stringify({ ...halfway, expiresAt: spec.expiresAt, createdAt: '', tags: {}, uid: null, sandbox: null }),
    );
    const revived = await ProcessKit.open({ root: path.join(kit.root, 'sandboxes') });
    expect(await revived.provider.describe(sandbox)).toEqual({ state: 'pending' });
    expect(await revived.provider.acquire(spec)).toEqual(sandbox);
    rmSync(revived.root, { recursive: true });
    await kit.provider.release(sandbox, 'delete');
  });
});
