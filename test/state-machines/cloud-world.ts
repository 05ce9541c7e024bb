import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { EC2Client } from '@aws-sdk/client-ec2';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SSMClient } from '@aws-sdk/client-ssm';
import { createCallGuest } from '#adapters/call-guest';
import { createGuestCalls } from '#adapters/cua-guest-calls';
import { createEc2Provider } from '#adapters/ec2-provider';
import { createSsmChannel } from '#adapters/ssm-channel';
import { COMMAND_SOURCE, COMMAND_STATUS_TYPE } from '#contracts/events';
import { taskManifestKey } from '#core/catalog';
import { guestDocument } from '#core/guest-documents';
import { rowKeys, rowPrefixes } from '#core/keys';
import { SINGLE_COMPUTER_POLICY } from '#core/policy';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow, type UnitRow } from '#core/rows';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { HistoryEvent } from '#local/asl/host';
import { VirtualClock } from '#local/clock';
import { EmbeddedHost, type HostFaults } from '#local/embedded-host';
import { providersOf } from '#local/local-providers';
import { openServedArtifacts, type ServedArtifacts } from '#local/stores/served-artifacts';
import { createDiskWorkspace } from '#local/workspace';
import type { GuestCalls } from '#ports/guest-calls';
import { publishFakeTask, requestSweep, type RequestOptions } from '#test/builders/catalog';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';
import type { CloudSettings } from '#test/emulators/cloud/cloud-settings';
import type { CommandEvent } from '#test/emulators/cloud/ssm-commands';
import { FakeLog } from '#test/fakes/hosting';
import { FakeModules } from '#test/fakes/modules';
import { MemoryRunTree } from '#test/fakes/run-tree';
import { InMemoryUnitStore } from '#test/fakes/unit-store';
import { noteCommand } from '#usecases/steps/commands';
import { publishCloudAgent, type AgentScript } from './cloud-agents.ts';

const SETTINGS: SandboxSettings = {
  stage: 'test',
  tags: {},
  networks: {
    open: {
      subnets: [
        { id: 'subnet-0000000000000000a', zone: 'us-east-1a' },
        { id: 'subnet-0000000000000000b', zone: 'us-east-1b' },
      ],
      template: { id: 'lt-00000000000000001', version: '1' },
    },
  },
  images: {
    'ale-ubuntu22': {
      imageId: 'ami-00000000000000001',
      os: 'linux',
      revision: 'r1',
      kind: 'prepared',
      rootDevice: '/dev/sda1',
      volumeGiB: 30,
      seats: null,
    },
  },
  machineTypes: {},
  volumeKeyArn: 'arn:aws:kms:us-east-1:123456789012:key/volumes',
  documents: { run: 'examhall-test-run', wait: 'examhall-test-wait' },
};

const CALL_GUEST = 'examhall-test-call-guest';

interface Parts {
  readonly folder: string;
  readonly clock: VirtualClock;
  readonly served: ServedArtifacts;
  readonly cloud: StandInCloud;
  readonly ec2: EC2Client;
  readonly ssm: SSMClient;
  readonly lambda: LambdaClient;
  readonly store: InMemoryUnitStore;
}

export interface CloudWorldOptions {
  readonly invocation?: NonNullable<HostFaults['invocation']>;
  readonly onHistory?: (event: HistoryEvent) => void;
  /** Told of every request that an adapter makes, once however often it is sent. */
  readonly onCall?: (operation: string) => void;
  readonly addresses?: CloudSettings['addresses'];
}

/** The real machines, functions and AWS adapters on a virtual clock, over the stand-in's EC2 and Systems Manager. */
export class CloudWorld {
  static readonly settings = SETTINGS;
  static readonly waitDocument = SETTINGS.documents.wait;
  readonly clock: VirtualClock;
  readonly cloud: StandInCloud;
  readonly store: InMemoryUnitStore;
  readonly log = new FakeLog();
  readonly runTree: MemoryRunTree;
  readonly modules = new FakeModules();
  readonly #parts: Parts;
  #host: EmbeddedHost | undefined;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.clock = parts.clock;
    this.cloud = parts.cloud;
    this.store = parts.store;
    this.runTree = new MemoryRunTree(parts.served.store);
    this.modules.behave['evaluate'] = () => ({ value: 1 });
  }

  static async open(options: CloudWorldOptions = {}): Promise<CloudWorld> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-cloud-world-'));
    // Guests have the real time: virtual time begins there and only runs ahead.
    const clock = new VirtualClock({ start: new Date() });
    const served = await openServedArtifacts(path.join(folder, 'store'), () => clock.now().getTime());
    const worlds: CloudWorld[] = [];
    const cloud = await StandInCloud.start({
      clock,
      documents: { [SETTINGS.documents.run]: guestDocument('run'), [SETTINGS.documents.wait]: guestDocument('wait') },
      ports: [Number(new URL(served.baseUrl).port)],
      ownTag: { key: 'examhall:stage', value: SETTINGS.stage },
      settings: { addresses: options.addresses ?? [] },
      onCommandEvent: (event) => worlds.forEach((world) => world.hear(event)),
      functions: { [CALL_GUEST]: async (payload) => await worlds[0]?.host.invoke('call-guest', payload) },
    });
    const ec2 = new EC2Client({ ...cloud.clientConfig, retryMode: 'adaptive' });
    const ssm = new SSMClient({ ...cloud.clientConfig, retryMode: 'adaptive' });
    const lambda = new LambdaClient({ ...cloud.clientConfig, maxAttempts: 1 });
    for (const client of [ec2, ssm, lambda]) tellCalls(client.middlewareStack, options.onCall);
    const world = new CloudWorld({ folder, clock, served, cloud, ec2, ssm, lambda, store: new InMemoryUnitStore() });
    worlds.push(world);
    await world.#makeHost(options);
    return world;
  }

  get host(): EmbeddedHost {
    if (this.#host === undefined) throw new Error('the world has no host yet');
    return this.#host;
  }

  /** The bus gets an event of Systems Manager; the rule of a deployment is for the waits for jobs. */
  hear(event: CommandEvent): void {
    if (event['document-name'] !== SETTINGS.documents.wait) return;
    this.host.publish({
      source: COMMAND_SOURCE,
      detailType: COMMAND_STATUS_TYPE,
      detail: { ...event },
    });
  }

  async #makeHost({ invocation, onHistory }: CloudWorldOptions): Promise<void> {
    const { clock, ec2, ssm, lambda, served, store, folder, cloud } = this.#parts;
    const archive = { url: `${served.baseUrl}/boot.tar.gz`, sha256: 'b'.repeat(64) };
    const provider = createEc2Provider({
      client: ec2,
      settings: SETTINGS,
      clock,
      boot: { archive: () => Promise.resolve(archive) },
    });
    const calls = createGuestCalls();
    const inNetwork: GuestCalls = {
      answer: async (url, batch, seconds) => await calls.answer(await cloud.doorTo(url), batch, seconds),
    };
    const channel = createSsmChannel({
      ssm,
      artifacts: served.store,
      settings: SETTINGS,
      guestCalls: createCallGuest({ lambda, functionName: CALL_GUEST, clock }),
      clock,
      onCommand: async (commandId, jobId) => await noteCommand({ unitStore: store, clock }, commandId, jobId),
    });
    this.#host = await EmbeddedHost.create({
      clock,
      ports: {
        unitStore: store,
        artifacts: served.store,
        providers: providersOf([provider]),
        channels: { for: () => channel },
        guestCalls: inNetwork,
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
      ...(onHistory === undefined ? {} : { onHistory }),
    });
  }

  /** Asks for a sweep of one unit. @returns what starts it. */
  async request(agent: AgentScript, options: RequestOptions = {}): Promise<{ sweepId: string; run: number }> {
    const { store } = this.#parts.served;
    const manifestKey = await publishCloudAgent(store, agent);
    const task = await publishFakeTask(store);
    const deadline = new Date(this.clock.now().getTime() + 2 * 24 * 3_600_000);
    const { limits, ...rest } = options;
    return await requestSweep(store, {
      agents: [{ id: 'scripted', agentId: 'scripted', harness: 'scripted', model: null, manifestKey, config: {} }],
      tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }],
      snapshots: { '*': { provider: 'aws', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } },
      limits: { deadlineAt: deadline.toISOString(), ...limits },
      ...rest,
    });
  }

  async unit(): Promise<UnitRow> {
    const { rows } = await this.store.query({ pk: rowKeys.sweep('first').pk, skPrefix: rowPrefixes.unit, limit: 10 });
    return UnitRowSchema.parse(rows[0]?.body);
  }

  async attempts(): Promise<readonly AttemptRow[]> {
    const { unitId } = await this.unit();
    const { rows } = await this.store.query({ pk: rowKeys.attempt(`${unitId}.1`).pk, limit: 100 });
    return rows.map(({ body }) => AttemptRowSchema.parse(body));
  }

  /** What should not be there after a sweep, by name. */
  async leftovers(): Promise<readonly string[]> {
    const left: string[] = [];
    const waits = [rowKeys.jobWait(''), rowKeys.sandboxWait(''), rowKeys.gradeWait(''), rowKeys.closeWait('')];
    for (const { pk } of [rowKeys.admitWait('first', ''), rowKeys.slot(''), rowKeys.openAttempt(''), ...waits]) {
      const { rows } = await this.store.query({ pk, limit: 100 });
      left.push(...rows.map(({ sk }) => `${pk} ${sk}`));
    }
    left.push(...this.cloud.machines.held);
    for (const { attemptId } of await this.attempts())
      if (await this.host.ports.timers.exists(`expire-${attemptId}`)) left.push(`timer ${attemptId}`);
    if (this.host.interpreter.waitingTokens > 0) left.push(`${String(this.host.interpreter.waitingTokens)} tokens`);
    return left;
  }

  async close(): Promise<void> {
    const { folder, served, cloud, ec2, ssm, lambda } = this.#parts;
    this.#host?.close();
    ec2.destroy();
    ssm.destroy();
    lambda.destroy();
    await cloud.stop();
    await served.close();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Stack {
  add(
    middleware: (next: Handle, context: { readonly commandName?: string }) => Handle,
    options: { step: 'initialize' },
  ): void;
}
type Handle = (args: never) => Promise<never>;

function tellCalls(stack: unknown, onCall: ((operation: string) => void) | undefined): void {
  if (onCall === undefined) return;
  (stack as Stack).add(
    (next, { commandName = 'unknown' }) =>
      async (args) => {
        onCall(commandName.replace(/Command$/u, ''));
        return await next(args);
      },
    { step: 'initialize' },
  );
}
