import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Channel, ChannelJob } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import { until } from '#test/unit/guest/guest-kit';

export interface ChannelSubject {
  readonly channel: Channel;
  readonly sandbox: Sandbox;
  /** Ids of finished jobs, as told so far. */
  readonly finished: readonly string[];
  remove(): Promise<void>;
}

/** A command that every channel knows: it takes so many seconds. */
export function sleepJob(seconds: number, overrides: Partial<Extract<ChannelJob, { kind: 'exec' }>> = {}): ChannelJob {
  return {
    as: 'agent',
    kind: 'exec',
    jobId: `demo__x.1~run.${randomUUID()}`,
    wallSeconds: 30,
    argv: ['sleep', String(seconds)],
    env: {},
    cwd: '/tmp',
    stdin: null,
    outputLimitMiB: 1,
    ...overrides,
  };
}

/** What every channel keeps, whatever carries it. */
export function describeChannel(title: string, open: () => Promise<ChannelSubject>): void {
  describe(`channel: ${title}`, () => {
    let subject: ChannelSubject;
    beforeAll(async () => {
      subject = await open();
    });
    afterAll(() => subject.remove());

    const hasEnded = async (jobId: string): Promise<boolean> => {
      const { channel, sandbox, finished } = subject;
      if (channel.tellsEnds !== false) return finished.includes(jobId);
      return (await channel.status(sandbox, jobId)).state === 'finished';
    };

    // First: a stop ends everything of the agent's account, the server of a desktop too.
    it('answers a batch in order and goes on after a call that fails', async () => {
      const path = `/tmp/${randomUUID()}`;
      const answers = await subject.channel.call(
        subject.sandbox,
        [
          { command: 'read_text', params: { path: `${path}/a` } },
          { command: 'create_dir', params: { path } },
          { command: 'write_text', params: { path: `${path}/a`, content: 'héllo' } },
          { command: 'read_text', params: { path: `${path}/a` } },
          { command: 'get_file_size', params: { path: `${path}/a` } },
          { command: 'list_dir', params: { path } },
          { command: 'no_such_command', params: {} },
          { command: 'run_command', params: { command: 'true' } },
        ],
        20,
      );
      expect(answers).toMatchObject([
        { success: false },
        { success: true },
        { success: true },
        { success: true, content: 'héllo' },
        { success: true, size: 6 },
        { success: true, files: ['a'] },
        { success: false },
        { success: true, return_code: 0, stdout: '' },
      ]);
      expect(await subject.channel.call(subject.sandbox, [], 20)).toEqual([]);
      const again = await subject.channel.call(
        subject.sandbox,
        [{ command: 'read_text', params: { path: `${path}/a` } }],
        20,
      );
      expect(again).toEqual([{ success: true, content: 'héllo' }]);
    });

    it('starts a job once, tells its end to who waits, and knows its result', async () => {
      const { channel, sandbox } = subject;
      const job = sleepJob(0);
      await channel.start(sandbox, job);
      await channel.start(sandbox, job);
      await channel.wait(sandbox, job.jobId);
      await channel.wait(sandbox, job.jobId);
      await until(() => hasEnded(job.jobId));
      const status = await channel.status(sandbox, job.jobId);
      expect(status).toMatchObject({ state: 'finished', result: { jobId: job.jobId, end: 'exited', exitCode: 0 } });
      await channel.start(sandbox, job);
      expect(await channel.status(sandbox, job.jobId)).toEqual(status);
    });

    it('tells the end again to who waits after it', async () => {
      const { channel, sandbox, finished } = subject;
      const job = sleepJob(0);
      await channel.start(sandbox, job);
      await channel.wait(sandbox, job.jobId);
      await until(() => hasEnded(job.jobId));
      const told = (): number => finished.filter((each) => each === job.jobId).length;
      const before = told();
      await channel.wait(sandbox, job.jobId);
      await until(() => channel.tellsEnds === false || told() > before);
    });

    it('returns from start and wait while the job runs, and stops it', async () => {
      const { channel, sandbox } = subject;
      const job = sleepJob(60);
      await channel.start(sandbox, job);
      await channel.wait(sandbox, job.jobId);
      expect(await channel.status(sandbox, job.jobId)).toMatchObject({ state: 'running' });
      expect(await channel.stop(sandbox, job.jobId)).toEqual({ confirmedDead: true, survivors: 0 });
      expect(await channel.status(sandbox, job.jobId)).toMatchObject({ state: 'finished', result: { end: 'stopped' } });
      await until(() => hasEnded(job.jobId));
      expect(await channel.stop(sandbox, job.jobId)).toEqual({ confirmedDead: true, survivors: 0 });
    });

    it('ends a job at its wall limit', async () => {
      const { channel, sandbox } = subject;
      const job = sleepJob(60, { wallSeconds: 0.2 });
      await channel.start(sandbox, job);
      await channel.wait(sandbox, job.jobId);
      await until(() => hasEnded(job.jobId));
      expect(await channel.status(sandbox, job.jobId)).toMatchObject({ result: { end: 'wall-limit', exitCode: null } });
    });

    it('waits for the first line of a job no longer than it is told, and not at all for one that is over', async () => {
      const { channel, sandbox } = subject;
      const job = sleepJob(60);
      await channel.start(sandbox, job);
      const quiet = { line: null, stderr: '', status: { state: 'running' } };
      expect(await channel.firstLine(sandbox, job.jobId, 0.1)).toMatchObject(quiet);
      await channel.stop(sandbox, job.jobId);
      const over = { line: null, stderr: '', status: { state: 'finished', result: { end: 'stopped' } } };
      expect(await channel.firstLine(sandbox, job.jobId, 60)).toMatchObject(over);
    });

    it('knows nothing of a job nobody started', async () => {
      const { channel, sandbox } = subject;
      expect(await channel.status(sandbox, 'never~run')).toEqual({ state: 'unknown' });
      expect(await channel.stop(sandbox, 'never~run')).toEqual({ confirmedDead: true, survivors: 0 });
      await expect(channel.wait(sandbox, 'never~run')).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    });
  });
}
