import type { HostClock } from '#local/clock';
import type { CloudFaults } from './cloud-faults.ts';
import type { CloudSettings } from './cloud-settings.ts';
import { guestTimerOf } from './guest-timer.ts';
import type { InterfaceRecord, MachineRecord, VolumeRecord } from './machine-record.ts';
import { ServiceError } from './service-error.ts';

/** How a machine is lost; the first four leave the provider's own word of it, `operator` that somebody called its API. */
export type Loss = 'spot' | 'host' | 'status-check' | 'retired' | 'operator' | 'shutdown' | 'vanished';

const REASONS: Readonly<Record<Exclude<Loss, 'status-check' | 'vanished'>, string>> = {
  spot: 'Server.SpotInstanceTermination: Spot instance termination',
  host: 'Server.InternalError: Internal error on launch',
  retired: 'Server.ScheduledStop: Stopped due to a scheduled retirement',
  operator: 'Client.UserInitiatedShutdown: User initiated shutdown',
  shutdown: 'Client.InstanceInitiatedShutdown: Instance initiated shutdown',
};

export interface MachinesOptions {
  readonly clock: HostClock;
  readonly settings: CloudSettings;
  readonly faults: CloudFaults;
  /** Told when nothing can run on a machine any more; its disk may be needed again or not. */
  readonly onDown: (instanceId: string, isDiskKept: boolean) => void;
}

/** Instances, volumes and interfaces over time. */
export class Machines {
  readonly all = new Map<string, MachineRecord>();
  readonly volumes = new Map<string, VolumeRecord>();
  readonly interfaces = new Map<string, InterfaceRecord>();
  readonly tokens = new Map<string, { readonly fingerprint: string; readonly instanceId: string }>();
  readonly options: MachinesOptions;
  /** Zones of all machines there ever were, in order. */
  readonly launches: string[] = [];
  /** Whether machines that are launched from now on shut themselves down by the timer in their user data. */
  obeysGuestTimers = false;
  #ids = 0;

  constructor(options: MachinesOptions) {
    this.options = options;
  }

  get now(): number {
    return this.options.clock.now().getTime();
  }

  /** What costs something now: machines that are not terminated, volumes and interfaces. */
  get held(): readonly string[] {
    const alive = [...this.all.values()].filter(({ state }) => state !== 'terminated');
    return [...alive.map(({ instanceId }) => instanceId), ...this.volumes.keys(), ...this.interfaces.keys()];
  }

  newId(prefix: 'i' | 'vol' | 'eni'): string {
    this.#ids += 1;
    return `${prefix}-${this.#ids.toString(16).padStart(17, '0')}`;
  }

  add(machine: MachineRecord): void {
    this.all.set(machine.instanceId, machine);
    this.launches.push(machine.zone);
    this.#after(machine, this.options.settings.bootSeconds, () => (machine.state = 'running'));
    const endsItselfAt = this.obeysGuestTimers ? guestTimerOf(machine) : null;
    if (endsItselfAt !== null) this.#shutDownLater(machine, endsItselfAt);
  }

  #shutDownLater(machine: MachineRecord, at: Date): void {
    const shutDown = (): void => {
      if (machine.state === 'running') this.lose(machine.instanceId, 'shutdown');
    };
    this.options.clock.setTimer(Math.max(0, at.getTime() - this.now), shutDown, { background: true });
  }

  /** As an API call finds it. @throws ServiceError for a machine that is not there, or not shown yet. */
  look(instanceId: string): MachineRecord {
    if (!/^i-[0-9a-f]{8,17}$/u.test(instanceId))
      throw new ServiceError('InvalidInstanceID.Malformed', `Invalid id: "${instanceId}"`);
    const machine = this.all.get(instanceId);
    if (machine === undefined || !this.isShown(machine))
      throw new ServiceError('InvalidInstanceID.NotFound', `The instance ID '${instanceId}' does not exist`);
    return machine;
  }

  /** Counts a look at a machine that the service does not know of everywhere yet. */
  isShown(machine: MachineRecord): boolean {
    if (machine.hiddenLooks > 0) {
      machine.hiddenLooks -= 1;
      return false;
    }
    const { shownSeconds } = this.options.settings;
    return machine.terminatedAt === null || this.now < machine.terminatedAt + shownSeconds * 1000;
  }

  isOnline(machine: MachineRecord): boolean {
    return machine.state === 'running' && !machine.isImpaired && this.now >= machine.onlineAt;
  }

  terminate(machine: MachineRecord, how: { readonly isHurried: boolean; readonly reason: string }): void {
    if (machine.state === 'terminated') return;
    const usual = this.options.settings.terminateSeconds;
    const slow = machine.fault.terminateSeconds;
    if (machine.state === 'shutting-down' && (!how.isHurried || slow === undefined)) return;
    if (machine.state !== 'shutting-down') this.#explain(machine, how.reason);
    machine.state = 'shutting-down';
    machine.endingAt ??= this.now;
    const isStuck = slow !== undefined && !how.isHurried;
    if (!isStuck) this.options.onDown(machine.instanceId, false);
    this.#after(machine, isStuck ? slow : usual, () => this.#end(machine));
  }

  stop(machine: MachineRecord, reason = 'Client.UserInitiatedShutdown: User initiated shutdown'): void {
    if (machine.state === 'stopped' || machine.state === 'stopping') return;
    if (machine.state !== 'running') {
      const message = `The instance '${machine.instanceId}' is not in a state from which it can be stopped.`;
      throw new ServiceError('IncorrectInstanceState', message);
    }
    machine.state = 'stopping';
    this.#explain(machine, reason);
    this.options.onDown(machine.instanceId, true);
    this.#after(machine, this.options.settings.terminateSeconds, () => (machine.state = 'stopped'));
  }

  /** Loses a machine at once, with all that runs on it. */
  lose(instanceId: string, loss: Loss): void {
    const machine = this.all.get(instanceId);
    if (machine === undefined) throw new Error(`there is no machine ${instanceId} to lose`);
    if (loss === 'shutdown' && machine.shutdownBehavior === 'stop') {
      this.stop(machine, REASONS.shutdown);
      return;
    }
    this.options.onDown(instanceId, loss === 'status-check');
    if (loss === 'status-check') {
      machine.isImpaired = true;
      return;
    }
    if (loss === 'retired') machine.events = ['instance-retirement'];
    if (loss !== 'vanished') this.#explain(machine, REASONS[loss]);
    this.#end(machine);
    if (loss === 'vanished') this.all.delete(instanceId);
  }

  #explain(machine: MachineRecord, message: string): void {
    const code = message.split(':')[0] ?? message;
    machine.reason = { code, message };
    const at = this.options.clock.now().toISOString().replace('T', ' ').slice(0, 19);
    machine.transition = code.startsWith('Client.User') ? `User initiated (${at} GMT)` : message;
  }

  #end(machine: MachineRecord): void {
    machine.cancelTimer();
    this.options.onDown(machine.instanceId, false);
    machine.state = 'terminated';
    machine.endingAt ??= this.now;
    machine.terminatedAt = this.now;
    for (const parts of [this.volumes, this.interfaces]) {
      for (const part of [...parts.values()].filter(({ instanceId }) => instanceId === machine.instanceId)) {
        part.instanceId = null;
        if (part.deleteOnTermination && machine.fault.leavesParts !== true) parts.delete(part.id);
      }
    }
  }

  #after(machine: MachineRecord, seconds: number, change: () => void): void {
    machine.cancelTimer();
    machine.cancelTimer = this.options.clock.setTimer(seconds * 1000, change, { background: true });
  }
}
