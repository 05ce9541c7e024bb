import type { SandboxSpec } from '#ports/sandbox-provider';
import type { FakeCuaServer } from '#test/fakes/cua-server';
import { sandboxSpec } from '#test/fakes/sandbox';

/** The account that runs the tests may be root, and so then is the machine's. */
export const OWN_PRIVILEGE = process.getuid?.() === 0 ? 'upstream' : 'restricted';

/** Requests for given machines, one after the other and around again. */
export function requestsFor(servers: readonly FakeCuaServer[]): (overrides?: Partial<SandboxSpec>) => SandboxSpec {
  let given = 0;
  return (overrides = {}) => {
    const server = servers[given % servers.length];
    given += 1;
    return sandboxSpec({
      provider: 'static',
      image: 'ale-ubuntu22',
      privilege: OWN_PRIVILEGE,
      knobs: { endpoint: server?.url ?? '' },
      ...overrides,
    });
  };
}
