import { AsyncLocalStorage } from 'node:async_hooks';
import { SINGLE_COMPUTER_POLICY } from '#core/policy';
import { taskManifestKey } from '#core/catalog';
import type { HistoryEvent } from '#local/asl/host';
import { VirtualClock } from '#local/clock';
import { EmbeddedHost } from '#local/embedded-host';
import { providersOf } from '#local/local-providers';
import type { Ports } from '#ports/ports';
import type { RowWrite, UnitStore } from '#ports/unit-store';
import { publishFakeTask, requestSweep } from '#test/builders/catalog';
import { FakeGuest } from '#test/fakes/guest';
import { FakeLog } from '#test/fakes/hosting';
import { FakeMachines } from '#test/fakes/machines';
import { FakeModules } from '#test/fakes/modules';
import { MemoryRunTree } from '#test/fakes/run-tree';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { MemoryWorkspace, ScratchArtifactStore } from '#test/fakes/workspace';

/** What a function really did, over all its calls. */
export interface Counted {
  calls: number;
  writes: number;
  transactWrites: number;
  reads: number;
  objectPuts: number;
  objectGets: number;
  events: number;
  rowBytes: number;
}

const none = (): Counted => ({
  calls: 0,
  writes: 0,
  transactWrites: 0,
  reads: 0,
  objectPuts: 0,
  objectGets: 0,
  events: 0,
  rowBytes: 0,
});

/** How the methods of a port become requests to S3, one call each: `[puts, gets]`. */
type Requests = Readonly<Record<string, readonly [puts: number, gets: number]>>;

const OBJECT_REQUESTS: Requests = {
  put: [1, 0],
  putFile: [1, 0],
  copy: [1, 0],
  list: [1, 0],
  get: [0, 1],
  getFile: [0, 1],
  head: [0, 1],
};

/** A run tree in a bucket: a line is added by reading the file and writing it again; listing is priced as a put. */
const TREE_REQUESTS: Requests = {
  open: [2, 0],
  appendEvent: [1, 1],
  write: [1, 0],
  copyObject: [1, 0],
  list: [1, 0],
  finished: [1, 0],
};

/** One unit on the real machines, functions and host over fakes that never fail, with everything billable counted by function. */
export class CountingWorld {
  readonly byFunction = new Map<string, Counted>();
  readonly statesEntered: string[] = [];
  readonly store = new InMemoryUnitStore();
  readonly log = new FakeLog();
  readonly #running = new AsyncLocalStorage<string>();

  count(name: string): Counted {
    const known = this.byFunction.get(name);
    if (known !== undefined) return known;
    const fresh = none();
    this.byFunction.set(name, fresh);
    return fresh;
  }

  /** Runs the sweep to its end, before any rate has come round. */
  async runOneUnit(gradingMode: 'light' | 'same-sandbox'): Promise<void> {
    const clock = new VirtualClock();
    const artifacts = new ScratchArtifactStore();
    const task = await publishFakeTask(artifacts, { gradingMode, hasStart: true });
    const request = await requestSweep(artifacts, {
      tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }],
      trials: 1,
      treeDir: 'first',
    });
    const host = await this.#host(clock, artifacts);
    const { status } = await host.startSweep(request.sweepId, request.run).done;
    host.close();
    if (status !== 'SUCCEEDED') throw new Error(`the sweep ended ${status}`);
  }

  async #host(clock: VirtualClock, artifacts: ScratchArtifactStore): Promise<EmbeddedHost> {
    const machines = new FakeMachines({ pool: 'm7i.large us-east-1a' });
    const guest = new FakeGuest({
      clock,
      artifacts,
      isThere: () => true,
      onJobFinished: (jobId) => void host.ports.events.publish('guest.job-finished', { jobId }),
      script: () => ({ seconds: 1 }),
    });
    const modules = new FakeModules();
    modules.behave['evaluate'] = () => ({ value: 1 });
    const host = await EmbeddedHost.create({
      clock,
      ports: {
        unitStore: this.#countedStore(),
        artifacts: this.#counted(artifacts, OBJECT_REQUESTS),
        providers: providersOf([machines]),
        channels: { for: () => guest },
        runTree: this.#counted(new MemoryRunTree(artifacts), TREE_REQUESTS),
        workspace: new MemoryWorkspace(artifacts),
        modules,
        region: 'us-east-1',
        policy: SINGLE_COMPUTER_POLICY,
        versions: { examHall: '0.1.0' },
        code: { version: '0.1.0', sha256: 'c'.repeat(64) },
        log: this.log,
      },
      onHistory: (event) => {
        this.#countState(event);
      },
      faults: { invocation: async (name, call) => await this.#invoke(name, call) },
    });
    this.#countEvents(host.ports);
    return host;
  }

  async #invoke(name: string, call: () => Promise<string>): Promise<string> {
    this.count(name).calls += 1;
    return await this.#running.run(name, call);
  }

  /** The function that runs; what the host itself does is its own. */
  get #own(): Counted {
    return this.count(this.#running.getStore() ?? 'host');
  }

  #countedStore(): UnitStore {
    const { store } = this;
    return {
      get: async (key) => {
        this.#own.reads += 1;
        return await store.get(key);
      },
      query: async (query) => {
        this.#own.reads += 1;
        return await store.query(query);
      },
      write: async (writes) => {
        this.#own[isAlone(writes) ? 'writes' : 'transactWrites'] += writes.length;
        this.#own.rowBytes += JSON.stringify(writes).length;
        await store.write(writes);
      },
    };
  }

  #counted<T extends object>(port: T, requests: Requests): T {
    return new Proxy(port, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        return (...args: readonly unknown[]): unknown => {
          const [puts, gets] = requests[String(key)] ?? [0, 0];
          this.#own.objectPuts += puts;
          this.#own.objectGets += gets;
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  }

  #countEvents({ events }: Ports): void {
    const publish = events.publish.bind(events);
    Object.assign(events, {
      publish: async (type: string, detail: Readonly<Record<string, unknown>>) => {
        this.#own.events += 1;
        await publish(type, detail);
      },
    });
  }

  #countState({ type, state }: HistoryEvent): void {
    if (type.endsWith('StateEntered') && state !== undefined) this.statesEntered.push(state);
  }
}

/** A conditional removal needs a transaction even when it is alone. */
function isAlone(writes: readonly RowWrite[]): boolean {
  const [only] = writes;
  if (writes.length !== 1 || only === undefined) return false;
  return 'put' in only || ('remove' in only && only.when === 'any');
}
