import { fakeProvider } from '#test/fakes/sandbox';
import { tier } from '#test/runner/tier';
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
