import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { JobsKit, loaded, runnerCli, until } from './guest-kit.ts';

let kit: JobsKit;
beforeAll(() => {
  kit = new JobsKit();
});
afterAll(() => kit.remove());

describe('the guest runner on any Unix', () => {
  it('runs a command with a clean environment and tells how it ended', async () => {
    const job = kit.shell('env; echo problem >&2; exit 3', { env: { GREETING: "it's; $HOME `x`\n2" } });
    const result = await kit.run(job);
    expect(result).toMatchObject({ end: 'exited', exitCode: 3, signal: null, confirmedDead: true, survivors: 0 });
    expect(kit.read(job.jobId, 'stdout')).toContain("GREETING=it's; $HOME `x`\n2\n");
    const names = kit
      .read(job.jobId, 'stdout')
      .split('\n')
      .flatMap((line) => /^([A-Z_]+)=/.exec(line)?.[1] ?? []);
    expect(names.filter((name) => !['PWD', '_', 'SHLVL'].includes(name)).sort()).toEqual(
      ['GREETING', 'HOME', 'LANG', 'PATH', 'USER'].sort(),
    );
    expect(kit.read(job.jobId, 'stderr')).toBe('problem\n');
    expect(result).toMatchObject({ stdoutTruncated: false, stderrBytes: 8 });
  });

  it('gives text on standard input, which can be opened again by name', async () => {
    const job = kit.shell('cat; cat /dev/stdin; echo again > /dev/stdout; echo bad > /dev/stderr', {
      stdin: 'héllo\n',
    });
    await kit.run(job);
    expect(kit.read(job.jobId, 'stdout')).toBe('héllo\nhéllo\nagain\n');
    expect(kit.read(job.jobId, 'stderr')).toBe('bad\n');
  });

  it('names the signal that ended a command', async () => {
    expect(await kit.run(kit.shell('kill -SEGV $$'))).toMatchObject({
      end: 'exited',
      exitCode: null,
      signal: 'SIGSEGV',
    });
  });

  it('tells an exit with 137 from a SIGKILL', async () => {
    expect(await kit.run(kit.shell('exit 137'))).toMatchObject({ exitCode: 137, signal: null });
  });

  it('says why a command could not start', async () => {
    const result = await kit.run(kit.shell('', { argv: ['/no/such/program'] }));
    expect(result).toMatchObject({ end: 'spawn-failed', exitCode: null, confirmedDead: true });
    expect(result.message).toContain('/no/such/program');
  });

  it('starts a job once, however often and concurrently it is asked to', async () => {
    const job = kit.shell('echo run; sleep 0.3');
    const said = await Promise.all([kit.start(job), kit.start(job), kit.start(job)]);
    expect(said.filter(Boolean)).toHaveLength(1);
    await kit.wait(job.jobId);
    await kit.start(job);
    expect(kit.read(job.jobId, 'stdout')).toBe('run\n');
  });

  it('ends a job at its wall limit, first asking and then killing', async () => {
    const polite = kit.shell("trap 'echo asked; exit 9' TERM; while :; do sleep 0.05; done", { wallSeconds: 0.5 });
    const deaf = kit.shell("trap '' TERM; while :; do sleep 0.05; done", { wallSeconds: 0.5 });
    await Promise.all([kit.start(polite), kit.start(deaf)]);
    expect(await kit.wait(polite.jobId)).toMatchObject({ end: 'wall-limit', confirmedDead: true, survivors: 0 });
    expect(kit.read(polite.jobId, 'stdout')).toBe('asked\n');
    expect(await kit.wait(deaf.jobId)).toMatchObject({ end: 'wall-limit', confirmedDead: true, exitCode: null });
  });

  it('reports a running job, stops it, and stops it again', async () => {
    const job = kit.shell('sleep 60');
    await kit.start(job);
    expect(await kit.status(job.jobId)).toMatchObject({ state: 'running' });
    expect(await kit.stop(job.jobId)).toEqual({ confirmedDead: true, survivors: 0 });
    expect(await kit.status(job.jobId)).toMatchObject({ state: 'finished', result: { end: 'stopped' } });
    expect(await kit.stop(job.jobId)).toEqual({ confirmedDead: true, survivors: 0 });
  });

  it('ends the whole process group with the command', async () => {
    const marker = path.join(kit.root, 'still-there');
    const job = kit.shell(`(sleep 1; echo late > ${marker}) & echo started`);
    expect(await kit.run(job)).toMatchObject({ end: 'exited', confirmedDead: true });
    await new Promise((resolve) => setTimeout(resolve, 1300));
    expect(readdirSync(kit.root)).not.toContain('still-there');
  });

  it('knows nothing of a job nobody started, and gives up waiting when told to', async () => {
    expect(await kit.status('never')).toEqual({ state: 'unknown' });
    await expect(kit.wait('never')).rejects.toThrow(/there is no job never/);
    const runner = await loaded();
    const job = kit.shell('sleep 30');
    await kit.start(job);
    expect(await runner.wait(kit.jobsDir, job.jobId, { timeoutSeconds: 0.1 })).toBeUndefined();
    await kit.stop(job.jobId);
  });

  it('writes runner-lost for a supervisor that was killed, and stop ends what it left', async () => {
    const marker = path.join(kit.root, 'lost-alive');
    const job = kit.shell(`while :; do touch ${marker}; sleep 0.05; done`);
    await kit.start(job);
    await until(() => readdirSync(kit.root).includes('lost-alive'));
    const supervisor = JSON.parse(kit.read(job.jobId, 'supervisor.pid')) as { pid: number };
    process.kill(supervisor.pid, 'SIGKILL');
    expect(await kit.wait(job.jobId)).toMatchObject({ end: 'runner-lost', confirmedDead: false });
    expect(await kit.stop(job.jobId)).toEqual({ confirmedDead: true, survivors: 0 });
    const touched = statSync(marker).mtimeMs;
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(statSync(marker).mtimeMs).toBe(touched);
  });

  it('keeps what a job was given from everybody else, and forgets it when the job ends', async () => {
    const job = kit.shell('sleep 0.2', { env: { TOKEN: 'secret-7381' }, stdin: 'secret-7382' });
    await kit.start(job);
    expect(statSync(path.join(kit.jobsDir, job.jobId)).mode & 0o777).toBe(0o700);
    expect(statSync(path.join(kit.jobsDir, job.jobId, 'job.json')).mode & 0o777).toBe(0o600);
    await kit.wait(job.jobId);
    for (const name of readdirSync(path.join(kit.jobsDir, job.jobId))) {
      expect(kit.read(job.jobId, name), name).not.toMatch(/secret-738/);
    }
  });

  it('cuts output at its limit and goes on counting', async () => {
    const job = kit.shell('head -c 3000000 /dev/zero; head -c 10 /dev/zero >&2', { outputLimitMiB: 1 });
    expect(await kit.run(job)).toMatchObject({
      stdoutBytes: 3_000_000,
      stdoutTruncated: true,
      stderrBytes: 10,
      stderrTruncated: false,
    });
    expect(statSync(path.join(kit.jobsDir, job.jobId, 'stdout')).size).toBe(1024 * 1024);
  });

  it('takes no job into a closed folder', async () => {
    const closing = new JobsKit();
    const job = closing.shell('sleep 60');
    await closing.start(job);
    expect(JSON.parse((await runnerCli(['close', closing.jobsDir])).stdout)).toEqual({
      confirmedDead: true,
      survivors: 0,
    });
    expect(await closing.status(job.jobId)).toMatchObject({ state: 'finished', result: { end: 'stopped' } });
    await expect(closing.start(closing.shell('true'))).rejects.toThrow(/takes no more jobs/);
    await closing.remove();
  });
});

describe('the command line of the guest runner', () => {
  const answers = async (...args: string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await runnerCli(args);
    return code === 0 ? JSON.parse(stdout) : { code, stderr };
  };

  it('starts a job that outlives it, and tells where it stands', async () => {
    const job = kit.shell('read line; echo "$line"; sleep 60', { stdin: 'hello\n' });
    const started = await runnerCli(['start', kit.jobsDir], JSON.stringify(job));
    expect(started).toMatchObject({ code: 0, stdout: `${JSON.stringify({ jobId: job.jobId, started: true })}\n` });
    expect(await answers('status', kit.jobsDir, job.jobId)).toMatchObject({ state: 'running' });
    expect(await answers('wait', kit.jobsDir, job.jobId, '--timeout', '0.1')).toMatchObject({ code: 4 });
    const waiting = answers('wait', kit.jobsDir, job.jobId, '--timeout', '20');
    expect(await answers('stop', kit.jobsDir, job.jobId)).toEqual({ confirmedDead: true, survivors: 0 });
    expect(await waiting).toMatchObject({ end: 'stopped', jobId: job.jobId });
    expect(kit.read(job.jobId, 'stdout')).toBe('hello\n');
  });

  it('refuses a job that breaks the contract and starts nothing', async () => {
    const refused = await runnerCli(['start', kit.jobsDir], JSON.stringify({ ...kit.shell('true'), version: 99 }));
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('version is 99; allowed: 1');
    expect(await answers('wait', kit.jobsDir, '../x')).toMatchObject({ code: 1 });
    expect(await answers('dance', kit.jobsDir, 'x')).toMatchObject({ code: 2 });
  });
});
