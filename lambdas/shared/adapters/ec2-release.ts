import {
  DeleteNetworkInterfaceCommand,
  DeleteVolumeCommand,
  TerminateInstancesCommand,
  type EC2Client,
  type Filter,
  type Instance,
} from '@aws-sdk/client-ec2';
import type { SandboxSettings } from '#core/sandbox-settings';
import { isNotIn, withFate } from '#core/teardown';
import type { Clock } from '#ports/clock';
import type { ReleaseReport, SandboxToRelease, TeardownResource } from '#ports/sandbox-provider';
import { isAnswerNamed } from './aws-service-fault.ts';
import { askEc2, releaseFailed } from './ec2-faults.ts';
import type { Ec2Lookup } from './ec2-lookup.ts';
import { Patience } from './ec2-patience.ts';
import { resourcesOf } from './ec2-sandbox.ts';
import { mayBeTooNew } from './ec2-state.ts';
import { attemptFilters, isOurs } from './ec2-tags.ts';

export interface ReleaseTools {
  readonly client: EC2Client;
  readonly lookup: Ec2Lookup;
  readonly settings: SandboxSettings;
  readonly clock: Clock;
}

const ALIVE = ['pending', 'running', 'stopping', 'stopped', 'shutting-down'];

/**
 * Ends the machines of one attempt, then what they left, and looks until all of it is seen gone. A machine that an earlier call
 * has told to end, and that still does, is ended by force. One that has lost the tag that made it ours is somebody else's now, and
 * is reported as that with what hangs on it.
 */
export async function deleteSandbox(tools: ReleaseTools, sandbox: SandboxToRelease): Promise<ReleaseReport> {
  const deletion = await Deletion.open(tools, sandbox);
  const patience = new Patience(tools.clock);
  for (;;) {
    const left = await deletion.step();
    if (left.length === 0 || !(await patience.wait())) return await deletion.report(left);
  }
}

/** One release from its first look to its last. */
class Deletion {
  readonly #tools: ReleaseTools;
  readonly #sandbox: SandboxToRelease;
  readonly #attemptId: string;
  /** Everything that was ever seen or named, by kind and id. */
  readonly #known = new Map<string, TeardownResource>();
  readonly #told = new Set<string>();
  #hasLooked = false;
  /** Machines that are there and ours no more, and so is what hangs on them. */
  readonly #taken = new Set<string>();

  private constructor(tools: ReleaseTools, sandbox: SandboxToRelease, attemptId: string) {
    this.#tools = tools;
    this.#sandbox = sandbox;
    this.#attemptId = attemptId;
    for (const resource of sandbox.resources) this.#know(resource);
    const kind = KIND_OF_PREFIX[sandbox.sandboxId.split('-')[0] ?? ''];
    if (kind !== undefined) this.#know({ kind, resourceId: sandbox.sandboxId });
  }

  /** Without an attempt only what was named is ended, and what hangs on it: the attempt may have another machine in use. */
  static async open(tools: ReleaseTools, sandbox: SandboxToRelease): Promise<Deletion> {
    const { attemptId = '', sandboxId } = sandbox;
    const deletion = new Deletion(tools, sandbox, attemptId);
    if (attemptId !== '' || !sandboxId.startsWith('i-')) return deletion;
    const [seen] = await tools.lookup.instances([{ Name: 'instance-id', Values: [sandboxId] }]);
    for (const resource of seen === undefined ? [] : resourcesOf(seen)) deletion.#know(resource);
    return deletion;
  }

  #know(resource: TeardownResource): void {
    this.#known.set(`${resource.kind} ${resource.resourceId}`, resource);
  }

  #ids(kind: TeardownResource['kind']): string[] {
    return [...this.#known.values()].filter((each) => each.kind === kind).map(({ resourceId }) => resourceId);
  }

  async report(left: readonly TeardownResource[]): Promise<ReleaseReport> {
    const notOurs = (await this.#notOurs()).filter(isNotIn(left));
    const gone = [...this.#known.values()].filter(isNotIn([...left, ...notOurs]));
    return [...withFate(gone, 'gone'), ...withFate(left, 'left'), ...withFate(notOurs, 'not-ours')];
  }

  async #notOurs(): Promise<readonly TeardownResource[]> {
    if (this.#taken.size === 0) return [];
    const machines = [...this.#taken].map((resourceId) => ({ kind: 'machine', resourceId }) as const);
    const parts = [];
    for (const kind of ['volume', 'interface'] as const)
      for (const { id } of await this.#found(kind)) parts.push({ kind, resourceId: id });
    return [...machines, ...parts];
  }

  /** Looks, does what can be done now, and says what was still there. */
  async step(): Promise<readonly TeardownResource[]> {
    const machines = await this.#machines();
    if (machines.length > 0) return [...machines, ...(await this.#attached())];
    if (this.#taken.size > 0) return [];
    return [...(await this.#volumes()), ...(await this.#interfaces())];
  }

  async #machines(): Promise<readonly TeardownResource[]> {
    const { lookup, clock, settings } = this.#tools;
    const found = new Map<string, Instance>();
    for (const filters of this.#machineFilters())
      for (const instance of await lookup.instances(filters)) found.set(instance.InstanceId ?? '', instance);
    for (const id of found.keys()) this.#know({ kind: 'machine', resourceId: id });
    const left: TeardownResource[] = [];
    for (const id of this.#ids('machine')) {
      const instance = found.get(id);
      const state = instance?.State?.Name;
      if (state === 'terminated') continue;
      const isNew = id === this.#sandbox.sandboxId && mayBeTooNew(this.#sandbox.launchedAt, clock.now());
      if (instance === undefined && !isNew) continue;
      if (instance !== undefined && !isNew && !isOurs(instance.Tags, settings)) {
        this.#taken.add(id);
        for (const resource of resourcesOf(instance)) this.#know(resource);
        continue;
      }
      if (await this.#terminate(id, instance)) left.push({ kind: 'machine', resourceId: id });
    }
    return left;
  }

  /** By name, and by the attempt's tags: a repeated launch may have left a second one that no handle names. */
  #machineFilters(): readonly Filter[][] {
    const ids = this.#ids('machine');
    const alive = { Name: 'instance-state-name', Values: ALIVE };
    return [
      ...(ids.length === 0 ? [] : [[{ Name: 'instance-id', Values: ids }]]),
      ...(this.#attemptId === '' ? [] : [[...attemptFilters(this.#tools.settings, this.#attemptId), alive]]),
    ];
  }

  /** Once for each machine and call. @returns false when EC2 knows no such machine for sure. */
  async #terminate(InstanceId: string, instance: Instance | undefined): Promise<boolean> {
    if (this.#told.has(InstanceId)) return true;
    const hangs = instance?.State?.Name === 'shutting-down';
    const isWindows = instance?.Platform?.toLowerCase() === 'windows';
    const force = { ...(hangs ? { Force: true } : {}), ...(hangs || isWindows ? { SkipOsShutdown: true } : {}) };
    try {
      await askEc2(() =>
        this.#tools.client.send(new TerminateInstancesCommand({ InstanceIds: [InstanceId], ...force })),
      );
      this.#told.add(InstanceId);
      return true;
    } catch (error) {
      if (isAnswerNamed(error, 'InvalidInstanceID.NotFound')) return true;
      if (isAnswerNamed(error, 'InvalidInstanceID.Malformed')) return false;
      throw releaseFailed(InstanceId, error);
    }
  }

  /** They go with their machine: looked up once, so that whoever asks knows of them. */
  async #attached(): Promise<readonly TeardownResource[]> {
    if (!this.#hasLooked) await Promise.all([this.#found('volume'), this.#found('interface')]);
    this.#hasLooked = true;
    return [...this.#known.values()].filter(({ kind }) => kind === 'volume' || kind === 'interface');
  }

  async #volumes(): Promise<readonly TeardownResource[]> {
    return await this.#delete('volume', async (VolumeId) => {
      await this.#tools.client.send(new DeleteVolumeCommand({ VolumeId }));
    });
  }

  async #interfaces(): Promise<readonly TeardownResource[]> {
    return await this.#delete('interface', async (NetworkInterfaceId) => {
      await this.#tools.client.send(new DeleteNetworkInterfaceCommand({ NetworkInterfaceId }));
    });
  }

  /** What is loose is deleted; what is attached or on its way is looked at again. */
  async #delete(kind: Left, remove: (id: string) => Promise<void>): Promise<readonly TeardownResource[]> {
    const found = await this.#found(kind);
    for (const { id, isLoose } of found) {
      if (!isLoose) continue;
      try {
        await askEc2(() => remove(id));
      } catch (error) {
        if (!isAnswerNamed(error, ...NO_LONGER_LOOSE)) throw releaseFailed(id, error);
      }
    }
    return found.map(({ id }) => ({ kind, resourceId: id }));
  }

  async #found(kind: Left): Promise<readonly { readonly id: string; readonly isLoose: boolean }[]> {
    const ids = this.#ids(kind);
    const byTag = this.#attemptId === '' ? [] : attemptFilters(this.#tools.settings, this.#attemptId);
    const asked = [
      ...(ids.length === 0 ? [] : [[{ Name: ID_FILTER[kind], Values: ids }]]),
      ...(byTag.length === 0 ? [] : [byTag]),
    ];
    const found = new Map<string, boolean>();
    for (const filters of asked)
      for (const { id, status } of await statesOf(this.#tools.lookup, kind, filters))
        found.set(id, status === 'available');
    for (const id of found.keys()) this.#know({ kind, resourceId: id });
    return [...found].map(([id, isLoose]) => ({ id, isLoose }));
  }
}

type Left = 'volume' | 'interface';

const KIND_OF_PREFIX: Readonly<Record<string, TeardownResource['kind']>> = {
  i: 'machine',
  vol: 'volume',
  eni: 'interface',
};
const ID_FILTER = { volume: 'volume-id', interface: 'network-interface-id' } as const;
/** It is gone, or on its way, or attached after all: the next look tells. */
const NO_LONGER_LOOSE = [
  'InvalidVolume.NotFound',
  'InvalidNetworkInterfaceID.NotFound',
  'VolumeInUse',
  'IncorrectState',
  'InvalidParameterValue',
  'InvalidNetworkInterface.InUse',
];

async function statesOf(
  lookup: Ec2Lookup,
  kind: Left,
  filters: Filter[],
): Promise<readonly { readonly id: string; readonly status: string }[]> {
  if (kind === 'volume') {
    const volumes = await lookup.volumes(filters);
    return volumes
      .filter(({ State }) => State !== 'deleted')
      .map(({ VolumeId, State }) => ({ id: VolumeId ?? '', status: State ?? '' }));
  }
  const interfaces = await lookup.interfaces(filters);
  return interfaces.map(({ NetworkInterfaceId, Status }) => ({ id: NetworkInterfaceId ?? '', status: Status ?? '' }));
}
