import { ExamHallError } from '#core/errors';
import { launchToken, nextTry, planLaunches, type Launch } from '#core/launch-plan';
import { withFate, type Fate } from '#core/teardown';
import type { HostClock } from '#local/clock';
import type {
  LaunchLog,
  ReleaseMode,
  ReleaseReport,
  Sandbox,
  SandboxOffer,
  SandboxProvider,
  SandboxSpec,
  SandboxState,
  SandboxToRelease,
  TeardownResource,
} from '#ports/sandbox-provider';
import { nodeDigest } from '#runtime/digest';
import { LOOK_SECONDS, LOOKS, setAside, UNSEEN_SECONDS } from './cloud-set-aside.ts';
import { CloudError, isNotFound, resourcesOf, type Machine } from './cloud-machine.ts';
import type { Cloud } from './cloud.ts';
import type { Truth } from './truth.ts';

const TYPES = ['m7i.large', 'm6i.large'];
/** Of every type above. */
const MACHINE_VCPUS = 2;
const ZONES = ['a', 'b'];
const NO_LOG: LaunchLog = {
  coolingPools: [],
  last: null,
  note: async () => {},
  refused: async () => {},
};

/** How a provider may be wrong; each a mutant's. */
export interface ProviderQuirks {
  /** Launches are not told apart by what they are for. */
  readonly dropsClientToken?: true;
  readonly takesNotFoundForGone?: true;
  readonly dropsEvidence?: true;
  readonly trustsTerminate?: true;
  readonly forgetsVolumes?: true;
}

export interface CloudProviderOptions {
  readonly cloud: Cloud;
  readonly clock: HostClock;
  readonly truth: Truth;
  readonly quirks?: ProviderQuirks;
}

/** What the EC2 provider promises, over the model of the cloud. */
export class CloudProvider implements SandboxProvider {
  readonly name = 'aws';
  readonly offer = (): SandboxOffer => ({ machines: [], vCpus: MACHINE_VCPUS, seats: null });
  readonly #options: CloudProviderOptions;
  #launches = 0;

  constructor(options: CloudProviderOptions) {
    this.#options = options;
  }

  async acquire(spec: SandboxSpec, launches: LaunchLog = NO_LOG): Promise<Sandbox> {
    const { cloud, truth } = this.#options;
    truth.tell(`provider: acquire for ${spec.attemptId}`);
    const [found] = this.#asked(() => cloud.list(spec.attemptId).filter(({ endedAt }) => endedAt === null));
    if (found !== undefined && this.#options.quirks?.dropsClientToken !== true) return sandboxOf(spec, found);
    const { coolingPools, last } = launches;
    for (const planned of planLaunches({ types: TYPES, zones: ZONES, coolingPools, last })) {
      const machine = await this.#tryPool(spec, planned, launches);
      if (machine !== null) return sandboxOf(spec, machine);
    }
    truth.strike('capacity', spec.attemptId);
    throw new ExamHallError('CapacityUnavailableError', `no pool has a machine for ${spec.attemptId}`);
  }

  async describe({ sandboxId, launchedAt }: Pick<Sandbox, 'sandboxId' | 'launchedAt'>): Promise<SandboxState> {
    const { quirks = {}, clock, cloud, truth } = this.#options;
    try {
      const { state, reason } = cloud.describe(sandboxId);
      if (state === 'pending') return { state: 'pending' };
      if (state === 'running') return { state: 'ready' };
      if (state === 'stopped') return { state: 'stopped' };
      if (reason === 'Client.UserInitiatedShutdown' && quirks.dropsEvidence !== true)
        return { state: 'gone', evidence: reason, isEndByCall: true };
      const isEvident = reason?.startsWith('Server.') === true && quirks.dropsEvidence !== true;
      return { state: 'gone', evidence: isEvident ? reason : null };
    } catch (error) {
      if (!isNotFound(error)) {
        truth.strike('requestFailed');
        throw error;
      }
      const age = clock.now().getTime() - Date.parse(launchedAt ?? '1970-01-01T00:00:00.000Z');
      if (age < UNSEEN_SECONDS * 1000 && quirks.takesNotFoundForGone !== true) return { state: 'pending' };
      return { state: 'gone', evidence: null };
    }
  }

  async release(sandbox: SandboxToRelease, mode: ReleaseMode): Promise<ReleaseReport> {
    const { sandboxId, resources } = sandbox;
    const machine = { kind: 'machine', resourceId: sandboxId } as const;
    const all = resources.length > 0 ? resources : [machine, ...resourcesOf(sandboxId)];
    const { cloud, clock } = this.#options;
    const fate = mode === 'delete' ? null : await setAside({ cloud, clock }, sandbox, mode);
    if (fate === null) return await this.#delete(sandboxId, all);
    return withFate(fate === 'left' || resources.length === 0 ? [machine] : resources, fate);
  }

  async #delete(sandboxId: string, all: readonly TeardownResource[]): Promise<ReleaseReport> {
    const { cloud, clock, quirks = {} } = this.#options;
    // Without its tag there is no right over it.
    if (cloud.machines.get(sandboxId)?.isDetached === true) {
      return this.#report(sandboxId, all, 'not-ours');
    }
    for (let look = 0; look < LOOKS; look += 1) {
      try {
        cloud.terminate(sandboxId);
      } catch (error) {
        if (isNotFound(error) && quirks.takesNotFoundForGone === true) return withFate(all, 'gone');
      }
      if (quirks.trustsTerminate === true) return withFate(all, 'gone');
      if (quirks.forgetsVolumes !== true) this.#tryTo(() => cloud.deleteVolumes(sandboxId));
      if (this.#left(sandboxId, all).length === 0) return withFate(all, 'gone');
      await clock.sleep(LOOK_SECONDS * 1000);
    }
    return this.#report(sandboxId, all, 'left');
  }

  /** What is there still has one fate. */
  #report(sandboxId: string, all: readonly TeardownResource[], fate: Fate): ReleaseReport {
    const there = this.#left(sandboxId, all);
    const gone = all.filter((resource) => !there.includes(resource));
    return [...withFate(gone, 'gone'), ...withFate(there, fate)];
  }

  async list(): ReturnType<SandboxProvider['list']> {
    const machines = this.#asked(() => this.#options.cloud.list());
    return {
      sandboxes: machines.map((machine) => ({
        sandboxId: machine.instanceId,
        attemptId: machine.attemptId ?? '',
        expiresAt: machine.expiresAt,
        state: machine.endedAt === null ? ('ready' as const) : ('gone' as const),
      })),
    };
  }

  /** A request whose failure the next look shows. */
  #tryTo(request: () => void): void {
    try {
      request();
    } catch (error) {
      this.#options.truth.tell(`provider: ${String(error)}`);
    }
  }

  /** What of these is there still, as far as one can see. */
  #left(sandboxId: string, all: readonly TeardownResource[]): readonly TeardownResource[] {
    const { cloud, quirks = {} } = this.#options;
    let isMachineGone = false;
    try {
      isMachineGone = cloud.describe(sandboxId).state === 'terminated';
    } catch {
      // Neither a throttled look nor one that comes too early shows that it is gone.
    }
    const parts = cloud.attached(sandboxId).filter(({ kind }) => kind !== 'volume' || quirks.forgetsVolumes !== true);
    return all.filter(({ kind, resourceId }) =>
      kind === 'machine' ? !isMachineGone : parts.some((part) => part.resourceId === resourceId),
    );
  }

  /** Null when the pool has none. A machine that ended already makes way for the next try. */
  async #tryPool(spec: SandboxSpec, planned: Launch, launches: LaunchLog): Promise<Machine | null> {
    const { cloud, truth } = this.#options;
    for (let launch: Launch | null = planned; launch !== null; launch = nextTry(launch)) {
      await launches.note({ launchTry: launch.launchTry, pool: launch.pool });
      try {
        return cloud.runInstances({
          clientToken: this.#tokenOf(spec, launch),
          attemptId: spec.attemptId,
          expiresAt: spec.expiresAt,
          pool: launch.pool,
          vCpus: MACHINE_VCPUS,
        });
      } catch (error) {
        const { name, message } = error instanceof CloudError ? error : { name: 'unknown', message: String(error) };
        truth.tell(`provider: launch for ${spec.attemptId} in ${launch.pool}: ${name}`);
        if (name === 'IdempotentInstanceTerminated') continue;
        if (name === 'InsufficientInstanceCapacity') await launches.refused(launch.pool, 'capacity');
        if (name === 'InsufficientInstanceCapacity') return null;
        await this.#giveUp(spec, launch, launches, `${name}: ${message}`);
      }
    }
    return null;
  }

  async #giveUp({ attemptId }: SandboxSpec, { pool }: Launch, launches: LaunchLog, why: string): Promise<never> {
    const { truth } = this.#options;
    if (why.startsWith('VcpuLimitExceeded')) {
      truth.violate(`a launch for ${attemptId} met the quota: vCPUs were granted that are still in use`);
      await launches.refused(pool, 'quota');
    }
    if (why.startsWith('TimeoutError')) {
      truth.strike('requestFailed', attemptId);
      throw new ExamHallError('ProvisionFailedError', why);
    }
    truth.strike('capacity', attemptId);
    throw new ExamHallError('CapacityUnavailableError', why);
  }

  #tokenOf(spec: SandboxSpec, launch: Launch): string {
    this.#launches += 1;
    return this.#options.quirks?.dropsClientToken === true
      ? `launch ${String(this.#launches)}`
      : launchToken(spec.clientToken, launch, nodeDigest.sha256);
  }

  /** A read that may be throttled. */
  #asked<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.#options.truth.strike('requestFailed');
      throw error;
    }
  }
}

function sandboxOf(spec: SandboxSpec, machine: Machine): Sandbox {
  return {
    sandboxId: machine.instanceId,
    attemptId: spec.attemptId,
    provider: 'aws',
    os: 'linux',
    channel: 'ssm',
    imageRevision: 'ami-model',
    paths: {
      dataRoot: '/media/user/data/agenthle',
      workRoot: '/home/user/.ale',
      runnerNode: '/opt/examhall/node/bin/node',
      node: '/opt/examhall/node/bin/node',
    },
    agent: { name: 'user', uid: 1100, gid: 1100, home: '/home/user' },
    isolation: { kind: 'machine', network: 'own', reason: null },
    guestIsolation: { kind: 'none' },
    desktop: null,
    endpoint: null,
    resources: [{ kind: 'machine', resourceId: machine.instanceId }, ...resourcesOf(machine.instanceId)],
    launchedAt: new Date(machine.launchedAt).toISOString(),
    pool: machine.pool,
  };
}
