import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withFate } from '#core/teardown';
import type { Sandbox } from '#ports/sandbox-provider';
import { StaticKit } from '#test/builders/static-kit';
import { startFakeCuaServer } from '#test/fakes/cua-server';
import { makePng } from '#test/fakes/cua-server-commands';

let kit: StaticKit;

beforeEach(async () => {
  kit = await StaticKit.open(1);
});
afterEach(() => kit.remove());

const homeOf = (): string => path.join(kit.folder, 'home');
const urlOf = (): string => kit.servers[0]?.url ?? '';
const failure = (work: Promise<unknown>): Promise<{ name: string; message: string }> =>
  work.then(
    (value) => ({ name: 'nothing', message: JSON.stringify(value) }),
    (error: unknown) => error as Error,
  );

describe('a machine that was given', () => {
  it('is described as it is: no walls, why not, and where everything lies', async () => {
    const sandbox = await kit.acquire({ attemptId: 'a__b__c__d__v0.3' });
    const folder = path.join(homeOf(), '.examhall', sandbox.sandboxId);
    expect(sandbox).toEqual({
      sandboxId: sandbox.sandboxId,
      attemptId: 'a__b__c__d__v0.3',
      provider: 'static',
      os: 'linux',
      channel: 'cua',
      imageRevision: 'ale-ubuntu22-cua0.3.46',
      paths: {
        dataRoot: `${folder}/data`,
        workRoot: `${folder}/work`,
        node: sandbox.paths.node,
        runnerNode: sandbox.paths.node,
      },
      agent: null,
      isolation: { kind: 'none', network: 'host', reason: expect.stringContaining('was given, not made') as string },
      guestIsolation: { kind: 'none', home: `${folder}/home` },
      desktop: {
        serverUrl: urlOf(),
        endpoint: { url: urlOf(), socketPath: null },
        env: { DISPLAY: ':7' },
        bridge: `${folder}/cua-desktop.mjs`,
      },
      endpoint: urlOf(),
      resources: [{ kind: 'folder', resourceId: folder }],
    });
    expect(sandbox.paths.node).toMatch(/node$/);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('loses nothing at release but what was made for the attempt', async () => {
    mkdirSync(path.join(homeOf(), '.examhall/somebody-else'), { recursive: true });
    writeFileSync(path.join(homeOf(), 'theirs'), 'theirs');
    const sandbox = await kit.acquire();
    await kit.provider.release(sandbox, 'delete');
    expect(readdirSync(path.join(homeOf(), '.examhall'))).toEqual(['somebody-else']);
    expect(readFileSync(path.join(homeOf(), 'theirs'), 'utf8')).toBe('theirs');
    const remove = kit.servers[0]?.requests.filter(({ params }) => String(params['command']).includes('rm -rf'));
    for (const { params } of remove ?? []) expect(String(params['command'])).toMatch(/rm -rf (?:"\$d"|-- '\/.*sbx-)/);
  });

  it('is cleaned up by the operator’s own command, when he wants it, once', async () => {
    const script = `echo done >>${kit.folder}/cleaned`;
    const knobs = { endpoint: urlOf(), cleanup_script: script };
    await kit.provider.release(await kit.acquire({ knobs }), 'delete');
    expect(existsSync(path.join(kit.folder, 'cleaned'))).toBe(false);
    const sandbox = await kit.acquire({ knobs: { ...knobs, cleanup_on_release: true } });
    await kit.provider.release(sandbox, 'stop');
    await kit.provider.release(sandbox, 'delete');
    expect(readFileSync(path.join(kit.folder, 'cleaned'), 'utf8')).toBe('done\n');
  });

  it('is not released while its clean-up fails', async () => {
    const knobs = {
      endpoint: urlOf(),
      cleanup_on_release: true,
      cleanup_script: `[ -e ${kit.folder}/ok ] || { echo no >&2; exit 4; }`,
    };
    const sandbox = await kit.acquire({ knobs });
    const error = await failure(kit.provider.release(sandbox, 'delete'));
    expect(error).toMatchObject({ name: 'ReleaseFailedError' });
    expect(error.message).toMatch(/cleanup_script on .* ended with exit code 4: no/);
    expect(await failure(kit.acquire())).toMatchObject({ name: 'CapacityUnavailableError' });
    writeFileSync(path.join(kit.folder, 'ok'), '');
    expect(await kit.provider.release(sandbox, 'delete')).toEqual(withFate(sandbox.resources, 'gone'));
  });

  it('that no longer answers is gone without evidence, and its folder is not taken for removed', async () => {
    const sandbox = await kit.acquire();
    await kit.servers[0]?.close();
    expect(await kit.provider.describe(sandbox)).toEqual({ state: 'gone', evidence: null });
    expect(await kit.provider.release(sandbox, 'delete')).toEqual(withFate(sandbox.resources, 'left'));
  }, 60_000);
});

describe('a second attempt on the same machine', () => {
  it('is refused by the name of the first, in any experiment, until that is released', async () => {
    const first = await kit.acquire({ attemptId: 'first.1' });
    const elsewhere = await kit.another('another-experiment');
    for (const provider of [kit.provider, elsewhere]) {
      const error = await failure(provider.acquire(kit.spec({ knobs: { endpoint: `${urlOf()}/` } })));
      expect(error.name).toBe('CapacityUnavailableError');
      expect(error.message).toContain(`is held by attempt first.1 (process ${process.pid}, `);
    }
    await kit.provider.release(first, 'delete');
    const second = await elsewhere.acquire(kit.spec());
    await elsewhere.release(second, 'delete');
  });

  it('gets it after a killed host only when that host’s experiment has released it, or is gone itself', async () => {
    const root = path.join(kit.folder, 'state');
    const program = path.join(import.meta.dirname, 'doomed-static.ts');
    const locks = path.join(kit.folder, 'locks');
    const words = ['--import', 'tsx', program, root, locks, JSON.stringify(kit.spec({ attemptId: 'doomed.1' }))];
    const host = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(host.stdout, 'data')) as [Buffer];
    host.kill('SIGKILL');
    await once(host, 'exit');
    const doomed = JSON.parse(line.toString()) as Sandbox;

    const elsewhere = await kit.another('another-experiment');
    expect((await failure(elsewhere.acquire(kit.spec()))).message).toContain('held by attempt doomed.1');
    expect((await kit.provider.list()).sandboxes).toMatchObject([{ attemptId: 'doomed.1', state: 'ready' }]);
    await kit.provider.release({ sandboxId: doomed.sandboxId, resources: [] }, 'delete');
    expect(existsSync(path.join(homeOf(), '.examhall'))).toBe(false);
    const next = await elsewhere.acquire(kit.spec());
    await elsewhere.release(next, 'delete');
  }, 60_000);

  it('gets it when its holder died before it came to anything', async () => {
    const sandbox = await kit.acquire();
    const [lock] = readdirSync(path.join(kit.folder, 'locks'));
    const file = path.join(kit.folder, 'locks', lock ?? '');
    const held = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    await kit.provider.release(sandbox, 'delete');
    writeFileSync(file, JSON.stringify({ ...held, sandboxId: 'sbx-1', startTicks: '1' }));
    const next = await kit.acquire();
    await kit.provider.release(next, 'delete');
  });
});

describe('a machine that cannot be used as asked', () => {
  const refused = async (overrides: Parameters<StaticKit['acquire']>[0]): Promise<string> => {
    const { name, message } = await failure(kit.acquire(overrides));
    return `${name}: ${message}`;
  };

  it('is refused with the reason, and held no longer', async () => {
    expect(await refused({ os: 'windows' })).toMatch(/^SandboxRefusedError: .* os windows \(allowed: linux\)/);
    expect(await refused({ network: 'sealed' })).toMatch(
      /network sealed \(allowed: open; the machine's network is as it is\)/,
    );
    expect(await refused({ knobs: { endpoint: 'here' } })).toMatch(/endpoint "here" \(allowed: http:\/\/host:port\)/);
    expect(await refused({ resolution: '800x600' })).toMatch(/its screen is 64x48 and resolution 800x600 is asked for/);
    const black = { success: true, image_data: makePng(8, 8, [0, 0, 0]).toString('base64') };
    kit.servers[0]?.answer('screenshot', { kind: 'frame', fields: black });
    expect(await refused({})).toMatch(/^ProvisionFailedError: the screen of the machine at .* is black/);
    if (process.getuid?.() === 0)
      expect(await refused({ privilege: 'restricted' })).toMatch(
        /^SandboxRefusedError: .* has root's rights; run the server as/,
      );
    expect((await kit.provider.list()).sandboxes).toEqual([]);
    await kit.provider.release(await kit.acquire(), 'delete');
  });

  it('is refused when its server is too old, and tried when it does not say what it can do', async () => {
    const old = await startFakeCuaServer({ commands: ['run_command', 'screenshot'], env: { HOME: homeOf() } });
    expect(await refused({ knobs: { endpoint: old.url } })).toMatch(
      /its server lacks the commands read_bytes, write_bytes, /,
    );
    await old.close();
    const silent = await startFakeCuaServer({ commands: null, env: { HOME: homeOf() } });
    const sandbox = await kit.acquire({ knobs: { endpoint: silent.url } });
    expect(await kit.provider.release(sandbox, 'delete')).toEqual(withFate(sandbox.resources, 'gone'));
    await silent.close();
  });

  it('is an error of ours when nothing answers there', async () => {
    await kit.servers[0]?.close();
    expect(await refused({})).toMatch(/^ProvisionFailedError: the machine at .* could not be attached: .*ECONNREFUSED/);
    expect((await kit.provider.list()).sandboxes).toEqual([]);
  });
});
