import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { CuaChannel } from '#adapters/cua-channel';
import type { StaticProviderOptions } from '#adapters/static-provider';
import { composeStaticMachines } from '#runtime/static-machines';
import type { Sandbox, SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
import { requestsFor } from '#test/builders/given-machines';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';
import { guestRunner } from '#test/unit/guest/guest-kit';

/** Machines that are really this computer behind servers of the double, attached by the static provider. */
export class StaticKit {
  readonly folder: string;
  readonly servers: readonly FakeCuaServer[];
  readonly provider: SandboxProvider;
  readonly channel: CuaChannel;
  readonly finished: string[];
  /** What a request for the next machine says. */
  readonly spec: ReturnType<typeof requestsFor>;

  private constructor(made: Pick<StaticKit, 'folder' | 'servers' | 'provider' | 'channel' | 'finished'>) {
    this.folder = made.folder;
    this.servers = made.servers;
    this.spec = requestsFor(made.servers);
    this.provider = made.provider;
    this.channel = made.channel;
    this.finished = made.finished;
  }

  static async open(machines = 2): Promise<StaticKit> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-static-'));
    const home = path.join(folder, 'home');
    const servers = await Promise.all(
      Array.from({ length: machines }, () => startFakeCuaServer({ env: { HOME: home, DISPLAY: ':7' } })),
    );
    const finished: string[] = [];
    const onJobFinished = (jobId: string): void => void finished.push(jobId);
    const { channel, provider } = await machinesAt(folder, 'state', onJobFinished);
    return new StaticKit({ folder, servers, provider, channel, finished });
  }

  acquire(overrides: Partial<SandboxSpec> = {}): Promise<Sandbox> {
    return this.provider.acquire(this.spec(overrides));
  }

  /** As another process would have it: of the same state folder, or of another experiment's. */
  async another(state = 'state'): Promise<SandboxProvider> {
    return (await machinesAt(this.folder, state, () => undefined)).provider;
  }

  async remove(): Promise<void> {
    this.channel.close();
    for (const server of this.servers) await server.close();
    await rm(this.folder, { recursive: true });
  }
}

async function machinesAt(
  folder: string,
  state: string,
  onJobFinished: (jobId: string) => void,
): Promise<ReturnType<typeof composeStaticMachines>> {
  return composeStaticMachines({
    root: path.join(folder, state),
    files: await staticFiles(folder),
    locks: path.join(folder, 'locks'),
    onJobFinished,
  });
}

/** What goes onto machines; the bridge is a file and nothing more. */
export async function staticFiles(folder: string): Promise<StaticProviderOptions['files']> {
  const bridge = path.join(folder, 'bridge.mjs');
  await writeFile(bridge, '// the bridge\n');
  return async () => ({ guestRunner: await guestRunner(), bridge });
}
