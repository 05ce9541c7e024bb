import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createGuestCalls } from '#adapters/cua-guest-calls';
import { EXECUTION_SECONDS, guestDocument } from '#core/guest-documents';
import { plainPng } from '#test/builders/pictures';
import { SsmKit, type SsmKitOptions } from '#test/builders/ssm-kit';
import { sleepJob } from '#test/contract/channel-suite';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';

const open: { remove(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.remove();
});

async function openKit(options: SsmKitOptions = {}): Promise<SsmKit> {
  const kit = await SsmKit.open(options);
  open.push(kit);
  return kit;
}

async function openServer(rgb: readonly [number, number, number] = [30, 80, 120]): Promise<FakeCuaServer> {
  const image = plainPng(64, 48, rgb).toString('base64');
  const server = await startFakeCuaServer({ handlers: { screenshot: () => ({ success: true, image_data: image }) } });
  open.push({ remove: () => server.close() });
  return server;
}

const unavailable = (message: RegExp): object => ({
  name: 'ChannelUnavailableError',
  message: expect.stringMatching(message) as string,
});

describe('row 15: delivery and execution have limits of their own', () => {
  it('gives a command a minute to arrive; how long its script may take stands in the document', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const job = sleepJob(0, { wallSeconds: 172_000 });
    await kit.channel.start(sandbox, job);
    await kit.channel.wait(sandbox, job.jobId);
    expect(new Set(kit.ssm.sent.map(({ TimeoutSeconds }) => TimeoutSeconds))).toEqual(new Set([60]));
    expect(EXECUTION_SECONDS.wait).toBeGreaterThan(172_000);
    for (const kind of ['run', 'wait'] as const) {
      const { mainSteps } = guestDocument(kind) as { mainSteps: { inputs: { timeoutSeconds: string } }[] };
      expect(mainSteps.map(({ inputs }) => inputs.timeoutSeconds)).toEqual(
        Array(2).fill(String(EXECUTION_SECONDS[kind])),
      );
    }
  });

  it('tells one that did not arrive from one that failed', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    kit.ssm.fails.push('undelivered', 'failed');
    await expect(kit.channel.status(sandbox, 'a.1~run')).rejects.toMatchObject(unavailable(/did not reach .* 60 s/));
    await expect(kit.channel.status(sandbox, 'a.1~run')).rejects.toMatchObject(unavailable(/ended with Failed/));
  });

  it('does not wait for ever for one that never ends', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    kit.clockStepMilliseconds = 5_000;
    kit.ssm.fails.push('slow');
    await expect(kit.channel.status(sandbox, 'a.1~run')).rejects.toMatchObject(unavailable(/no end of status/));
  });

  it.each(['disowned', 'unended'] as const)('knows that a job began whose command is %s afterwards', async (fault) => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    kit.clockStepMilliseconds = 300;
    kit.ssm.fails.push(fault);
    const job = sleepJob(0);
    await kit.channel.start(sandbox, job);
    kit.clockStepMilliseconds = 0;
    expect(existsSync(path.join(kit.state, 'jobs', job.jobId))).toBe(true);
  });

  it('starts no job that it cannot tell of', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const nowhere = { url: 'http://127.0.0.1:1/', fields: {}, keyPrefix: 'attempts/' };
    const signing = vi.spyOn(kit.served.store, 'signUpload').mockResolvedValue(nowhere);
    const job = sleepJob(0);
    await expect(kit.channel.start(sandbox, job)).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    signing.mockRestore();
    expect(existsSync(path.join(kit.state, 'jobs', job.jobId))).toBe(false);
  });

  it('a request that comes too late is not done', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    kit.clockAheadMilliseconds = -3_600_000;
    const job = sleepJob(0);
    await expect(kit.channel.start(sandbox, job)).rejects.toMatchObject(unavailable(/valid until/));
    expect(existsSync(path.join(kit.state, 'jobs', job.jobId))).toBe(false);
  });
});

describe('row 16: neither parameters nor output carry what is said', () => {
  const SECRET = 'sk-very-secret-value';

  it('sends one sealed parameter of a few thousand letters, however much the job says', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const job = sleepJob(0, { env: { KEY: SECRET, LARGE: 'x'.repeat(100_000) }, stdin: SECRET.repeat(1_000) });
    await kit.channel.start(sandbox, job);
    await kit.channel.wait(sandbox, job.jobId);
    await kit.channel.stop(sandbox, job.jobId);
    expect(kit.ssm.sent.length).toBeGreaterThan(3);
    for (const input of kit.ssm.sent) {
      expect(Object.keys(input).toSorted()).toEqual(['DocumentName', 'InstanceIds', 'Parameters', 'TimeoutSeconds']);
      expect(Object.keys(input.Parameters ?? {})).toEqual(['Request']);
      const text = JSON.stringify(input);
      expect(text.length).toBeLessThan(9_000);
      for (const told of [SECRET, job.jobId, sandbox.attemptId, 'start', 'stop']) expect(text).not.toContain(told);
    }
  });

  it('prints of what fails only its kind, and never what it was about', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const job = sleepJob(0, { env: { KEY: SECRET } });
    await kit.channel.start(sandbox, job);
    rmSync(path.join(kit.state, 'jobs', job.jobId), { recursive: true });
    await kit.channel.wait(sandbox, job.jobId);
    await vi.waitFor(() => expect(kit.ssm.running).toBe(0), 10_000);
    const nowhere = { url: 'http://127.0.0.1:1/', fields: {}, keyPrefix: 'attempts/' };
    const signing = vi.spyOn(kit.served.store, 'signUpload').mockResolvedValue(nowhere);
    await expect(kit.channel.start(sandbox, job)).rejects.toMatchObject(
      unavailable(/request failed: \w+ ECONNREFUSED/),
    );
    signing.mockRestore();
    const printed = kit.ssm.printed.join('\n');
    expect(printed).toContain('the request failed: JobInputError');
    for (const told of [SECRET, job.jobId, sandbox.attemptId, kit.state, '127.0.0.1:1'])
      expect(printed).not.toContain(told);
  });

  it('reads answers whole that are longer than any output is kept', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const call = { command: 'run_command', params: { command: 'head -c 300000 /dev/zero | tr "\\0" a' } };
    const [answer] = await kit.channel.call(sandbox, [call], 20);
    expect(answer).toMatchObject({ success: true, stdout: 'a'.repeat(300_000) });
  });

  it('leaves nothing of what was asked and answered behind', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const job = sleepJob(0);
    await kit.run(sandbox, job);
    kit.ssm.fails.push('failed');
    await kit.channel.status(sandbox, job.jobId).catch(() => undefined);
    kit.ssm.isRegistered = false;
    await kit.channel.status(sandbox, job.jobId).catch(() => undefined);
    expect((await kit.served.store.list('artifacts', 'attempts/')).objects).toEqual([]);
  });
});

describe('jobs that move files', () => {
  it('are done by the guest itself, to and from the store', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const { store } = kit.served;
    const { sha256, sizeBytes } = await store.put({ bucket: 'tasks', key: 'in' }, 'content');
    const target = path.join(kit.folder, 'in', 'file');
    const url = await store.signGet({ bucket: 'tasks', key: 'in' }, 60);
    const list = { items: [{ url, path: target, sha256, sizeBytes, executable: false }], directories: [] };
    await store.put({ bucket: 'artifacts', key: 'list' }, JSON.stringify(list));
    const listUrl = await store.signGet({ bucket: 'artifacts', key: 'list' }, 60);
    const base = { wallSeconds: 30, as: 'runner' } as const;
    await kit.run(sandbox, { ...base, kind: 'fetch', jobId: 'a.1~stage', listUrl });
    expect(readFileSync(target, 'utf8')).toBe('content');
    const grant = await store.signUpload('artifacts', 'attempts/a.1/', 60, 1_000_000);
    await kit.run(sandbox, {
      ...base,
      kind: 'collect',
      jobId: 'a.1~collect',
      roots: [{ path: path.dirname(target), keyPrefix: 'output/', as: 'agent' }],
      grant,
      manifestKey: 'collect.json',
      limits: { maxFiles: 10, maxFileMiB: 1, maxTotalMiB: 1 },
    });
    const collected = await store.get({ bucket: 'artifacts', key: 'attempts/a.1/output/file' });
    expect(new TextDecoder().decode(collected)).toBe('content');
  });

  it('keeps their output where the machine’s system has it', async () => {
    const kit = await openKit();
    expect(kit.channel.jobFolder(kit.sandbox(), 'j')).toBe('/var/lib/examhall/jobs/j');
    expect(kit.channel.jobFolder(kit.sandbox({ os: 'windows' }), 'j')).toBe('C:\\ProgramData\\ExamHall\\jobs\\j');
  });
});

describe('waiting', () => {
  it('ends an earlier wait for the same job, since a machine’s agent runs few commands at once', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    const job = sleepJob(60);
    await kit.channel.start(sandbox, job);
    await kit.channel.wait(sandbox, job.jobId);
    await kit.channel.wait(sandbox, job.jobId);
    await kit.until(() => kit.ssm.running === 1);
    expect(await kit.channel.status(sandbox, job.jobId)).toMatchObject({ state: 'running' });
    await kit.channel.stop(sandbox, job.jobId);
    await kit.until(() => kit.ssm.running === 0);
  });
});

describe('a desktop', () => {
  it('is called by way of the function in its network, and without it the runner does what it can', async () => {
    const server = await openServer();
    const kit = await openKit({ cuaUrl: server.url, guestCalls: createGuestCalls() });
    const sandbox = await kit.ready();
    const sent = kit.ssm.sent.length;
    const calls = [
      { command: 'screenshot', params: {} },
      { command: 'run_command', params: { command: 'echo here' } },
    ];
    const seen = await kit.channel.call(sandbox, calls, 20);
    expect(seen).toMatchObject([{ success: true, image_data: expect.any(String) as string }, { stdout: 'here\n' }]);
    expect(kit.ssm.sent).toHaveLength(sent);
    await server.close();
    const left = await kit.channel.call(sandbox, calls, 20);
    expect(left).toMatchObject([
      { success: false, error: expect.stringMatching(/desktop, which has ended/) as string },
      { success: true, stdout: 'here\n', return_code: 0 },
    ]);
    expect(kit.ssm.sent).toHaveLength(sent + 1);
    const screen = kit.channel.call(sandbox, calls.slice(0, 1), 20);
    await expect(screen).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
  });
});
