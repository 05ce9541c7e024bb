import { createGuestCalls } from '#adapters/cua-guest-calls';
import type { Sandbox } from '#ports/sandbox-provider';
import { SsmKit, type SsmKitOptions } from '#test/builders/ssm-kit';
import { startFakeCuaServer } from '#test/fakes/cua-server';
import { tier } from '#test/runner/tier';
import { testAccount } from '#test/unit/guest/guest-kit';
import { describeChannel, type ChannelSubject } from './channel-suite.ts';

async function open(options: SsmKitOptions = {}, overrides: Partial<Sandbox> = {}): Promise<ChannelSubject> {
  const kit = await SsmKit.open(options);
  const sandbox = await kit.ready(overrides);
  return { channel: kit.channel, sandbox, finished: kit.finished, remove: () => kit.remove() };
}

describeChannel('ssm, to a runner that is really run', () => open());

describeChannel('ssm, to a desktop by way of the function in its network', async () => {
  const server = await startFakeCuaServer();
  const subject = await open({ cuaUrl: server.url, guestCalls: createGuestCalls() });
  const remove = async (): Promise<void> => {
    await subject.remove();
    await server.close();
  };
  return { ...subject, remove };
});

tier('isolation')('with an account of the agent’s own', () => {
  describeChannel('ssm, beside a desktop', () =>
    open({}, { agent: testAccount('/tmp'), guestIsolation: { kind: 'none', keepsDesktop: true } }),
  );
});
