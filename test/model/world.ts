import { taskManifestKey } from '#core/catalog';
import { rowKeys } from '#core/keys';
import { SINGLE_COMPUTER_POLICY } from '#core/policy';
import { EXECUTION_SOURCE } from '#contracts/events';
import type { ExecutionEvent, HistoryEvent } from '#local/asl/host';
import { VirtualClock } from '#local/clock';
import { EmbeddedHost, type GivenPorts } from '#local/embedded-host';
import type { BusEvent, DeliveryFault } from '#local/event-bus';
import { sourceCode, type HostCode } from '#local/host-code';
import { providersOf } from '#local/local-providers';
import { expiryTimer } from '#usecases/steps/release';
import { publishFakeTask, requestSweep } from '#test/builders/catalog';
import type { ModuleReport } from '#ports/module-runner';
import { FakeModules } from '#test/fakes/modules';
import { MemoryRunTree } from '#test/fakes/run-tree';
import { MemoryWorkspace, ScratchArtifactStore } from '#test/fakes/workspace';
import { Chance } from './chance.ts';
import { Cloud } from './cloud.ts';
import { CloudProvider, type ProviderQuirks } from './cloud-provider.ts';
import { drawDeed, type Deed } from './deeds.ts';
import { Guests } from './guest.ts';
import { LeanStore } from './lean-store.ts';
import type { Schedule } from './schedule.ts';
import { Truth } from './truth.ts';
import {
  attemptOf,
  checkClosedUnit,
  checkEnding,
  checkLaunch,
  drawLoss,
  isLeftAsAsked,
  launchStrangers,
  leftRows,
  SILENT,
} from './world-checks.ts';
import { FaultyStore, FunctionFaults } from './world-faults.ts';

/** What stands in the way of the product, for mutants and for layers that are dead. */
export interface Interference {
  readonly quirks?: ProviderQuirks;
  readonly ports?: (ports: GivenPorts, world: ModelWorld) => GivenPorts;
  /** Called once the host is there, to change what it made by itself. */
  readonly host?: (host: EmbeddedHost, world: ModelWorld) => void;
  /** Stands around every call of a function. */
  readonly invocation?: (name: string, call: () => Promise<string>, world: ModelWorld) => Promise<string>;
  readonly history?: (event: HistoryEvent, world: ModelWorld) => void;
  readonly event?: (event: BusEvent, world: ModelWorld) => DeliveryFault | undefined;
  readonly hasGuestTimer?: boolean;
  readonly deed?: (attemptId: string) => Deed;
}

/** Told only when they fail. */
const QUIET: ReadonlySet<string> = new Set(['grant-slots', 'watch-runs', 'reap-sandboxes']);
/** Machines and handlers, read once for all worlds. */
let code: HostCode | undefined;

const WAITS = ['wait#sandbox', 'wait#job', 'wait#grade'];
/** What the reaper looks after besides machines and sweeps. */
const REAPED = ['open-attempts', 'wait#close'];
const ACTIVE_SWEEPS = rowKeys.activeSweep('').pk;

/** The real machines, functions and host on a virtual clock, over a model of the cloud that fails as a schedule says. */
export class ModelWorld {
  readonly schedule: Schedule;
  readonly clock = new VirtualClock();
  readonly store = new LeanStore();
  readonly artifacts = new ScratchArtifactStore();
  readonly modules = new FakeModules();
  readonly truth: Truth;
  readonly chance: Chance;
  readonly cloud: Cloud;
  readonly guests: Guests;
  /** ARNs of executions that run, by the input of each. */
  readonly executions = new Map<string, ExecutionEvent>();
  /** How the sweep's own execution ended. */
  sweepEnd: ExecutionEvent['type'] | null = null;
  readonly #interference: Interference;
  readonly #functions: FunctionFaults;
  #host: EmbeddedHost | undefined;

  private constructor(schedule: Schedule, interference: Interference) {
    this.schedule = schedule;
    this.#interference = interference;
    this.chance = new Chance(schedule.seed, schedule.rates);
    const { clock, chance } = this;
    this.truth = new Truth(
      clock,
      interference.deed ?? ((attemptId) => drawDeed(chance, attemptId, schedule.privilege)),
    );
    this.cloud = new Cloud({
      clock,
      chance,
      truth: this.truth,
      vCpuQuota: schedule.vCpuQuota,
      onLaunch: (ask) => checkLaunch(this, ask),
      onLaunched: (machine) => drawLoss(this, machine),
      onEnding: (machine, by) => checkEnding(this, machine, by),
      ...(interference.hasGuestTimer === undefined ? {} : { hasGuestTimer: interference.hasGuestTimer }),
    });
    this.#functions = new FunctionFaults(chance, this.truth);
    this.guests = new Guests({
      clock,
      chance,
      truth: this.truth,
      cloud: this.cloud,
      artifacts: this.artifacts,
      isGuestBelieved: schedule.privilege === 'restricted',
      onJobFinished: (jobId) => void this.host.ports.events.publish('guest.job-finished', { jobId }),
    });
    this.modules.behave['evaluate'] = () => this.#evaluate();
  }

  static async create(schedule: Schedule, interference: Interference = {}): Promise<ModelWorld> {
    const world = new ModelWorld(schedule, interference);
    const ports = world.#ports();
    code ??= await sourceCode();
    world.#host = await EmbeddedHost.create({
      clock: world.clock,
      code,
      ports: interference.ports?.(ports, world) ?? ports,
      onExecution: (event) => world.#noteExecution(event),
      ...(interference.history === undefined ? {} : { onHistory: (event) => interference.history?.(event, world) }),
      faults: {
        random: () => world.chance.next('jitter'),
        event: (rule, event) => interference.event?.(event, world) ?? world.#ofEvent(rule, event),
        invocation: async (name, call, payloadJson) => await world.#invoke(name, call, payloadJson),
      },
    });
    interference.host?.(world.#host, world);
    return world;
  }

  get host(): EmbeddedHost {
    if (this.#host === undefined) throw new Error('the world has no host yet');
    return this.#host;
  }

  /** Stores what the sweep needs and starts it. */
  async start(): Promise<{ readonly done: Promise<unknown> }> {
    const { units, gradingMode, maxAttempts, vCpuQuota, privilege, cleanupMode } = this.schedule;
    const task = await publishFakeTask(this.artifacts, { gradingMode, hasStart: true });
    const request = await requestSweep(this.artifacts, {
      tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }],
      snapshots: { '*': { provider: 'aws', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } },
      trials: units,
      privilege,
      cleanupMode,
      limits: { maxAttempts, concurrency: Math.max(vCpuQuota, 1), deadlineAt: '2026-01-02T00:00:00.000Z' },
    });
    launchStrangers(this);
    return this.host.startSweep(request.sweepId, request.run);
  }

  /** Runs a sweep to its end, then lets time pass without faults until nothing is left, or for so many hours. */
  async run(hours = 12): Promise<void> {
    await (
      await this.start()
    ).done;
    await this.settle(hours);
    this.host.close();
  }

  async settle(hours: number): Promise<void> {
    this.chance.isOn = false;
    for (let minutes = 0; minutes < hours * 60 && (minutes === 0 || (await this.leftovers()).length > 0); minutes += 12)
      await this.clock.elapse(12 * 60_000);
  }

  /** What should not be there after a sweep, by name. */
  async leftovers(): Promise<readonly string[]> {
    const left = [...leftRows(this.store), ...this.#heldUnasked()];
    for (const attemptId of this.truth.attempts.keys())
      if (await this.host.ports.timers.exists(expiryTimer(attemptId))) left.push(`schedule of ${attemptId}`);
    const { runningExecutions, waitingTokens } = this.host.interpreter;
    if (runningExecutions > 0) left.push(`${String(runningExecutions)} executions that run`);
    if (waitingTokens > 0) left.push(`${String(waitingTokens)} tokens that are waited for`);
    return left;
  }

  #heldUnasked(): readonly string[] {
    return this.cloud.held((machine) => isLeftAsAsked(this, this.schedule.cleanupMode, machine));
  }

  #ports(): GivenPorts {
    const { clock, cloud, truth, chance, guests } = this;
    const { quirks } = this.#interference;
    const provider = new CloudProvider({ cloud, clock, truth, ...(quirks === undefined ? {} : { quirks }) });
    return {
      unitStore: new FaultyStore(this.store, chance, truth),
      artifacts: this.artifacts,
      providers: providersOf([provider]),
      channels: { for: () => guests },
      runTree: new MemoryRunTree(this.artifacts),
      workspace: new MemoryWorkspace(this.artifacts),
      modules: this.modules,
      code: { version: '0.1.0', sha256: 'c'.repeat(64) },
      region: 'us-east-1',
      policy: {
        ...SINGLE_COMPUTER_POLICY,
        caps: { ...SINGLE_COMPUTER_POLICY.caps, vCpusByProvider: { aws: this.schedule.vCpuQuota } },
      },
      versions: { examHall: '0.1.0' },
      log: SILENT,
    };
  }

  async #invoke(name: string, call: () => Promise<string>, payloadJson: string): Promise<string> {
    if (this.#isIdle(name)) return 'null';
    const { truth } = this;
    const attemptId = attemptOf(payloadJson);
    const subject = attemptId ?? '';
    const { invocation = async (_, inner) => await inner() } = this.#interference;
    const isSpared = name === 'plan-sweep' || name === 'report-sweep';
    const faulty = async (): Promise<string> =>
      isSpared ? await call() : await this.#functions.call(name, subject, call);
    return await truth.running.run({ name, attemptId, isSpared }, async () => {
      if (!QUIET.has(name)) truth.tell(`${name} ${subject}`);
      try {
        return await invocation(name, faulty, this);
      } catch (error) {
        truth.tell(`${name} ${subject} fails: ${String(error)}`);
        throw error;
      }
    });
  }

  /** A tick of a function that has nothing to look at is not worth its call. */
  #isIdle(name: string): boolean {
    const { store } = this;
    if (name === 'grant-slots') return store.partitions('wait#admit#').length === 0;
    if (name === 'watch-runs') return WAITS.every((pk) => store.rowsIn(pk).length === 0);
    if (name !== 'reap-sandboxes') return false;
    if (this.sweepEnd !== null && store.rowsIn(ACTIVE_SWEEPS).length > 0) return false;
    return this.#heldUnasked().length === 0 && REAPED.every((pk) => store.rowsIn(pk).length === 0);
  }

  #ofEvent(rule: string, event: BusEvent): DeliveryFault | undefined {
    // Events of executions that ended well are delivered to nobody.
    if (event.source === EXECUTION_SOURCE && event.detail['status'] === 'SUCCEEDED') return undefined;
    const subject = `${rule} ${event.detailType} ${JSON.stringify(event.detail['jobId'] ?? event.detail['name'] ?? '')}`;
    const { chance, truth } = this;
    const fault = chance.strikes('eventLost', subject)
      ? { copies: 0 }
      : chance.strikes('eventTwice', subject)
        ? { copies: 2 }
        : chance.strikes('eventLate', subject)
          ? { delayMilliseconds: Math.floor(chance.next(subject) * 300_000) }
          : undefined;
    if (fault !== undefined) truth.tell(`fault: event ${subject} ${JSON.stringify(fault)}`);
    return fault;
  }

  #noteExecution(event: ExecutionEvent): void {
    if (event.type === 'RUNNING') this.executions.set(event.executionArn, event);
    else this.executions.delete(event.executionArn);
    if (event.type === 'RUNNING') return;
    this.truth.tell(
      `execution ${event.stateMachineName} ${event.input.slice(0, 120)} ${event.type} ${event.error ?? ''}`,
    );
    if (event.stateMachineName === 'sweep') this.sweepEnd = event.type;
    if (event.type === 'SUCCEEDED') checkClosedUnit(this, event);
  }

  #evaluate(): Partial<ModuleReport> {
    const attemptId = this.truth.running.getStore()?.attemptId ?? '';
    for (const { instanceId } of this.cloud.alive(attemptId))
      if (this.guests.isAgentAlive(instanceId)) this.truth.violate(`${attemptId} was graded while its agent was alive`);
    if (!this.chance.strikes('graderUnavailable', attemptId)) return { value: 1 };
    this.truth.strike('graderUnavailable');
    return { end: 'unavailable', errorMessage: 'spawn EAGAIN' };
  }
}
