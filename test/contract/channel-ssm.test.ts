import { SsmKit } from '#test/builders/ssm-kit';
import { describeChannel } from './channel-suite.ts';

describeChannel('ssm, to a runner that is really run', async () => {
  const kit = await SsmKit.open();
  const sandbox = await kit.ready();
  return { channel: kit.channel, sandbox, finished: kit.finished, remove: () => kit.remove() };
});
