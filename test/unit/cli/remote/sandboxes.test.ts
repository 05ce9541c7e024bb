import { spawnSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { bootScript } from '#core/boot-script';
import { desktopRoutes, disarmCommand, shellText } from '#core/desktop-access';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import { isConfirmed } from '#cli/remote/confirm';
import { allSandboxes, sandboxNamed } from '#cli/remote/list-sandboxes';
import { reapText, sandboxTable } from '#cli/remote/sandbox-text';
import { stopAll } from '#cli/remote/stop-all';
import { clientOf, problem, startFakeApi, type FakeApi, type FakeHandlers } from './fake-api.ts';

const entry = (changes: Partial<SandboxEntry> = {}): SandboxEntry => ({
  provider: 'aws',
  sandboxId: 'i-0123456789abcdef0',
  state: 'ready',
  owner: 'attempt',
  attemptId: 'sw-1__a__m__t__v0.1',
  unitId: 'sw-1__a__m__t__v0',
  sweepId: 'sw-1',
  os: 'linux',
  launchedAt: '2026-12-01T09:00:00.000Z',
  ageSeconds: 600,
  expiresAt: '2026-12-01T12:00:00.000Z',
  orphanSince: null,
  reaper: 'keep',
  why: 'an open attempt uses it',
  ...changes,
});
const orphan = entry({ sandboxId: 'i-0f', owner: 'orphan', reaper: 'note', attemptId: 'x.1', why: 'nobody\u001b[2J' });

const open: FakeApi[] = [];
afterEach(async () => {
  for (const api of open.splice(0)) await api.close();
});

async function fake(handlers: FakeHandlers): Promise<FakeApi> {
  const api = await startFakeApi(handlers);
  open.push(api);
  return api;
}

describe('listing sandboxes', () => {
  it('follows the pages to their end', async () => {
    const api = await fake({
      listSandboxes: ({ query }) =>
        query['cursor'] === undefined ? { items: [entry()], cursor: 'more' } : { items: [orphan], cursor: null },
    });
    expect((await allSandboxes(clientOf(api))).map(({ sandboxId }) => sandboxId)).toEqual([
      'i-0123456789abcdef0',
      'i-0f',
    ]);
    expect(api.requests).toEqual(['GET /sandboxes', 'GET /sandboxes?cursor=more']);
  });

  it('finds one by its id or its attempt, and says what is wrong with any other', async () => {
    const twins = [entry({ sandboxId: 'i-1', attemptId: 'y.1' }), entry({ sandboxId: 'i-2', attemptId: 'y.1' })];
    const client = clientOf(await fake({ listSandboxes: () => ({ items: [orphan, ...twins], cursor: null }) }));
    expect((await sandboxNamed(client, 'x.1')).sandboxId).toBe('i-0f');
    expect((await sandboxNamed(client, 'i-2')).sandboxId).toBe('i-2');
    await expect(sandboxNamed(client, 'y.1')).rejects.toThrow(/several sandboxes[\s\S]*i-1, i-2/u);
    await expect(sandboxNamed(client, 'i-none')).rejects.toThrow('no such sandbox');
  });

  it('prints owners, counts and why an orphan is one, with nothing that moves a cursor', () => {
    const text = sandboxTable([entry(), orphan, entry({ sandboxId: 'i-k', owner: 'kept', ageSeconds: null })], null);
    expect(text).toMatch(/^sandbox +provider +state +owner +age +expires/u);
    expect(text).toContain('i-0123456789abcdef0  aws       ready  ours    10 min  2026-12-01 12:00');
    expect(text).toContain('1 used, 1 kept on purpose, 1 without an owner');
    expect(text).toContain('i-0f: nobody\ufffd[2J');
    expect(sandboxTable([], null)).toBe('no sandboxes');
    const reaped = reapText([orphan, { ...orphan, reaper: 'reap' }], { kept: 3, isComplete: false });
    expect(reaped.split('\n').map((line) => line.slice(0, 5))).toEqual(['notes', 'ends ', '2 to ']);
    expect(reaped).toContain('which this answer has not looked at');
  });
});

describe('the way to a desktop', () => {
  it('is one port forwarding for each door, and RDP only on Windows', () => {
    const sought = { sandboxId: 'i-0f', region: 'eu-west-1', profile: 'research', localPort: 15_000 } as const;
    const [cua, ...none] = desktopRoutes({ ...sought, os: 'linux' });
    expect(none).toEqual([]);
    expect(cua?.argv.join(' ')).toBe(
      'aws ssm start-session --target i-0f --document-name AWS-StartPortForwardingSession --parameters portNumber=5000,localPortNumber=15000 --region eu-west-1 --profile research',
    );
    const windows = desktopRoutes({ ...sought, os: 'windows', profile: undefined });
    expect(windows.map(({ remotePort, localPort }) => [remotePort, localPort])).toEqual([
      [5000, 15_000],
      [3389, 15_001],
    ]);
    expect(windows[1]?.argv).not.toContain('--profile');
  });

  it('goes with the command that keeps a kept machine on: it names the timer that the boot of that system sets', () => {
    const boot = { kind: 'prepared', privilege: 'restricted', resolution: null, archive: null } as const;
    for (const [os, timer] of [
      ['linux', 'examhall-deadman.timer'],
      ['windows', 'ExamHall-DeadMan'],
    ] as const) {
      const argv = disarmCommand({ sandboxId: 'i-0f', os, region: 'eu-west-1', profile: undefined });
      const { commands } = JSON.parse(argv[argv.indexOf('--parameters') + 1] ?? '') as { commands: string[] };
      expect(commands).toHaveLength(1);
      expect(commands[0]).toContain(timer);
      expect(bootScript({ ...boot, os, expiresAt: '2030-01-01T00:00:00Z' })).toContain(timer);
      const { stdout } = spawnSync('sh', ['-c', `printf '%s\\n' ${shellText(argv)}`], { encoding: 'utf8' });
      expect(stdout.trim().split('\n')).toEqual(argv);
    }
  });
});

const stopped = {
  sweeps: [{ sweepId: 'sw-1', name: 'first', result: 'cancelled' as const, error: null }],
  isReaperAsked: true,
};

/** A clock that only waiting moves. */
function clock() {
  let seconds = 0;
  return { nowSeconds: () => seconds, delay: async (wait: number) => void (seconds += wait) };
}

describe('stopping everything', () => {
  it('looks on until all but what was kept is gone, through a host that is away for a moment', async () => {
    const kept = entry({ sandboxId: 'i-k', owner: 'kept' });
    const gone = entry({ state: 'gone' });
    const pages: (readonly SandboxEntry[] | null)[] = [[entry(), orphan, kept], null, [orphan, kept], [gone, kept]];
    const api = await fake({
      stopAll: () => stopped,
      listSandboxes: () => {
        const items = pages.shift();
        return items === null ? problem(503, 'StoreUnavailableError') : { items: [...(items ?? [])], cursor: null };
      },
    });
    const told: string[] = [];
    const result = await stopAll(clientOf(api), { waitMinutes: 5, tell: (line) => told.push(line), ...clock() });
    expect(result.left).toEqual([]);
    expect(result.kept.map(({ sandboxId }) => sandboxId)).toEqual(['i-k']);
    expect(told).toEqual(['2 sandboxes are being released', '1 sandboxes are being released']);
    expect(api.calls.filter(({ operationId }) => operationId === 'stopAll')).toHaveLength(1);
  });

  it('waits for nothing that was detached, and names it', async () => {
    const detached = entry({ sandboxId: 'i-d', owner: 'detached' });
    const api = await fake({ stopAll: () => stopped, listSandboxes: () => ({ items: [detached], cursor: null }) });
    const told: string[] = [];
    const result = await stopAll(clientOf(api), { waitMinutes: 5, tell: (line) => told.push(line), ...clock() });
    expect([result.left, result.kept.map(({ sandboxId }) => sandboxId), told]).toEqual([[], ['i-d'], []]);
    expect(sandboxTable([detached], null)).toContain('1 detached');
  });

  it('does not wait for what nobody here ends, and says that it is there', async () => {
    const foreign = { ...orphan, attemptId: null, reaper: 'keep' as const };
    const api = await fake({ stopAll: () => stopped, listSandboxes: () => ({ items: [foreign], cursor: null }) });
    const told: string[] = [];
    const result = await stopAll(clientOf(api), { waitMinutes: 5, tell: (line) => told.push(line), ...clock() });
    expect([result.left.map(({ sandboxId }) => sandboxId), told]).toEqual([['i-0f'], []]);
  });

  it('gives up when the time is over, and says what is still there; with no time it only asks', async () => {
    const api = await fake({ stopAll: () => stopped, listSandboxes: () => ({ items: [orphan], cursor: null }) });
    const late = await stopAll(clientOf(api), { waitMinutes: 1, tell: () => undefined, ...clock() });
    expect(late.left).toHaveLength(1);
    const looks = api.calls.length;
    await stopAll(clientOf(api), { waitMinutes: 0, tell: () => undefined, ...clock() });
    expect(api.calls.length - looks).toBe(2);
  });
});

describe('a confirmation', () => {
  const terminal = (isTTY: boolean) => {
    const input = Object.assign(new PassThrough(), { isTTY });
    const output = Object.assign(new PassThrough(), { isTTY });
    return { input, output };
  };

  it('is the word yes at a terminal, and nothing else', async () => {
    for (const [said, isYes] of [
      ['yes', true],
      ['YES ', true],
      ['y', false],
      ['', false],
      ['no', false],
    ] as const) {
      const at = terminal(true);
      at.input.write(`${said}\n`);
      expect(await isConfirmed({ question: 'Stop?', yes: undefined }, at), said).toBe(isYes);
    }
  });

  it('is never a pipe that was silent; --yes is one anywhere', async () => {
    await expect(isConfirmed({ question: 'Stop?', yes: undefined }, terminal(false))).rejects.toThrow('--yes');
    expect(await isConfirmed({ question: 'Stop?', yes: true }, terminal(false))).toBe(true);
  });
});
