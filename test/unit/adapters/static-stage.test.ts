import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rowKeys } from '#core/keys';
import type { SandboxWish } from '#ports/sandbox-provider';
import { StageStaticKit } from '#test/builders/stage-static-kit';

let kit: StageStaticKit;
beforeEach(async () => {
  kit = await StageStaticKit.open(1);
});
afterEach(() => kit.remove());

const ours = (): readonly string[] => {
  const folder = path.join(kit.folder, 'home', '.examhall');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const rowsLeft = async (): Promise<number> => {
  const pages = await Promise.all(
    [rowKeys.staticAttachment(''), rowKeys.staticLock('')].map(async ({ pk }) => await kit.store.query({ pk })),
  );
  return pages.flatMap(({ rows }) => rows).length;
};

describe('a given machine on a stage', () => {
  it('is listed from rows alone by functions that do not declare it, which cannot ask it', async () => {
    const sandbox = await kit.acquire();
    const before = kit.asked.length;
    expect(before).toBeGreaterThan(5);
    const api = await kit.provider('answer-queries');
    const { sandboxId, attemptId } = sandbox;
    expect((await api.list()).sandboxes).toMatchObject([{ sandboxId, attemptId, state: 'ready' }]);
    await expect(api.describe(sandbox)).rejects.toMatchObject({ name: 'EnvironmentInvalidError' });
    expect(kit.asked).toHaveLength(before);
    await (await kit.provider('expire-sandbox')).release({ sandboxId, resources: [] }, 'delete');
    expect([ours(), await rowsLeft()]).toEqual([[], 0]);
  });

  it('that was taken off the list is not asked, not taken for ended, and released once it is back', async () => {
    const sandbox = await kit.acquire();
    const before = kit.asked.length;
    const without = await kit.provider('release-sandbox', []);
    expect(await without.describe(sandbox)).toEqual({ state: 'gone', evidence: null });
    await without.release(sandbox, 'delete');
    expect(kit.asked).toHaveLength(before);
    expect([ours(), await rowsLeft()]).toEqual([[sandbox.sandboxId], 2]);
    await (await kit.provider('release-sandbox')).release(sandbox, 'delete');
    expect([ours(), await rowsLeft()]).toEqual([[], 0]);
  });

  it('that is released while it is being attached belongs to nobody, and nothing is left there', async () => {
    kit.servers[0]?.answer('version', { kind: 'slow', milliseconds: 1_500 });
    const spec = kit.spec();
    const attaching = (await kit.provider('provision-sandbox')).acquire(spec);
    const outcome = expect(attaching).rejects.toMatchObject({
      name: 'ProvisionFailedError',
      message: expect.stringContaining('was released while the machine at') as string,
    });
    const reaper = await kit.provider('reap-sandboxes');
    for (let tries = 0; (await reaper.list()).sandboxes.length === 0 && tries < 200; tries += 1) await sleep(5);
    for (const { sandboxId } of (await reaper.list()).sandboxes)
      await reaper.release({ sandboxId, resources: [] }, 'delete');
    await outcome;
    expect([ours(), await rowsLeft()]).toEqual([[], 0]);
  });

  it('is not taken for gone, nor for ended, while the function that calls guests cannot be reached', async () => {
    const sandbox = await kit.acquire();
    const provider = await kit.provider('watch-runs');
    kit.notPassedOn = 'the function that passes calls on did not answer: TooManyRequestsException: slow down';
    await expect(provider.describe(sandbox)).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    const channel = await kit.channel();
    const calls = [{ command: 'version', params: {} }];
    await expect(channel.call(sandbox, calls, 5)).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    await expect(channel.status(sandbox, 'a.1~run')).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
    const releasing = await kit.provider('release-sandbox');
    await releasing.release(sandbox, 'delete');
    expect([ours(), await rowsLeft()]).toEqual([[sandbox.sandboxId], 2]);
    kit.notPassedOn = null;
    expect(await provider.describe(sandbox)).toEqual({ state: 'ready' });
    await releasing.release(sandbox, 'delete');
    expect([ours(), await rowsLeft()]).toEqual([[], 0]);
  });

  it('is refused by what the plan knows, naming what was seen, what is listed and what to change', async () => {
    const planner = await kit.provider('plan-sweep', ['10.1.2.3:5000', '10.1.2.4:8000']);
    const size = { machineType: null, vCpus: 2, memoryMiB: 4096, gpu: false } as const;
    const place = { snapshot: 'cpu-free', image: 'ale-ubuntu22', privilege: 'upstream', resolution: null } as const;
    const refusalOf = (changes: Partial<SandboxWish>): string | null | undefined => {
      const wish = {
        ...size,
        ...place,
        os: 'linux',
        network: 'open',
        knobs: { endpoint: 'http://10.1.2.3:5000' },
      } as const;
      return planner.refusal?.({ ...wish, ...changes });
    };
    expect(refusalOf({})).toBeNull();
    expect(refusalOf({ knobs: { endpoint: 'http://10.1.2.4:8000/' } })).toBeNull();
    expect(refusalOf({ knobs: { endpoint: 'http://10.1.2.3:8000' } })).toBe(
      'snapshot "cpu-free": provider static cannot give endpoint "http://10.1.2.3:8000" (allowed: http://<address:port> of sandboxes.staticHosts in the settings, which lists 10.1.2.3:5000, 10.1.2.4:8000; add the machine there and deploy). Change the request',
    );
    for (const endpoint of ['https://10.1.2.3:5000', 'http://10.1.2.3', 'http://10.1.2.3:5000/cmd', 'http://a:5000'])
      expect(refusalOf({ knobs: { endpoint } })).toContain(`endpoint "${endpoint}"`);
    expect(refusalOf({ os: 'windows' })).toContain('os windows (allowed: linux)');
    expect(refusalOf({ network: 'sealed' })).toContain('network sealed (allowed: open');
    expect(
      planner.offer?.({ ...size, ...place, os: 'linux', network: 'open', knobs: { endpoint: 'http://10.1.2.3:5000' } }),
    ).toEqual({
      machines: [],
      vCpus: 2,
      seats: 1,
      seatOf: 'http://10.1.2.3:5000',
    });
    expect(kit.asked).toEqual([]);
  });
});
