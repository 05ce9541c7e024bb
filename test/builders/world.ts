import { createHash } from 'node:crypto';
import { createPngThumbnailer } from '#adapters/png-thumbnailer';
import { SINGLE_COMPUTER_POLICY, type DeploymentPolicy } from '#core/policy';
import { objectKeys, rowKeys } from '#core/keys';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow, type UnitRow } from '#core/rows';
import type { SweepRequest } from '#contracts/sweep-request';
import type { UnitPlanItem } from '#contracts/payloads';
import { VirtualClock } from '#local/clock';
import { providersOf } from '#local/local-providers';
import type { Ports } from '#ports/ports';
import { planSweep } from '#usecases/plan-sweep';
import { FakeEvents, FakeExecutions, FakeLog, FakeTimers, FakeTokens, fakeIds } from '#test/fakes/hosting';
import { FakeGuest, type FakeGuestOptions } from '#test/fakes/guest';
import { FakeMachines, type FakeMachinesOptions } from '#test/fakes/machines';
import { FakeModules } from '#test/fakes/modules';
import { MemoryRunTree } from '#test/fakes/run-tree';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { MemoryWorkspace, ScratchArtifactStore } from '#test/fakes/workspace';
import { requestSweep, type RequestOptions } from './catalog.ts';

export interface WorldOptions {
  readonly region?: string;
  readonly script?: FakeGuestOptions['script'];
  readonly guestFault?: FakeGuestOptions['fault'];
  readonly machines?: Omit<FakeMachinesOptions, 'fault'>;
  readonly machineFault?: FakeMachinesOptions['fault'];
  /** That of one computer unless told. */
  readonly policy?: DeploymentPolicy;
}

/** Every port as a fake, on a clock that stands still until it is advanced. */
export class World {
  readonly clock = new VirtualClock({ isAutomatic: false });
  readonly store = new InMemoryUnitStore();
  readonly artifacts = new ScratchArtifactStore();
  readonly machines: FakeMachines;
  readonly guest: FakeGuest;
  readonly tokens = new FakeTokens();
  readonly executions = new FakeExecutions();
  readonly timers = new FakeTimers();
  readonly events = new FakeEvents();
  readonly modules = new FakeModules();
  readonly log = new FakeLog();
  readonly runTree = new MemoryRunTree(this.artifacts);
  readonly workspace = new MemoryWorkspace(this.artifacts);
  readonly ports: Ports;
  #tokens = 0;

  constructor(options: WorldOptions = {}) {
    this.machines = new FakeMachines({
      ...options.machines,
      ...(options.machineFault === undefined ? {} : { fault: options.machineFault }),
    });
    this.guest = new FakeGuest({
      clock: this.clock,
      artifacts: this.artifacts,
      isThere: (sandboxId) => this.machines.held.some((sandbox) => sandbox.sandboxId === sandboxId),
      onJobFinished: (jobId) => void this.events.publish('guest.job-finished', { jobId }),
      ...(options.script === undefined ? {} : { script: options.script }),
      ...(options.guestFault === undefined ? {} : { fault: options.guestFault }),
    });
    this.ports = {
      unitStore: this.store,
      artifacts: this.artifacts,
      providers: providersOf([this.machines]),
      channels: { for: () => this.guest },
      guestCalls: { answer: () => Promise.reject(new Error('this world passes no calls on')) },
      guestHosts: [],
      clock: this.clock,
      ids: fakeIds(),
      events: this.events,
      tokens: this.tokens,
      executions: this.executions,
      timers: this.timers,
      runTree: this.runTree,
      workspace: this.workspace,
      modules: this.modules,
      digest: { sha256: (content) => createHash('sha256').update(content).digest('hex') },
      thumbnails: createPngThumbnailer(),
      region: options.region ?? null,
      code: { version: '0.1.0', sha256: 'c'.repeat(64) },
      policy: options.policy ?? SINGLE_COMPUTER_POLICY,
      versions: { examHall: '0.1.0', node: '20.20.2', guestRunner: null },
      log: this.log,
    };
  }

  newToken(): string {
    return `token-${String((this.#tokens += 1))}`;
  }

  /** Stores a request, plans it and reads the plan back. */
  async plan(
    options: RequestOptions = {},
  ): Promise<{ readonly request: SweepRequest; readonly items: readonly UnitPlanItem[] }> {
    const request = await requestSweep(this.artifacts, options);
    await planSweep({ sweepId: request.sweepId, run: request.run }, this.ports);
    return { request, items: await this.planItems(request.sweepId, request.run) };
  }

  async planItems(sweepId: string, run: number): Promise<readonly UnitPlanItem[]> {
    const bytes = await this.artifacts.get({ bucket: 'artifacts', key: objectKeys.plan(sweepId, run) });
    const lines = new TextDecoder().decode(bytes).split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as UnitPlanItem);
  }

  async unit(unitId: string, sweepId = 'first'): Promise<UnitRow> {
    return UnitRowSchema.parse((await this.store.get(rowKeys.unit(sweepId, unitId)))?.body);
  }

  async attempt(attemptId: string): Promise<AttemptRow> {
    return AttemptRowSchema.parse((await this.store.get(rowKeys.attempt(attemptId)))?.body);
  }

  /** Changes a stored attempt, as another function would have. */
  async changeAttempt(attemptId: string, changes: Partial<AttemptRow>): Promise<void> {
    const body = { ...(await this.attempt(attemptId)), ...changes };
    await this.store.write([{ put: { ...rowKeys.attempt(attemptId), body }, when: 'exists' }]);
  }

  /** All rows of a partition, as sort keys. */
  async keysIn(pk: string): Promise<readonly string[]> {
    return (await this.store.query({ pk, limit: 1000 })).rows.map(({ sk }) => sk);
  }
}
