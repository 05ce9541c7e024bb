import { fakeProvider } from '#test/fakes/sandbox';
import { tier } from '#test/runner/tier';
import { DesktopKit } from '#test/unit/local/sandboxes/desktop-kit';
import { ProcessKit } from '#test/unit/local/sandboxes/process-kit';
import { describeSandboxProvider, type ProviderSubject } from './sandbox-provider-suite.ts';

async function openProcess(withoutWalls?: string): Promise<ProviderSubject> {
  const kit = await ProcessKit.open(withoutWalls === undefined ? {} : { withoutWalls });
  return { provider: kit.provider, remove: () => kit.remove() };
}

describeSandboxProvider('in memory', async () => ({ provider: fakeProvider(), remove: async () => undefined }));

describeSandboxProvider('process, without walls', () => openProcess('asked for by the test'));

tier('isolation')('with namespaces', () => {
  describeSandboxProvider('process, walled in', () => openProcess());
});

async function openDesktop(withoutWalls?: string): Promise<ProviderSubject> {
  const kit = await DesktopKit.open(withoutWalls === undefined ? {} : { withoutWalls });
  return { provider: kit.provider, remove: () => kit.remove() };
}

tier('desktop')('with a screen', () => {
  describeSandboxProvider('desktop, as this account can', () => openDesktop());
  describeSandboxProvider('desktop, without walls', () => openDesktop('asked for by the test'));
});
