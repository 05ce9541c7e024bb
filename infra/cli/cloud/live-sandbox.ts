import type { SandboxEntry } from '#contracts/api-sandboxes';
import type { ApiClient } from '#cli/remote/api-client';
import { commandLineError } from '#cli/remote/command-line-error';
import { sandboxNamed } from '#cli/remote/list-sandboxes';

export interface LiveSandbox {
  readonly sandbox: SandboxEntry;
  readonly sandboxId: string;
  readonly os: 'linux' | 'windows';
}

/** A sandbox in EC2 that is up. `kept`: one that no agent works in, since what is done there would end its work. @throws ConfigError */
export async function usableSandbox(
  client: Pick<ApiClient, 'baseUrl' | 'call'>,
  id: string,
  owner: 'kept' | 'any',
): Promise<LiveSandbox> {
  const sandbox = await sandboxNamed(client, id);
  const { provider, state, os, sandboxId } = sandbox;
  const wrong = [
    ...(provider === 'aws' ? [] : [`provider ${provider}`]),
    ...(state === 'ready' ? [] : [`state ${state}`]),
    ...(os === null ? ['an attempt that is not known here'] : []),
    ...(owner === 'any' || sandbox.owner === 'kept' ? [] : [`owner ${sandbox.owner}`]),
  ];
  if (wrong.length === 0 && os !== null) return { sandbox, sandboxId, os };
  throw commandLineError({
    what: 'this cannot be done on that sandbox',
    got: `${sandboxId}: ${wrong.join(', ')}`,
    allowed: `a sandbox in EC2 (provider aws) that is ready${owner === 'kept' ? ', and was kept on purpose' : ''}`,
    action:
      owner === 'kept'
        ? 'put `cleanup_mode: keep` into an experiment, `examhall run` it on the stage with `--watch`, and give the id of one that `examhall sandboxes list` shows with owner kept'
        : 'give one that `examhall sandboxes` lists as ready',
  });
}
