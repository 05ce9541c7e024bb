import type { HostClock } from '#local/clock';
import type { Chance } from './chance.ts';
import { CloudError, resourcesOf, type LaunchAsk, type Machine, type MachineState } from './cloud-machine.ts';
import type { Truth } from './truth.ts';

export interface CloudOptions {
  readonly clock: HostClock;
  readonly chance: Chance;
  readonly truth: Truth;
  readonly vCpuQuota: number;
  /** Called at each launch of ours, before there is a machine. */
  readonly onLaunch: (ask: LaunchAsk) => void;
  readonly onLaunched: (machine: Machine) => void;
  /** Called when something begins to end a machine, before it does. */
  readonly onEnding: (machine: Machine, by: string) => void;
  readonly hasGuestTimer?: boolean;
}

/** How long after its expiry the guest's own timer shuts a machine down. */
export const GUEST_TIMER_SECONDS = 300;
/** How long volumes and interfaces outlive their machine. */
const DETACH_SECONDS = 5;
/** How long a pool without a machine stays so. */
const DROUGHT_SECONDS = 600;

/** A region of EC2 as a pure function of virtual time: what each call changes, and what each later look may see. */
export class Cloud {
  readonly machines = new Map<string, Machine>();
  readonly #options: CloudOptions;
  readonly #byToken = new Map<string, { readonly instanceId: string; readonly ask: LaunchAsk }>();
  #launched = 0;

  constructor(options: CloudOptions) {
    this.#options = options;
  }

  /** @throws CloudError InsufficientInstanceCapacity | VcpuLimitExceeded | IdempotentInstanceTerminated | IdempotentParameterMismatch | RequestLimitExceeded | TimeoutError. */
  runInstances(ask: LaunchAsk): Machine {
    const { chance, truth } = this.#options;
    this.#mayThrottle('RunInstances');
    const machine = this.#known(ask) ?? this.#launch(ask);
    if (chance.strikes('answerLost', `launch ${ask.clientToken}`)) {
      truth.tell(`cloud: the answer of the launch of ${machine.instanceId} is lost`);
      throw new CloudError('TimeoutError', 'no answer to RunInstances');
    }
    return machine;
  }

  /** A machine that is there without anybody of ours having asked. */
  plant(ask: LaunchAsk): void {
    const machine = {
      ...this.#made(ask, this.#now()),
      endSeconds: 5,
      keepsVolume: false,
      runningAt: this.#now(),
      visibleAt: this.#now(),
    };
    this.machines.set(machine.instanceId, machine);
    this.#options.truth.tell(`cloud: ${machine.instanceId} is there, of ${String(ask.attemptId)}`);
  }

  /** @throws CloudError InvalidInstanceID.NotFound while it is not seen yet | RequestLimitExceeded. */
  describe(instanceId: string): { readonly state: MachineState; readonly reason: string | null } {
    this.#mayThrottle(`DescribeInstances ${instanceId}`);
    const machine = this.#seen(instanceId);
    return { state: this.stateOf(machine), reason: machine.endReason };
  }

  /** Machines with our tag, of this attempt or of all; a terminated one is left out. */
  list(attemptId?: string): readonly Machine[] {
    this.#mayThrottle('DescribeInstances by tag');
    const now = this.#now();
    const found = [...this.machines.values()].filter(
      (machine) =>
        machine.attemptId !== null &&
        !machine.isDetached &&
        (attemptId === undefined || machine.attemptId === attemptId) &&
        machine.visibleAt <= now &&
        this.stateOf(machine) !== 'terminated',
    );
    for (const machine of found) machine.listedAt ??= now;
    return found;
  }

  /** @throws CloudError as `describe`. */
  terminate(instanceId: string): void {
    this.#mayThrottle(`TerminateInstances ${instanceId}`);
    const by = this.#options.truth.running.getStore()?.name ?? 'us';
    this.end(this.#seen(instanceId), 'Client.UserInitiatedShutdown', by);
  }

  /** @throws CloudError as `describe`. */
  stop(instanceId: string): void {
    this.#mayThrottle(`StopInstances ${instanceId}`);
    const machine = this.#seen(instanceId);
    if (this.stateOf(machine) === 'running') this.#change(machine, { stoppedAt: this.#now() });
  }

  /** Lets a machine outlive its own timer. @throws CloudError as `describe`. */
  keep(instanceId: string): void {
    this.#mayThrottle(`ModifyInstanceAttribute ${instanceId}`);
    this.#change(this.#seen(instanceId), { isOnlyStopped: true });
  }

  /** Takes the tag that makes it ours from a machine. @throws CloudError as `describe`. */
  detach(instanceId: string): void {
    this.#mayThrottle(`DeleteTags ${instanceId}`);
    this.#change(this.#seen(instanceId), { isDetached: true });
  }

  /** Deletes what a machine that has ended left of volumes. @throws CloudError RequestLimitExceeded. */
  deleteVolumes(instanceId: string): void {
    this.#mayThrottle(`DeleteVolume ${instanceId}`);
    const machine = this.machines.get(instanceId);
    if (machine !== undefined && this.stateOf(machine) === 'terminated') machine.keepsVolume = false;
  }

  /** Volumes and interfaces that are there, by the machine's name. */
  attached(instanceId: string): readonly { readonly kind: 'volume' | 'interface'; readonly resourceId: string }[] {
    const machine = this.machines.get(instanceId);
    if (machine === undefined) return [];
    const isThere = machine.endedAt === null || this.#now() < this.#goneAt(machine) + DETACH_SECONDS * 1000;
    return resourcesOf(instanceId).filter(({ kind }) => isThere || (kind === 'volume' && machine.keepsVolume));
  }

  stateOf(machine: Machine, now = this.#now()): MachineState {
    this.#guestTimer(machine, now);
    if (machine.endedAt !== null && machine.endedAt <= now) {
      return now < this.#goneAt(machine) ? 'shutting-down' : 'terminated';
    }
    if (machine.stoppedAt !== null) return 'stopped';
    return now < machine.runningAt ? 'pending' : 'running';
  }

  isUp(instanceId: string): boolean {
    const machine = this.machines.get(instanceId);
    return machine !== undefined && this.stateOf(machine) === 'running';
  }

  end(machine: Machine, reason: string, by: string): void {
    this.stateOf(machine);
    if (machine.endedAt !== null) return;
    this.#options.onEnding(machine, by);
    machine.endedAt = this.#now();
    machine.endReason = reason;
    machine.endedBy = by;
    this.#options.truth.tell(
      `cloud: ${machine.instanceId} of ${String(machine.attemptId)} is ended by ${by} (${reason})`,
    );
  }

  /** What is told to shut down from inside of itself ends, or only stops. */
  shutDown(machine: Machine, by: string): void {
    if (machine.isOnlyStopped) this.#change(machine, { stoppedAt: this.#now() });
    else this.end(machine, 'Client.InstanceInitiatedShutdown', by);
  }

  /** Everything that costs something now, by name, but for machines that are wanted. */
  held(isWanted: (machine: Machine) => boolean = () => false): readonly string[] {
    return [...this.machines.values()].flatMap((machine) => {
      const state = this.stateOf(machine);
      if (isWanted(machine)) return [];
      const left = this.attached(machine.instanceId).map(({ kind, resourceId }) => `${kind} ${resourceId}`);
      return machine.attemptId === null
        ? []
        : [
            ...(state === 'terminated' ? [] : [`machine ${machine.instanceId} (${state}) of ${machine.attemptId}`]),
            ...left,
          ];
    });
  }

  /** Those of an attempt that have not been terminated. */
  alive(attemptId: string): readonly Machine[] {
    return [...this.machines.values()].filter(
      (machine) => machine.attemptId === attemptId && this.stateOf(machine) !== 'terminated',
    );
  }

  #change(machine: Machine, change: Partial<Machine>): void {
    Object.assign(machine, change);
    this.#options.truth.tell(`cloud: ${machine.instanceId} ${JSON.stringify(change)}`);
  }

  #known(ask: LaunchAsk): Machine | undefined {
    const known = this.#byToken.get(ask.clientToken);
    if (known === undefined) return undefined;
    if (known.ask.pool !== ask.pool || known.ask.attemptId !== ask.attemptId)
      throw new CloudError('IdempotentParameterMismatch', 'the token was used with other parameters');
    const machine = this.machines.get(known.instanceId);
    if (machine === undefined) return undefined;
    if (machine.endedAt !== null)
      throw new CloudError('IdempotentInstanceTerminated', `${machine.instanceId} has ended`);
    return machine;
  }

  #launch(ask: LaunchAsk): Machine {
    const { chance, truth } = this.#options;
    const now = this.#now();
    const period = Math.floor(now / (DROUGHT_SECONDS * 1000));
    if (chance.marks('noCapacity', `${ask.pool} ${String(period)}`))
      throw new CloudError('InsufficientInstanceCapacity', `${ask.pool} has no machine`);
    this.#checkQuota(ask);
    this.#options.onLaunch(ask);
    const machine = this.#made(ask, now);
    this.machines.set(machine.instanceId, machine);
    this.#byToken.set(ask.clientToken, { instanceId: machine.instanceId, ask });
    truth.tell(`cloud: ${machine.instanceId} is launched for ${String(ask.attemptId)} in ${ask.pool}`);
    this.#options.onLaunched(machine);
    return machine;
  }

  #made(ask: LaunchAsk, now: number): Machine {
    const { chance } = this.#options;
    const instanceId = `i-${String((this.#launched += 1)).padStart(4, '0')}`;
    const name = `machine of ${String(ask.attemptId)} ${ask.pool}`;
    const late = chance.strikes('seenLate', name) ? 10 + chance.next(name) * 80 : 0;
    const isDead = chance.strikes('neverOnline', name);
    return {
      instanceId,
      attemptId: ask.attemptId,
      expiresAt: ask.expiresAt,
      pool: ask.pool,
      vCpus: ask.vCpus,
      launchedAt: now,
      visibleAt: now + late * 1000,
      runningAt: isDead ? Infinity : now + (5 + chance.next(name) * 50) * 1000,
      endSeconds: chance.strikes('endsSlowly', name) ? 60 + chance.next(name) * 240 : 5,
      keepsVolume: chance.strikes('keepsVolume', name),
      stoppedAt: null,
      isOnlyStopped: false,
      isDetached: false,
      endedAt: null,
      endReason: null,
      endedBy: null,
      listedAt: null,
    };
  }

  #checkQuota({ vCpus }: LaunchAsk): void {
    const isCounted = (machine: Machine): boolean => !['stopped', 'terminated'].includes(this.stateOf(machine));
    const running = [...this.machines.values()].filter(isCounted);
    const used = running.reduce((sum, machine) => sum + (machine.attemptId === null ? 0 : machine.vCpus), 0);
    if (used + vCpus <= this.#options.vCpuQuota) return;
    throw new CloudError('VcpuLimitExceeded', `${String(used)} vCPUs of ${String(this.#options.vCpuQuota)} are in use`);
  }

  /** The timer inside of a machine that came up shuts it down by itself. */
  #guestTimer(machine: Machine, now: number): void {
    if (this.#options.hasGuestTimer === false || machine.attemptId === null || machine.endedAt !== null) return;
    const due = Date.parse(machine.expiresAt) + GUEST_TIMER_SECONDS * 1000;
    if (now < due || machine.runningAt > due || machine.stoppedAt !== null) return;
    if (machine.isOnlyStopped) {
      machine.stoppedAt = due;
      return;
    }
    machine.endedAt = due;
    machine.endReason = 'Client.InstanceInitiatedShutdown';
    machine.endedBy = 'guest timer';
  }

  #goneAt(machine: Machine): number {
    return (machine.endedAt ?? Infinity) + machine.endSeconds * 1000;
  }

  #seen(instanceId: string): Machine {
    const machine = this.machines.get(instanceId);
    if (machine === undefined || this.#now() < machine.visibleAt)
      throw new CloudError('InvalidInstanceID.NotFound', `the instance ID '${instanceId}' does not exist`);
    return machine;
  }

  #mayThrottle(request: string): void {
    const { chance } = this.#options;
    if (chance.strikes('throttled', request)) throw new CloudError('RequestLimitExceeded', `${request} is throttled`);
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}
