import type { SandboxEntry } from '#contracts/api-sandboxes';
import type { ApiClient } from './api-client.ts';
import { commandLineError } from './command-line-error.ts';
import { allPages } from './pages.ts';

/** Every sandbox that the host's providers list. */
export async function allSandboxes(client: Pick<ApiClient, 'baseUrl' | 'call'>): Promise<readonly SandboxEntry[]> {
  return await allPages(client, async ({ cursor }) => {
    return await client.call('listSandboxes', { query: cursor === undefined ? {} : { cursor } });
  });
}

/** The one of that id, or of that attempt. @throws ConfigError when it is not listed, or an attempt has several. */
export async function sandboxNamed(client: Pick<ApiClient, 'baseUrl' | 'call'>, id: string): Promise<SandboxEntry> {
  const all = await allSandboxes(client);
  const found = all.filter(({ sandboxId, attemptId }) => sandboxId === id || attemptId === id);
  const [first, second] = found;
  if (first !== undefined && second === undefined) return first;
  throw commandLineError({
    what: first === undefined ? 'there is no such sandbox' : 'there are several sandboxes of that attempt',
    got: JSON.stringify(id),
    allowed:
      first === undefined
        ? 'a sandbox or an attempt that `examhall sandboxes` lists'
        : found.map(({ sandboxId }) => sandboxId).join(', '),
    action: first === undefined ? 'look at `examhall sandboxes`: it may be gone' : 'give the id of one of them',
  });
}
