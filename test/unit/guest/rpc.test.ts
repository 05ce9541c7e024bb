import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GUEST_CONTRACT_VERSION, type RpcBatch, type RpcCall, type RpcResult } from '#contracts/guest';
import { tier } from '#test/runner/tier';
import { JobsKit, livingPidsOf, loaded, runnerCli, testAccount, until, walls } from './guest-kit.ts';

let kit: JobsKit;
beforeAll(() => {
  kit = new JobsKit();
});
afterAll(() => kit.remove());

const call = (command: string, params: RpcCall['params'] = {}): RpcCall => ({ command, params });

function batch(calls: readonly RpcCall[], overrides: Partial<RpcBatch> = {}): RpcBatch {
  return {
    version: GUEST_CONTRACT_VERSION,
    account: null,
    isolation: { kind: 'none', home: kit.root },
    timeoutSeconds: 20,
    calls,
    ...overrides,
  };
}

async function rpc(calls: readonly RpcCall[], overrides: Partial<RpcBatch> = {}): Promise<readonly RpcResult[]> {
  return (await loaded()).rpc(batch(calls, overrides));
}

describe('file and command RPC', () => {
  it('answers with the names and result fields of the guest RPC', async () => {
    const folder = kit.folder('files', null);
    const file = path.join(folder, 'note.txt');
    const b64 = Buffer.from('héllo').toString('base64');
    const answers = await rpc([
      call('write_text', { path: file, content: 'héllo' }),
      call('read_text', { path: file }),
      call('read_bytes', { path: file }),
      call('read_bytes', { path: file, offset: 1, length: 2 }),
      call('write_bytes', { path: file, content_b64: b64, append: true }),
      call('get_file_size', { path: file }),
      call('file_exists', { path: file }),
      call('file_exists', { path: folder }),
      call('directory_exists', { path: folder }),
      call('directory_exists', { path: file }),
      call('create_dir', { path: path.join(folder, 'a/b') }),
      call('list_dir', { path: folder }),
      call('delete_dir', { path: path.join(folder, 'a/b') }),
      call('delete_file', { path: file }),
      call('file_exists', { path: file }),
    ]);
    expect(answers).toEqual([
      { success: true },
      { success: true, content: 'héllo' },
      { success: true, content_b64: b64 },
      { success: true, content_b64: Buffer.from('é').toString('base64') },
      { success: true },
      { success: true, size: 12 },
      { success: true, exists: true },
      { success: true, exists: false },
      { success: true, exists: true },
      { success: true, exists: false },
      { success: true },
      { success: true, files: ['a', 'note.txt'] },
      { success: true },
      { success: true },
      { success: true, exists: false },
    ]);
  });

  it('goes on after a call that fails, and never says success for it', async () => {
    const folder = kit.folder('failing', null);
    mkdirSync(path.join(folder, 'full/x'), { recursive: true });
    symlinkSync('nowhere', path.join(folder, 'broken'));
    writeFileSync(path.join(folder, 'latin1'), Buffer.from([0x66, 0xfc, 0x72]));
    const answers = await rpc([
      call('read_text', { path: path.join(folder, 'missing') }),
      call('delete_dir', { path: path.join(folder, 'full') }),
      call('write_text', { path: path.join(folder, 'no/parent'), content: '' }),
      call('read_text', { path: path.join(folder, 'latin1') }),
      call('read_bytes', { path: '/dev/zero' }),
      call('read_text', { path: 7 }),
      call('screenshot'),
      call('constructor'),
      call('list_dir', { path: folder }),
    ]);
    expect(answers.slice(0, -1).map((answer) => answer.success)).toEqual(Array(8).fill(false));
    expect(answers[6]).toMatchObject({
      error: expect.stringMatching(/Unknown command: screenshot.*no screen/) as string,
    });
    expect(answers.at(-1)).toEqual({ success: true, files: ['full', 'latin1'] });
  });

  it('tells exit status apart from success', async () => {
    const [exit, killed, both] = await rpc([
      call('run_command', { command: 'echo out; echo err >&2; exit 3' }),
      call('run_command', { command: 'kill -9 $$' }),
      call('run_command', { command: 'echo a > /dev/stdout; echo b > /dev/stderr; pwd' }),
    ]);
    expect(exit).toEqual({ success: true, stdout: 'out\n', stderr: 'err\n', return_code: 3 });
    expect(killed).toMatchObject({ success: true, return_code: -9 });
    expect(both).toEqual({ success: true, stdout: `a\n${kit.root}\n`, stderr: 'b\n', return_code: 0 });
  });

  it('kills a command at its own limit with everything it started, and begins no call after the time of the batch', async () => {
    const [late, next, never] = await rpc(
      [
        call('run_command', { command: 'echo begun; sleep 60 & sleep 60', timeout: 0.3 }),
        call('run_command', { command: 'sleep 60' }),
        call('file_exists', { path: '/' }),
      ],
      { timeoutSeconds: 1 },
    );
    expect(late).toMatchObject({ success: false, return_code: -1, stdout: 'begun\n' });
    expect(next).toMatchObject({ success: false, return_code: -1 });
    expect(never).toMatchObject({ success: false, error: expect.stringContaining('time was over') as string });
  });

  it('keeps 8 MiB of a flood and says that it was cut', async () => {
    const [answer] = await rpc([call('run_command', { command: 'head -c 20000000 /dev/zero | tr "\\\\0" x' })]);
    expect(answer).toMatchObject({ success: true, return_code: 0, truncated: true });
    expect(answer).toHaveProperty('stdout', 'x'.repeat(8 * 1024 * 1024));
  });

  it('is one line in and one line out on the command line', async () => {
    const { code, stdout } = await runnerCli(['rpc'], JSON.stringify(batch([call('version')])));
    expect(code).toBe(0);
    expect(stdout).toBe(`${JSON.stringify([{ success: true, protocol: 1, package: 'examhall' }])}\n`);
    expect((await runnerCli(['rpc'], '{}')).code).toBe(1);
  });

  tier('isolation')('behind walls', () => {
    it('runs as the agent, and takes what a command left running away with the batch', async () => {
      const account = testAccount('/home/user');
      const home = kit.folder('home', account);
      const isolation = walls([{ source: home, target: '/home/user', readOnly: false }]);
      const [who, left] = await rpc(
        [
          call('run_command', { command: 'id -u; echo ~; cat /proc/1/environ; touch mine && ls /home' }),
          call('run_command', { command: 'setsid -f sleep 300 > /dev/null 2>&1; echo ok' }),
        ],
        { account, isolation },
      );
      expect(who).toMatchObject({ stdout: `${String(account.uid)}\n/home/user\nuser\n` });
      expect(left).toMatchObject({ success: true, stdout: 'ok\n' });
      await until(() => livingPidsOf(account.uid ?? 0).length === 0);
    });

    it('rejects when the walls cannot be put up', async () => {
      const isolation = walls([{ source: path.join(kit.root, 'nowhere'), target: '/x', readOnly: true }]);
      await expect(rpc([call('version')], { account: testAccount(), isolation })).rejects.toThrow(
        /nowhere.*does not exist/,
      );
    });
  });
});
