import { SINGLE_COMPUTER_POLICY } from '#core/policy';
import { taskManifestKey } from '#core/catalog';
import { ExamHallError } from '#core/errors';
import { rowKeys, rowPrefixes } from '#core/keys';
import {
  AttemptRowSchema,
  SweepRowSchema,
  UnitRowSchema,
  type AttemptRow,
  type SweepRow,
  type UnitRow,
} from '#core/rows';
import { daysBetween, UsageRowSchema, type UsageRow } from '#core/usage-row';
import { VirtualClock } from '#local/clock';
import { EmbeddedHost } from '#local/embedded-host';
import type { ExecutionEvent } from '#local/asl/host';
import { providersOf } from '#local/local-providers';
import { publishFakeTask, requestSweep, type RequestOptions } from '#test/builders/catalog';
import { FaultSource, FaultyStore, type FaultRates } from '#test/fakes/faults';
import { FakeGuest } from '#test/fakes/guest';
import { FakeLog } from '#test/fakes/hosting';
import { FakeMachines } from '#test/fakes/machines';
import { FakeModules } from '#test/fakes/modules';
import { MemoryRunTree } from '#test/fakes/run-tree';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { MemoryWorkspace, ScratchArtifactStore } from '#test/fakes/workspace';

/** More failures of one guest in one attempt would be the agent's doing by the rule; those are tested elsewhere. */
const MOST_SILENCES = 2;

/** The real machines, functions and host on a virtual clock, over fakes that fail as a seed says. */
export class SweepWorld {
  readonly clock = new VirtualClock();
  readonly store = new InMemoryUnitStore();
  readonly artifacts = new ScratchArtifactStore();
  readonly log = new FakeLog();
  readonly executions: ExecutionEvent[] = [];
  readonly faults: FaultSource;
  readonly machines: FakeMachines;
  readonly guest: FakeGuest;
  readonly runTree = new MemoryRunTree(this.artifacts);
  readonly modules = new FakeModules();
  readonly #silences = new Map<string, number>();
  #host: EmbeddedHost | undefined;

  private constructor(seed: number, rates: FaultRates) {
    this.faults = new FaultSource(seed, rates);
    this.machines = new FakeMachines({ fault: (when, act, subject) => this.#machineFault(when, act, subject) });
    this.guest = new FakeGuest({
      clock: this.clock,
      artifacts: this.artifacts,
      isThere: (sandboxId) => this.machines.held.some((sandbox) => sandbox.sandboxId === sandboxId),
      onJobFinished: (jobId) => void this.host.ports.events.publish('guest.job-finished', { jobId }),
      script: ({ kind }) => ({ seconds: Math.floor(this.faults.next() * (kind === 'exec' ? 300 : 60)) }),
      fault: (_, __, subject) => this.#guestFault(subject),
    });
    this.modules.behave['evaluate'] = () =>
      this.faults.strikes('graderUnavailable') ? { end: 'unavailable', errorMessage: 'spawn EAGAIN' } : { value: 1 };
  }

  static async create(seed: number, rates: FaultRates): Promise<SweepWorld> {
    const world = new SweepWorld(seed, rates);
    world.#host = await EmbeddedHost.create({
      clock: world.clock,
      ports: {
        unitStore: new FaultyStore(world.store, world.faults),
        artifacts: world.artifacts,
        providers: providersOf([world.machines]),
        channels: { for: () => world.guest },
        runTree: world.runTree,
        workspace: new MemoryWorkspace(world.artifacts),
        modules: world.modules,
        code: { version: '0.1.0', sha256: 'c'.repeat(64) },
        region: 'us-east-1',
        policy: SINGLE_COMPUTER_POLICY,
        versions: { examHall: '0.1.0' },
        log: world.log,
      },
      onExecution: (event) => world.executions.push(event),
      faults: {
        random: () => world.faults.next(),
        event: () => world.faults.ofEvent(),
        invocation: async (name, call) => await world.#invoke(name, call),
      },
    });
    return world;
  }

  get host(): EmbeddedHost {
    if (this.#host === undefined) throw new Error('the world has no host yet');
    return this.#host;
  }

  /** Runs a sweep to its end, then lets virtual time pass without faults until nothing is left, or for ten hours. */
  async run(options: RequestOptions): Promise<string> {
    const request = await requestSweep(this.artifacts, options);
    const handle = this.host.startSweep(request.sweepId, request.run);
    const { status } = await handle.done;
    this.faults.isOn = false;
    for (let hour = 0; hour < 10 && (hour === 0 || (await this.leftovers()).length > 0); hour += 1) {
      await this.clock.elapse((hour === 0 ? 20 : 60) * 60_000);
    }
    this.host.close();
    return status;
  }

  /** Runs a sweep of so many units of one task. */
  async runUnits(
    units: number,
    options: { readonly gradingMode: 'light' | 'same-sandbox'; readonly maxAttempts: number },
  ): Promise<string> {
    const task = await publishFakeTask(this.artifacts, { gradingMode: options.gradingMode, hasStart: true });
    return await this.run({
      tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }],
      trials: units,
      limits: { maxAttempts: options.maxAttempts, concurrency: 8, deadlineAt: '2026-03-01T00:00:00.000Z' },
    });
  }

  async units(sweepId: string): Promise<readonly UnitRow[]> {
    const { rows } = await this.store.query({ pk: rowKeys.sweep(sweepId).pk, skPrefix: rowPrefixes.unit, limit: 1000 });
    return rows.map(({ body }) => UnitRowSchema.parse(body));
  }

  async attempts(unitId: string): Promise<readonly AttemptRow[]> {
    const { rows } = await this.store.query({ pk: rowKeys.attempt(`${unitId}.1`).pk, limit: 1000 });
    return rows.map(({ body }) => AttemptRowSchema.parse(body));
  }

  /** What closed attempts left of their costs, one row for each time one was counted. */
  async usage(): Promise<readonly UsageRow[]> {
    const found: UsageRow[] = [];
    for (const day of daysBetween('2026-01-01', '2026-03-31')) {
      const { rows } = await this.store.query({ pk: rowKeys.usage(day, '').pk, limit: 1000 });
      found.push(...rows.map(({ body }) => UsageRowSchema.parse(body)));
    }
    return found;
  }

  async sweep(sweepId: string): Promise<SweepRow> {
    return SweepRowSchema.parse((await this.store.get(rowKeys.sweep(sweepId)))?.body);
  }

  /** What should not be there after a sweep, by name. */
  async leftovers(): Promise<readonly string[]> {
    const left: string[] = [];
    const waits = [rowKeys.jobWait(''), rowKeys.sandboxWait(''), rowKeys.gradeWait(''), rowKeys.closeWait('')];
    const partitions = [rowKeys.admitWait('first', ''), rowKeys.slot(''), rowKeys.openAttempt(''), ...waits];
    for (const { pk } of partitions) {
      const { rows } = await this.store.query({ pk, limit: 1000 });
      left.push(...rows.map(({ sk }) => `${pk} ${sk}`));
    }
    left.push(...this.machines.held.map(({ sandboxId }) => `machine ${sandboxId}`));
    for (const { attemptId } of (
      await Promise.all((await this.units('first')).map(async ({ unitId }) => await this.attempts(unitId)))
    ).flat()) {
      if (await this.host.ports.timers.exists(`expire-${attemptId}`)) left.push(`timer ${attemptId}`);
    }
    return left;
  }

  /** A plan that fails starts nothing, which is another test; a report is read from the ledger after all is over. */
  async #invoke(name: string, call: () => Promise<string>): Promise<string> {
    if (name === 'report-sweep') return await call();
    if (name !== 'plan-sweep') return await this.faults.ofFunction(call);
    this.faults.isOn = false;
    const answer = await call();
    this.faults.isOn = true;
    return answer;
  }

  #machineFault(when: 'before' | 'after', act: string, subject: string): void {
    if (act === 'acquire' && when === 'before' && this.faults.strikes('noCapacity'))
      throw new ExamHallError('CapacityUnavailableError', 'sold out');
    if (act === 'acquire' && when === 'after' && this.faults.strikes('functionFails'))
      throw Object.assign(new Error('cut off after the launch'), { name: 'Lambda.Unknown' });
    if (act === 'describe' && when === 'before' && this.faults.strikes('machineLost')) {
      void this.machines.lose(subject, 'EC2 Spot Instance Interruption Warning');
    }
    if (act === 'release' && when === 'before' && this.faults.strikes('machineStays')) {
      const [sandboxId = ''] = subject.split(' ');
      if (!this.machines.stubborn.has(sandboxId))
        this.machines.stubborn.set(sandboxId, Math.ceil(this.faults.next() * 6));
    }
  }

  #guestFault(jobId: string): void {
    const [attemptId = ''] = jobId.split('~');
    const silences = this.#silences.get(attemptId) ?? 0;
    if (silences >= MOST_SILENCES || !this.faults.strikes('guestSilent')) return;
    this.#silences.set(attemptId, silences + 1);
    throw new ExamHallError('ChannelUnavailableError', 'the guest did not answer');
  }
}
