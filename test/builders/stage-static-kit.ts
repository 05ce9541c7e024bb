import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createGuestCalls } from '#adapters/cua-guest-calls';
import { hostOfGuest } from '#core/guest-address';
import { functionNamed } from '#contracts/functions';
import type { Channel } from '#ports/channel';
import type { Clock } from '#ports/clock';
import type { GuestCalls } from '#ports/guest-calls';
import type { Sandbox, SandboxProvider, SandboxSpec } from '#ports/sandbox-provider';
import { staticChannel, staticProvider } from '#runtime/aws-static-machines';
import { requestsFor } from '#test/builders/given-machines';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { guestRunner } from '#test/unit/guest/guest-kit';
import { callGuest } from '#usecases/call-guest';

/** A folder with the files of a function that launches. */
export async function functionFolder(folder: string): Promise<string> {
  await copyFile(await guestRunner(), path.join(folder, 'runner.mjs'));
  await writeFile(path.join(folder, 'cua-desktop.mjs'), '// the bridge\n');
  return folder;
}

const hostsOf = (servers: readonly FakeCuaServer[]): readonly string[] =>
  servers.map(({ url }) => hostOfGuest(url) ?? '');

/** Machines that are really this computer behind servers of the double, as functions of a stage reach them: by rows and by calls passed on. */
export class StageStaticKit {
  readonly folder: string;
  readonly servers: readonly FakeCuaServer[];
  readonly store = new InMemoryUnitStore();
  readonly clock: Clock = { now: () => new Date(), sleep: () => Promise.resolve() };
  /** What the function in the network was asked, in order. */
  readonly asked: string[] = [];
  /** Why calls are not passed on at all just now. */
  notPassedOn: string | null = null;
  /** What a request for the next machine says. */
  readonly spec: ReturnType<typeof requestsFor>;

  private constructor(folder: string, servers: readonly FakeCuaServer[]) {
    this.folder = folder;
    this.servers = servers;
    this.spec = requestsFor(servers);
  }

  static async open(machines = 2): Promise<StageStaticKit> {
    const folder = await functionFolder(await mkdtemp(path.join(os.tmpdir(), 'examhall-stage-static-')));
    const env = { HOME: path.join(folder, 'home'), DISPLAY: ':7' };
    const servers = await Promise.all(Array.from({ length: machines }, () => startFakeCuaServer({ env })));
    return new StageStaticKit(folder, servers);
  }

  get hosts(): readonly string[] {
    return hostsOf(this.servers);
  }

  /** The function in the network, with the hosts that it was deployed with. */
  #guestCalls(guestHosts: readonly string[]): GuestCalls {
    const ports = { guestCalls: createGuestCalls(), guestHosts };
    return {
      answer: async (url, calls, timeoutSeconds) => {
        this.asked.push(...calls.map(({ command }) => command));
        const fault = this.notPassedOn;
        if (fault !== null)
          return calls.map(() => ({
            kind: 'transport' as const,
            fault: 'unreachable',
            reason: fault,
            isNotPassedOn: true as const,
          }));
        return await callGuest({ url, calls: calls.map((call) => ({ ...call })), timeoutSeconds }, ports);
      },
    };
  }

  #ports(hosts: readonly string[], isCalling: boolean) {
    const { store: unitStore, clock, folder } = this;
    return { unitStore, clock, folder, hosts, guestCalls: isCalling ? this.#guestCalls(hosts) : null };
  }

  /** As the named function has it; `hosts` are those of the settings. */
  async provider(name: string, hosts = this.hosts): Promise<SandboxProvider> {
    const { needs } = functionNamed(name);
    const isCalling = needs.some(({ port }) => port === 'staticMachines');
    return await staticProvider(this.#ports(hosts, isCalling), needs);
  }

  async channel(): Promise<Channel> {
    return await staticChannel(this.#ports(this.hosts, true));
  }

  async acquire(overrides: Partial<SandboxSpec> = {}): Promise<Sandbox> {
    return await (await this.provider('provision-sandbox')).acquire(this.spec(overrides));
  }

  async remove(): Promise<void> {
    for (const server of this.servers) await server.close();
    await rm(this.folder, { recursive: true });
  }
}
