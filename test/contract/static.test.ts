import { describeChannel } from '#test/contract/channel-suite';
import { describeSandboxProvider } from '#test/contract/sandbox-provider-suite';
import { StageStaticKit } from '#test/builders/stage-static-kit';
import { StaticKit } from '#test/builders/static-kit';

describeSandboxProvider('static', async () => {
  const kit = await StaticKit.open();
  return { provider: kit.provider, spec: () => kit.spec(), remove: () => kit.remove() };
});

describeSandboxProvider('static, on a stage', async () => {
  const kit = await StageStaticKit.open();
  return { provider: await kit.provider('provision-sandbox'), spec: () => kit.spec(), remove: () => kit.remove() };
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

describeChannel('cua, to a machine that another function calls', async () => {
  const kit = await StageStaticKit.open(1);
  const sandbox = await kit.acquire();
  const remove = async (): Promise<void> => {
    await (await kit.provider('release-sandbox')).release(sandbox, 'delete');
    await kit.remove();
  };
  return { channel: await kit.channel(), sandbox, finished: [], remove };
});
