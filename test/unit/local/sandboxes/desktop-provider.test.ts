import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withFate } from '#core/teardown';
import { createCuaClient } from '#adapters/cua-client';
import { findDesktop, type FoundDesktop } from '#local/desktop/installation';
import type { Sandbox } from '#ports/sandbox-provider';
import { sleepJob } from '#test/contract/channel-suite';
import { tier } from '#test/runner/tier';
import { livingPidsOf, until } from '#test/unit/guest/guest-kit';
import { DesktopKit, desktopOf, remainsOf } from './desktop-kit.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** Desktops as they would be where `python` is the server's Python. */
function foundWith(python: string): FoundDesktop {
  const found = findDesktop();
  return found.isThere ? { isThere: true, installation: { ...found.installation, python } } : found;
}

describe('a computer on which desktops are not set up', () => {
  it('refuses them with the command that sets them up, and still lists and ends what is there', async () => {
    const kit = await DesktopKit.open({ found: { isThere: false, reason: 'nothing is installed' } });
    await expect(kit.acquire()).rejects.toMatchObject({
      name: 'SandboxRefusedError',
      message: expect.stringContaining('(nothing is installed); run: examhall setup desktop') as string,
    });
    expect((await kit.provider.list()).sandboxes).toEqual([]);
    await kit.remove();
  });
});

tier('desktop')('the desktop provider on any Linux', () => {
  it.each([
    ['privilege upstream', { privilege: 'upstream' }],
    ['network sealed', { network: 'sealed' }],
    ['a GPU', { gpu: true }],
    ['os windows', { os: 'windows' }],
    ['resolution 20000x20000', { resolution: '20000x20000' }],
    ['resolution "large"', { resolution: 'large' }],
    ['the settings dpi', { knobs: { dpi: 96 } }],
  ] as const)('refuses %s by name and makes nothing', async (wish, overrides) => {
    const kit = await DesktopKit.open();
    await expect(kit.acquire(overrides)).rejects.toMatchObject({
      name: 'SandboxRefusedError',
      message: expect.stringContaining(wish) as string,
    });
    expect(existsSync(path.join(kit.root, 'desktops'))).toBe(false);
    await kit.remove();
  });

  it('says what the server printed when a desktop does not start, and leaves nothing', async () => {
    const kit = await DesktopKit.open({ found: foundWith('/bin/cat') });
    await expect(kit.acquire()).rejects.toMatchObject({
      name: 'ProvisionFailedError',
      message: expect.stringMatching(
        /job desktop ended with exit code 1; it printed:[^]*invalid option[^]*Try: examhall setup desktop/u,
      ) as string,
    });
    expect((await kit.provider.list()).sandboxes).toEqual([]);
    expect(readdirSync(path.join(kit.root, 'desktops'))).toEqual([]);
    expect(remainsOf(kit.root)).toEqual([]);
    await kit.remove();
  });

  it('gives the resolution that is asked for, and says without walls that there are none', async () => {
    const kit = await DesktopKit.open({ withoutWalls: 'asked for by the test' });
    const [first, second] = await Promise.all([kit.acquire({ resolution: '801x603' }), kit.acquire()]);
    expect(first.isolation).toEqual({ kind: 'none', network: 'host', reason: 'asked for by the test' });
    const screens = [desktopOf(first), desktopOf(second)];
    expect(new Set(screens.map(({ serverUrl }) => serverUrl)).size).toBe(2);
    expect(new Set(screens.map(({ env }) => env['DISPLAY'])).size).toBe(2);
    expect(await sizeOf(first)).toEqual([801, 603]);
    expect(await sizeOf(second)).toEqual([1280, 800]);
    const sockets = screens.map(({ env }) => `/tmp/.X11-unix/X${(env['DISPLAY'] ?? '').slice(1)}`);
    expect(sockets.filter((socket) => existsSync(socket))).toHaveLength(2);
    killXServerOf(first);
    for (const sandbox of [first, second]) await kit.provider.release(sandbox, 'delete');
    expect(sockets.filter((socket) => existsSync(socket))).toEqual([]);
    expect(remainsOf(kit.root)).toEqual([]);
    await kit.remove();
  });
});

/** Ends it as a crash would: it cannot clean up. */
function killXServerOf(sandbox: Sandbox): void {
  const authority = desktopOf(sandbox).env['XAUTHORITY'] ?? '';
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  const [found, ...others] = pids.filter(
    (pid) => /^Xvfb\0/u.test(commandOf(pid)) && commandOf(pid).includes(authority),
  );
  if (found === undefined || others.length > 0) throw new Error(`not one X server has ${authority}`);
  process.kill(found, 'SIGKILL');
}

async function sizeOf(sandbox: Sandbox): Promise<readonly [number, number]> {
  const client = createCuaClient(desktopOf(sandbox).endpoint);
  const { width, height } = await client.screenshot();
  client.close();
  return [width, height];
}

tier('desktop')('desktops side by side as root', () => {
  tier('isolation')('with namespaces', () => {
    let kit: DesktopKit;
    let all: readonly Sandbox[];
    let hosts: Server;
    let first: Sandbox;
    let second: Sandbox;

    beforeAll(async () => {
      kit = await DesktopKit.open();
      all = await Promise.all([1, 2, 3, 4].map(() => kit.acquire()));
      const [one, two] = all;
      if (one === undefined || two === undefined) throw new Error('there are no desktops');
      [first, second] = [one, two];
      hosts = createServer((_, response) => response.end('a secret of the host'));
      hosts.listen(0, '127.0.0.1');
      await once(hosts, 'listening');
    });
    afterAll(async () => {
      hosts.close();
      await kit.remove();
    });

    const pictureOf = async (sandbox: Sandbox): Promise<string> => {
      const answer = await kit.ask(sandbox, 'screenshot');
      return answer.success ? String(answer['image_data']) : answer.error;
    };

    it('never share a user, a network, a screen or a cookie', async () => {
      expect(all).toHaveLength(4);
      for (const sandbox of all)
        expect(sandbox.isolation).toEqual({ kind: 'namespaces', network: 'own', reason: null });
      const cookies = all.map((each) => readFileSync(path.join(each.endpoint ?? '', 'home/.Xauthority'), 'hex'));
      const sockets = all.map((each) => desktopOf(each).endpoint.socketPath);
      const networks = all.map((each) => statSync(each.guestIsolation.networkNamespace ?? '').ino);
      const uids = all.map((each) => each.agent?.uid);
      for (const own of [cookies, sockets, networks, uids]) expect(new Set(own.map(String)).size).toBe(4);
      const before = await pictureOf(second);
      await kit.shell(first, "xsetroot -solid '#ff0000'");
      expect(await pictureOf(first)).not.toBe(before);
      expect(await pictureOf(second)).toBe(before);
    });

    it("let an agent reach its own server only, and nothing of the host's network", async () => {
      const { port } = hosts.address() as AddressInfo;
      const fetchText = (url: string): string =>
        `${first.paths.node} -e 'fetch("${url}").then((r) => r.text()).then(console.log, (e) => console.log("no:", e.cause?.code))'`;
      expect(await kit.shell(first, fetchText('http://127.0.0.1:5000/status'))).toContain('"os_type":"linux"');
      expect(await kit.shell(first, fetchText(`http://127.0.0.1:${port}/`))).toBe('no: ECONNREFUSED\n');
      expect(await kit.shell(first, fetchText('http://192.0.2.1/'))).toBe('no: ENETUNREACH\n');
      expect(await kit.shell(first, 'cut -d: -f1 /proc/net/dev | tail -n +3')).toMatch(/^\s*lo\n$/u);
      const here = await (await fetch(`http://127.0.0.1:${port}/`)).text();
      expect(here).toBe('a secret of the host');
    });

    it("keep a neighbour's display, cookie and socket out of sight", async () => {
      expect(await kit.shell(first, 'ls /tmp/.X11-unix; grep -c X11-unix /proc/net/unix')).toMatch(/^X0\n\d+\n$/u);
      const [mine, theirs] = [first, second].map((each) => path.join(each.endpoint ?? '', 'home/.Xauthority'));
      for (const file of [theirs, second.endpoint, desktopOf(second).endpoint.socketPath, '/run/examhall', mine])
        expect(await kit.shell(first, `ls -ld '${file ?? ''}'`)).toContain('No such file');
      expect(await kit.shell(first, 'XAUTHORITY=/dev/null xdotool getmouselocation')).toContain(
        'Authorization required',
      );
      expect(await kit.shell(first, 'xdotool getmouselocation')).toContain('screen:0');
      expect(await kit.shell(first, `nsenter --net=/proc/1/ns/net true; unshare --net true`)).toMatch(
        /denied|not permitted/u,
      );
    });

    it('run the agent with its screen, and its files and commands without asking its server', async () => {
      const script = 'echo $DISPLAY; curl -s --version > /dev/null; xdotool getdisplaygeometry';
      const job = sleepJob(0, { argv: ['/bin/sh', '-c', script], env: desktopOf(second).env, cwd: '/home/user' });
      expect(await kit.run(second, job)).toMatchObject({ exitCode: 0, stdoutBytes: ':0\n1280 800\n'.length });
      const calls = [
        { command: 'write_text', params: { path: '/home/user/note', content: 'kept' } },
        { command: 'get_screen_size', params: {} },
        { command: 'read_file', params: { path: '/home/user/note' } },
        { command: 'no_such_command', params: {} },
        { command: 'ls', params: { path: '/home/user' } },
      ];
      expect(await kit.channel.call(second, calls, 60)).toMatchObject([
        { success: true },
        { success: true, size: { width: 1280, height: 800 } },
        { success: true, content: 'kept' },
        { success: false, error: expect.stringContaining('no_such_command') as string },
        { success: true, files: expect.arrayContaining(['note']) as string[] },
      ]);
    });

    it("carry services of the runner in the agent's network, which the agent reaches and nobody else", async () => {
      const program = `require('node:http').createServer((_, answer) => answer.end('served')).listen(8123, '127.0.0.1')`;
      const argv = [first.paths.runnerNode, '-e', program];
      await kit.channel.start(
        first,
        sleepJob(0, { argv, as: 'runner', network: 'sandbox', jobId: 'service', cwd: '/' }),
      );
      const ask = `${first.paths.node} -e 'fetch("http://127.0.0.1:8123/").then((r) => r.text()).then(console.log, () => console.log("none"))'`;
      await vi.waitFor(async () => expect(await kit.shell(first, ask)).toBe('served\n'), { timeout: 60_000 });
      expect(await kit.shell(second, ask)).toBe('none\n');
      await expect(fetch('http://127.0.0.1:8123/')).rejects.toThrow('fetch failed');
      expect(await kit.channel.status(first, 'service')).toMatchObject({ state: 'running' });
    });

    it('open programs that outlive the call that opened them', async () => {
      const uid = first.agent?.uid ?? 0;
      const running = (): boolean => livingPidsOf(uid).some((pid) => commandOf(pid).includes('sleep\u00004321'));
      expect(await kit.ask(first, 'launch', { app: 'sleep', args: ['4321'] })).toMatchObject({ success: true });
      await until(running);
    });

    it('end with the agent: afterwards the screen does not answer, by name, and files still do', async () => {
      const uid = second.agent?.uid ?? 0;
      expect(livingPidsOf(uid).length).toBeGreaterThan(2);
      expect(await kit.channel.stop(second, 'desktop')).toEqual({ confirmedDead: true, survivors: 0 });
      expect(livingPidsOf(uid)).toEqual([]);
      await expect(kit.ask(second, 'screenshot')).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
      expect(await kit.ask(second, 'file_exists', { path: '/home/user/note' })).toMatchObject({ exists: true });
      expect(await kit.provider.describe(second)).toEqual({ state: 'ready' });
    });

    it('leave nothing when they are released', async () => {
      const uids = all.flatMap((each) => each.agent?.uid ?? []);
      const reports = await Promise.all(all.map((each) => kit.provider.release(each, 'delete')));
      expect(reports.flat()).toEqual(
        withFate(
          all.flatMap(({ resources }) => resources),
          'gone',
        ),
      );
      expect(uids.flatMap(livingPidsOf)).toEqual([]);
      expect(readdirSync(path.join(kit.root, 'desktops'))).toEqual([]);
      expect(remainsOf(kit.root)).toEqual([]);
    });
  });
});

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
