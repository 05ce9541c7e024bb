import { afterEach, describe, expect, it } from 'vitest';
import type { GuestHello } from '#contracts/guest';
import type { GuestReadiness } from '#ports/channel';
import type { Sandbox } from '#ports/sandbox-provider';
import { plainPng } from '#test/builders/pictures';
import { SsmKit, type SsmKitOptions } from '#test/builders/ssm-kit';
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

const readiness = async (kit: SsmKit, sandbox: Sandbox = kit.sandbox()): Promise<GuestReadiness | undefined> =>
  await kit.channel.readiness?.(sandbox);
const helloOf = async (kit: SsmKit): Promise<GuestHello> => {
  await readiness(kit);
  return JSON.parse(kit.ssm.printed.at(-1) ?? '') as GuestHello;
};
const unavailable = (message: RegExp): object => ({
  name: 'ChannelUnavailableError',
  message: expect.stringMatching(message) as string,
});

describe('row 14: a machine that runs need not be registered yet', () => {
  it('waits for its agent while it is unknown, or known and not online', async () => {
    const kit = await openKit();
    kit.ssm.isRegistered = false;
    expect(await readiness(kit)).toEqual({ state: 'waiting', waitsFor: 'agent-online' });
    kit.ssm.isRegistered = true;
    kit.ssm.isOnline = false;
    expect(await readiness(kit)).toEqual({ state: 'waiting', waitsFor: 'agent-online' });
    expect(kit.ssm.sent).toEqual([]);
  });

  it('waits for a runner that cannot be started, or has not answered', async () => {
    const kit = await openKit();
    kit.ssm.fails.push('failed', 'undelivered');
    expect(await readiness(kit)).toEqual({ state: 'waiting', waitsFor: 'runner' });
    expect(await readiness(kit)).toEqual({ state: 'waiting', waitsFor: 'runner' });
    expect(await readiness(kit)).toMatchObject({ state: 'ready' });
  });

  it('waits for a picture on the screen, and a black one is none', async () => {
    const black = await openServer([0, 0, 0]);
    const dark = await openKit({ cuaUrl: black.url });
    expect(await readiness(dark)).toEqual({ state: 'waiting', waitsFor: 'screen' });
    const nobody = await openKit({ cuaUrl: 'http://127.0.0.1:1' });
    expect(await readiness(nobody)).toEqual({ state: 'waiting', waitsFor: 'screen' });
    const shown = await openKit({ cuaUrl: (await openServer()).url });
    expect(await readiness(shown)).toMatchObject({ state: 'ready' });
  });

  it('fails at once for a screen of another size than was asked for, or of one that nobody tells', async () => {
    const kit = await openKit({ cuaUrl: (await openServer()).url });
    const { desktop } = kit.sandbox();
    if (desktop === null) throw new Error('there is no desktop');
    const asked = async (size: string): Promise<GuestReadiness | undefined> =>
      await readiness(kit, kit.sandbox({ desktop: { ...desktop, size } }));
    expect(await asked('64x48')).toMatchObject({ state: 'ready' });
    const reason = expect.stringMatching(/its screen is 64x48, and 1920x1080 is asked for \(`resolution` of/) as string;
    expect(await asked('1920x1080')).toEqual({ state: 'failed', reason });
    const { screenSize: _size, screenNote: _note, ...state } = (await helloOf(kit)).state;
    kit.ssm.says = `${JSON.stringify({ ...(await helloOf(kit)), state })}\n`;
    expect(await asked('64x48')).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/does not tell/) as string,
    });
  });

  it('tells why a screen has another size, as the machine noted it', async () => {
    const kit = await openKit({ cuaUrl: (await openServer()).url });
    const { desktop } = kit.sandbox();
    if (desktop === null) throw new Error('there is no desktop');
    const said = await helloOf(kit);
    const screenNote = 'this screen cannot be 1920x1080; it can be 1024x768';
    kit.ssm.says = `${JSON.stringify({ ...said, state: { ...said.state, screenNote } })}\n`;
    expect(await readiness(kit, kit.sandbox({ desktop: { ...desktop, size: '1920x1080' } }))).toEqual({
      state: 'failed',
      reason: expect.stringContaining(`on the machine: ${screenNote}`) as string,
    });
  });

  it('tells the guest’s key, and never takes another one for it', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    expect(Buffer.from(sandbox.sealingKey ?? '', 'base64url')).toHaveLength(32);
    expect(await readiness(kit, sandbox)).toEqual({ state: 'ready', sealingKey: sandbox.sealingKey });
    const other = Buffer.alloc(32, 1).toString('base64url');
    expect(await readiness(kit, { ...sandbox, sealingKey: other })).toMatchObject({ state: 'failed' });
  });

  it('is a guest that is not available when it is asked for anything then', async () => {
    const kit = await openKit();
    const sandbox = await kit.ready();
    kit.ssm.isRegistered = false;
    await expect(kit.channel.status(sandbox, 'a.1~run')).rejects.toMatchObject(
      unavailable(/does not know the machine/),
    );
    const unsealed = kit.channel.status(kit.sandbox(), 'a.1~run');
    await expect(unsealed).rejects.toMatchObject(unavailable(/has not told its key/));
  });
});
