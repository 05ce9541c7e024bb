import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { createCallGuest } from '#adapters/call-guest';
import { createGuestCalls } from '#adapters/cua-guest-calls';
import { functionNamed } from '#contracts/functions';
import { taskManifestKey } from '#core/catalog';
import { hostOfGuest } from '#core/guest-address';
import { rowKeys, rowPrefixes } from '#core/keys';
import { SINGLE_COMPUTER_POLICY } from '#core/policy';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow, type UnitRow } from '#core/rows';
import { VirtualClock } from '#local/clock';
import { EmbeddedHost, type HostFaults } from '#local/embedded-host';
import { providersOf } from '#local/local-providers';
import { openServedArtifacts, type ServedArtifacts } from '#local/stores/served-artifacts';
import { createDiskWorkspace } from '#local/workspace';
import { staticChannel, staticProvider, type StaticPorts } from '#runtime/aws-static-machines';
import { publishFakeTask, requestSweep, type RequestOptions } from '#test/builders/catalog';
import { OWN_PRIVILEGE } from '#test/builders/given-machines';
import { functionFolder } from '#test/builders/stage-static-kit';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';
import { FakeLog } from '#test/fakes/hosting';
import { FakeModules } from '#test/fakes/modules';
import { MemoryRunTree } from '#test/fakes/run-tree';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { publishCloudAgent, type AgentScript } from './cloud-agents.ts';

const CALL_GUEST = 'examhall-test-call-guest';
const MINUTE = 60_000;

interface Parts {
  readonly folder: string;
  readonly served: ServedArtifacts;
  readonly cloud: StandInCloud;
  readonly lambda: LambdaClient;
}

/**
 * The real machines and functions on a virtual clock, with one machine that was given: this computer behind a cua-server, reached
 * through the real function that calls guests, which is invoked by the real client of Lambda.
 */
export class StaticWorld {
  readonly clock: VirtualClock;
  readonly store = new InMemoryUnitStore();
  readonly log = new FakeLog();
  readonly modules = new FakeModules();
  readonly runTree: MemoryRunTree;
  /** How often functions had calls passed on. */
  passedOn = 0;
  readonly #parts: Parts;
  #server: FakeCuaServer;
  #host: EmbeddedHost | undefined;

  private constructor(clock: VirtualClock, parts: Parts, server: FakeCuaServer) {
    this.clock = clock;
    this.#parts = parts;
    this.#server = server;
    this.runTree = new MemoryRunTree(parts.served.store);
    this.modules.behave['evaluate'] = () => ({ value: 1 });
  }

  static async open(invocation?: NonNullable<HostFaults['invocation']>): Promise<StaticWorld> {
    const folder = await functionFolder(await mkdtemp(path.join(os.tmpdir(), 'examhall-static-world-')));
    await mkdir(path.join(folder, 'home'));
    // The machine has the real time: virtual time begins there and only runs ahead.
    const clock = new VirtualClock({ start: new Date() });
    const served = await openServedArtifacts(path.join(folder, 'store'), () => clock.now().getTime());
    const worlds: StaticWorld[] = [];
    const cloud = await StandInCloud.start({
      clock,
      functions: { [CALL_GUEST]: async (payload) => await worlds[0]?.host.invoke('call-guest', payload) },
    });
    const lambda = new LambdaClient({ ...cloud.clientConfig, maxAttempts: 1 });
    const server = await startFakeCuaServer({ env: envOf(folder) });
    const world = new StaticWorld(clock, { folder, served, cloud, lambda }, server);
    worlds.push(world);
    await world.#makeHost(invocation);
    return world;
  }

  get host(): EmbeddedHost {
    if (this.#host === undefined) throw new Error('the world has no host yet');
    return this.#host;
  }

  get endpoint(): string {
    return this.#server.url;
  }

  async #makeHost(invocation: HostFaults['invocation']): Promise<void> {
    const { folder, served, lambda } = this.#parts;
    const { clock, store: unitStore } = this;
    const hosts = [hostOfGuest(this.endpoint) ?? ''];
    const calls = createCallGuest({ lambda, functionName: CALL_GUEST, clock });
    const guestCalls: StaticPorts['guestCalls'] = {
      answer: async (...asked) => {
        this.passedOn += 1;
        return await calls.answer(...asked);
      },
    };
    const ports: StaticPorts = { unitStore, clock, hosts, folder, guestCalls };
    const provider = await staticProvider(ports, functionNamed('provision-sandbox').needs);
    const channel = await staticChannel(ports);
    this.#host = await EmbeddedHost.create({
      clock,
      ports: {
        unitStore,
        artifacts: served.store,
        providers: providersOf([provider]),
        channels: { for: () => channel },
        guestCalls: createGuestCalls(),
        guestHosts: hosts,
        runTree: this.runTree,
        workspace: createDiskWorkspace(path.join(folder, 'scratch')),
        modules: this.modules,
        code: { version: '0.1.0', sha256: 'c'.repeat(64) },
        region: 'us-east-1',
        policy: SINGLE_COMPUTER_POLICY,
        versions: { examHall: '0.1.0' },
        log: this.log,
      },
      ...(invocation === undefined ? {} : { faults: { invocation } }),
    });
  }

  /** Asks for a sweep of units on the machine, one by default. @returns its execution's end. */
  async start(
    agent: AgentScript,
    { limits, ...options }: RequestOptions = {},
  ): Promise<{ readonly done: Promise<unknown> }> {
    const { store } = this.#parts.served;
    const manifestKey = await publishCloudAgent(store, agent);
    const task = await publishFakeTask(store, { vm: { timeout: 7200 } });
    const deadlineAt = new Date(this.clock.now().getTime() + 2 * 24 * 60 * MINUTE).toISOString();
    const { sweepId, run } = await requestSweep(store, {
      agents: [{ id: 'scripted', agentId: 'scripted', harness: 'scripted', model: null, manifestKey, config: {} }],
      tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }],
      snapshots: { '*': this.snapshot() },
      privilege: OWN_PRIVILEGE,
      limits: { deadlineAt, ...limits },
      ...options,
    });
    return this.host.startSweep(sweepId, run);
  }

  snapshot(endpoint = this.endpoint) {
    const image = 'ale-ubuntu22';
    return { provider: 'static', image, os: 'linux' as const, resolution: null, knobs: { endpoint } };
  }

  /** The machine answers nobody; what runs on it runs on. */
  async silence(): Promise<void> {
    await this.#server.close();
  }

  /** It answers again, at the same address. */
  async answerAgain(): Promise<void> {
    const port = Number(new URL(this.endpoint).port);
    this.#server = await startFakeCuaServer({ port, env: envOf(this.#parts.folder) });
  }

  async units(): Promise<readonly UnitRow[]> {
    const { rows } = await this.store.query({ pk: rowKeys.sweep('first').pk, skPrefix: rowPrefixes.unit, limit: 10 });
    return rows.map(({ body }) => UnitRowSchema.parse(body));
  }

  /** Of all units, in the order of their grants. */
  async attempts(): Promise<readonly AttemptRow[]> {
    const pages = await Promise.all(
      (await this.units()).map(
        async ({ unitId }) => await this.store.query({ pk: rowKeys.attempt(`${unitId}.1`).pk, limit: 100 }),
      ),
    );
    const rows = pages.flatMap((page) => page.rows).map(({ body }) => AttemptRowSchema.parse(body));
    return rows.toSorted((one, other) => (one.grantedAt < other.grantedAt ? -1 : 1));
  }

  /** Folders of ours on the machine. */
  async foldersThere(): Promise<readonly string[]> {
    return await readdir(path.join(this.#parts.folder, 'home', '.examhall')).catch(() => []);
  }

  /** Rows that hold the machine, or know of an attachment to it. */
  async holds(): Promise<readonly string[]> {
    const keys = [rowKeys.staticAttachment(''), rowKeys.staticLock('')];
    const pages = await Promise.all(keys.map(async ({ pk }) => await this.store.query({ pk, limit: 100 })));
    return pages.flatMap(({ rows }) => rows.map(({ pk, sk }) => `${pk} ${sk}`));
  }

  /** What should not be there after a sweep, by name. */
  async leftovers(): Promise<readonly string[]> {
    const left = [...(await this.holds()), ...(await this.foldersThere())];
    const waits = [rowKeys.jobWait(''), rowKeys.sandboxWait(''), rowKeys.gradeWait(''), rowKeys.closeWait('')];
    for (const { pk } of [rowKeys.admitWait('first', ''), rowKeys.slot(''), rowKeys.openAttempt(''), ...waits]) {
      const { rows } = await this.store.query({ pk, limit: 100 });
      left.push(...rows.map(({ sk }) => `${pk} ${sk}`));
    }
    for (const { attemptId } of await this.attempts())
      if (await this.host.ports.timers.exists(`expire-${attemptId}`)) left.push(`timer ${attemptId}`);
    if (this.host.interpreter.waitingTokens > 0) left.push(`${String(this.host.interpreter.waitingTokens)} tokens`);
    return left;
  }

  /** What agents wrote, as the records have it. */
  answers(): readonly string[] {
    return [...this.runTree.files].flatMap(([file, content]) =>
      file.endsWith('/output/answer.txt') ? [content.toString()] : [],
    );
  }

  async close(): Promise<void> {
    const { folder, served, cloud, lambda } = this.#parts;
    this.#host?.close();
    lambda.destroy();
    await this.#server.close();
    await cloud.stop();
    await served.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const envOf = (folder: string): Readonly<Record<string, string>> => ({
  HOME: path.join(folder, 'home'),
  DISPLAY: ':7',
});
