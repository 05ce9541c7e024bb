import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCuaClient, type CuaClient } from '#adapters/cua-client';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';

let folder: string;
let server: FakeCuaServer;
let client: CuaClient;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-cua-'));
  server = await startFakeCuaServer();
  client = createCuaClient({ url: server.url }, { defaultTimeoutSeconds: 5 });
});

afterEach(async () => {
  client.close();
  await server.close();
  await rm(folder, { recursive: true });
});

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}/stat`);

async function gone(pid: number): Promise<boolean> {
  for (let turn = 0; turn < 100 && isAlive(pid); turn += 1) await sleep(50);
  return !isAlive(pid);
}

/** 61 s and more are run detached, whatever the command. */
describe.each([
  ['in the foreground', 30],
  ['detached', 61],
])('a command run %s', (_, timeoutSeconds) => {
  it('gives its exit status and both outputs, and no input', async () => {
    const command = `cat; echo "it's"; printf 'é\\n' >&2; exit 3`;
    expect(await client.exec(command, { timeoutSeconds })).toEqual({
      ...{ exitCode: 3, stdout: "it's\n", stderr: 'é\n', timedOut: false },
    });
  });

  it('may print bytes that are no text, and die by a signal', async () => {
    const done = await client.exec(`printf '\\377ok'; kill -9 $$`, { timeoutSeconds });
    expect(done).toEqual({ exitCode: 137, stdout: '\ufffdok', stderr: '', timedOut: false });
  });

  it('is not held up by what it leaves in the background', async () => {
    const file = path.join(folder, 'pid');
    const done = await client.exec(`sleep 300 & echo $! >${file}; echo started`, { timeoutSeconds });
    expect(done.stdout).toBe('started\n');
    process.kill(Number(await readFile(file, 'utf8')), 'SIGKILL');
  });

  it('has its output cut at the limit', async () => {
    const done = await client.exec('printf 123456789', { timeoutSeconds, outputLimitBytes: 4 });
    expect(done.stdout).toBe('1234');
  });

  it('leaves nothing of its own behind', async () => {
    const { stdout } = await client.exec('dirname "$0"', { timeoutSeconds });
    expect(stdout.trim()).toMatch(/^\/tmp\//);
    expect(existsSync(stdout.trim())).toBe(false);
  });
});

describe('a command whose time is over', () => {
  it('is killed with everything of its group; what it printed is kept', async () => {
    const file = path.join(folder, 'pid');
    const done = await client.exec(`echo part; sleep 300 & echo $! >${file}; sleep 300`, { timeoutSeconds: 1 });
    expect(done).toEqual({ exitCode: null, stdout: 'part\n', stderr: '', timedOut: true });
    expect(await gone(Number(await readFile(file, 'utf8')))).toBe(true);
  });

  it('must have had some', async () => {
    await expect(client.exec('true', { timeoutSeconds: 0 })).rejects.toThrow('timeoutSeconds is 0; allowed: above 0');
  });
});

describe('a detached command', () => {
  it('goes on when a look at it fails, and is started once', async () => {
    const marks = path.join(folder, 'marks');
    // Staging moves two files; then come the launch and the looks.
    const running = client.exec(`echo x >>${marks}; sleep 1; echo end`, { timeoutSeconds: 61 });
    while (!existsSync(marks)) await sleep(20);
    server.answer('run_command', { kind: 'cut-at-once' }, 2);
    expect((await running).stdout).toBe('end\n');
    expect(await readFile(marks, 'utf8')).toBe('x\n');
  });

  it('is killed when the call is given up', async () => {
    const file = path.join(folder, 'pid');
    const stop = new AbortController();
    const running = client.exec(`echo $$ >${file}; sleep 300`, { timeoutSeconds: 61, signal: stop.signal });
    const failed = running.catch((error: unknown) => error);
    while (!existsSync(file)) await sleep(20);
    stop.abort();
    expect(await failed).toMatchObject({ name: 'CuaTransportError', fault: 'aborted' });
    expect(await gone(Number(await readFile(file, 'utf8')))).toBe(true);
  });

  it('whose supervisor is gone without a result is lost, not waited for', async () => {
    const file = path.join(folder, 'pid');
    const running = client
      .exec(`echo $PPID >${file}; sleep 300`, { timeoutSeconds: 61 })
      .catch((error: unknown) => error);
    while (!existsSync(file)) await sleep(20);
    await sleep(50);
    process.kill(Number(await readFile(file, 'utf8')), 'SIGKILL');
    expect(await running).toMatchObject({ name: 'CuaTransportError', fault: 'lost' });
  });

  it('too long for a command line is run from a file', async () => {
    const done = await client.exec(`# ${'x'.repeat(40_000)}\necho long`, { timeoutSeconds: 5 });
    expect(done.stdout).toBe('long\n');
  });
});

describe('a command on Windows or Android', () => {
  it('is run by the server itself, with its own time limit', async () => {
    const windows = await startFakeCuaServer({ osType: 'windows' });
    const there = createCuaClient({ url: windows.url });
    const timedOut = { success: false, stdout: '', stderr: 'Command timed out after 2s', return_code: -1 };
    windows.answer('run_command', {
      kind: 'frame',
      fields: { success: true, stdout: 'a', stderr: '', return_code: 5 },
    });
    windows.answer('run_command', { kind: 'frame', fields: timedOut });
    windows.answer('run_command', { kind: 'frame', fields: { success: false, error: 'no shell' } });
    expect(await there.exec('dir', { timeoutSeconds: 2 })).toMatchObject({ exitCode: 5, stdout: 'a', timedOut: false });
    expect(await there.exec('dir', { timeoutSeconds: 2 })).toMatchObject({ exitCode: null, timedOut: true });
    await expect(there.exec('dir', { timeoutSeconds: 2 })).rejects.toThrow('run_command failed: no shell');
    expect(windows.requests[0]?.params).toEqual({ command: 'chcp 65001>nul & dir', timeout: 2 });
    there.close();
    await windows.close();
  });
});

describe('a server behind a unix socket', () => {
  it('is reached through it, with the host of its URL', async () => {
    const socketPath = path.join(folder, 'relay.sock');
    const target = Number(new URL(server.url).port);
    const relay = net.createServer((from) => {
      const to = net.connect(target, '127.0.0.1');
      from.pipe(to).pipe(from);
      for (const end of [from, to]) end.on('error', () => [from, to].forEach((each) => each.destroy()));
    });
    await new Promise<void>((resolve) => relay.listen(socketPath, resolve));
    const there = createCuaClient({ url: 'http://127.0.0.1:5000', socketPath });
    expect((await there.exec('echo hi', { timeoutSeconds: 5 })).stdout).toBe('hi\n');
    there.close();
    relay.close();
  });
});
