import { describeChannel } from '#test/contract/channel-suite';
import { describeSandboxProvider } from '#test/contract/sandbox-provider-suite';
import { StaticKit } from '#test/builders/static-kit';

describeSandboxProvider('static', async () => {
  const kit = await StaticKit.open();
  return { provider: kit.provider, spec: () => kit.spec(), remove: () => kit.remove() };
});

describeChannel('cua, to a machine reached by address', async () => {
  const kit = await StaticKit.open(1);
  const sandbox = await kit.acquire();
  const remove = async (): Promise<void> => {
    await kit.provider.release(sandbox, 'delete');
    await kit.remove();
  };
  return { channel: kit.channel, sandbox, finished: kit.finished, remove };
});
