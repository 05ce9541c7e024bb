import { createNoopProvider } from '#local/sandboxes/noop-provider';
import { fakeChannel, sandboxSpec } from '#test/fakes/sandbox';
import { tier } from '#test/runner/tier';
import { DesktopKit } from '#test/unit/local/sandboxes/desktop-kit';
import { ProcessKit } from '#test/unit/local/sandboxes/process-kit';
import { describeChannel, type ChannelSubject } from './channel-suite.ts';

async function openProcess(withoutWalls?: string): Promise<ChannelSubject> {
  const kit = await ProcessKit.open(withoutWalls === undefined ? {} : { withoutWalls });
  const sandbox = await kit.acquire();
  return { channel: kit.channel, sandbox, finished: kit.finished, remove: () => kit.remove() };
}

describeChannel('in memory', async () => {
  const sandbox = await createNoopProvider().acquire(sandboxSpec());
  return { ...fakeChannel(), sandbox, remove: async () => undefined };
});

describeChannel('local, without walls', () => openProcess('asked for by the test'));

tier('isolation')('with namespaces', () => {
  describeChannel('local, walled in', () => openProcess());
});

async function openDesktop(withoutWalls?: string): Promise<ChannelSubject> {
  const kit = await DesktopKit.open(withoutWalls === undefined ? {} : { withoutWalls });
  const sandbox = await kit.acquire();
  return { channel: kit.channel, sandbox, finished: kit.finished, remove: () => kit.remove() };
}

tier('desktop')('with a screen', () => {
  describeChannel('to a desktop, as this account can', () => openDesktop());
  describeChannel('to a desktop, without walls', () => openDesktop('asked for by the test'));
});
