import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { deploymentParameterName, sandboxSettingsParameterName } from '#contracts/deployment-outputs';
import { WEB_PROGRAM } from '#core/preflight-programs';
import { objectKeys, rowKeys, rowPrefixes } from '#core/keys';
import { AttemptRowSchema, UnitRowSchema, type AttemptRow } from '#core/rows';
import { GUEST_NODE } from '#local/sandboxes/visible-host';
import type { Guest } from '#test/emulators/cloud/guest';
import type { MachineRecord } from '#test/emulators/cloud/machine-record';
import { CloudWorld } from '#test/state-machines/cloud-world';
import { startExamhall, type CliEnd } from '../e2e/cli-process.ts';
import { ADDRESSES, HostileNetwork } from './hostile-network.ts';
import { HostilePrograms } from './hostile-programs.ts';
import { loosen } from './hostile-scripts.ts';
import type { Walls } from './hostile-walls.ts';
import { serveApi, signLink, type ApiOfStage, type Signer } from './preflight-api.ts';

const REGION = 'us-east-1';
const CALLER: Signer = { accessKeyId: 'AKIAOPERATOR', secretAccessKey: 'secret-of-the-operator' };
const SIGNER: Signer = { accessKeyId: 'AKIADEPLOYMENT', secretAccessKey: 'secret-of-the-deployment' };
const BUCKETS = { artifacts: 'artifacts', tasks: 'tasks', references: 'references' };
const HOSTS = [...['s3', 'ssm', 'ec2', 'dynamodb', 'states'], `${BUCKETS.artifacts}.s3`].map(
  (name) => `${name}.${REGION}.amazonaws.com`,
);
/** Begins as every token of Step Functions does. */
const TOKEN = 'AAAAKgAAAATokenOfTheTest';
/** `shipped` is as the image and the template have it; `loose` has lost its own walls, and the provider's are down for it. */
const PLACES = { shipped: 'sandbox', loose: 'loose' } as const;
export type SandboxName = keyof typeof PLACES;

/** A machine that its attempt has kept. */
interface Kept {
  readonly machine: MachineRecord;
  readonly guest: Guest;
  readonly attempt: AttemptRow;
}

function recordKey({ runDir }: AttemptRow): string {
  return objectKeys.run(String(runDir), 'record.json');
}

/**
 * A stage on the stand-in with two kept sandboxes in the network of a deployment, its API, and a computer outside that network
 * on which the command line runs: nothing else of it is reached from there.
 */
export class PreflightStage {
  readonly world: CloudWorld;
  readonly folder = mkdtempSync(path.join(tmpdir(), 'examhall-preflight-'));
  readonly #network: HostileNetwork;
  readonly #programs: HostilePrograms;
  readonly #walls: Walls;
  readonly #kept = new Map<SandboxName, Kept>();
  readonly #doors: Server[] = [];
  #api: ApiOfStage | undefined;

  private constructor(world: CloudWorld, network: HostileNetwork, walls: Walls) {
    this.world = world;
    this.#network = network;
    this.#walls = walls;
    this.#programs = new HostilePrograms(network);
  }

  static async open(walls: Walls): Promise<PreflightStage> {
    const addresses = Object.values(PLACES).map((place) => ({
      privateIp: ADDRESSES[place],
      publicIp: ADDRESSES[place],
    }));
    const network = await HostileNetwork.open(['stranger']);
    const stage = new PreflightStage(await CloudWorld.open({ addresses }), network, walls);
    try {
      await stage.#make();
      return stage;
    } catch (error) {
      await stage.close();
      throw error;
    }
  }

  idOf(name: SandboxName): string {
    return this.#of(name).machine.instanceId;
  }

  /** `examhall preflight <args>` as somebody outside runs it. */
  async preflight(name: SandboxName, args: readonly string[]): Promise<CliEnd> {
    const { port: apiPort } = this.#api ?? { port: 0 };
    if (apiPort === 0) throw new Error('the stage has no API');
    const cloud = this.world.cloud.clientConfig.endpoint;
    return await startExamhall(['preflight', this.idOf(name), '--stage', 'test', '--yes', ...args], {
      within: this.#network.in('stranger', []),
      cwd: this.folder,
      timeoutSeconds: 240,
      env: {
        AWS_ENDPOINT_URL_SSM: cloud,
        AWS_ENDPOINT_URL_EC2: cloud,
        AWS_REGION: REGION,
        AWS_ACCESS_KEY_ID: CALLER.accessKeyId,
        AWS_SECRET_ACCESS_KEY: CALLER.secretAccessKey,
      },
    }).ended;
  }

  /** Takes down the groups of the network, or puts them up again. */
  groups(areUp: boolean): void {
    this.#network.filter('provider', areUp ? this.#walls.groups : 'flush ruleset');
  }

  /** What a guest answers to a script that root runs on it. */
  async root(name: SandboxName, script: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.#of(name).guest.run(script).ended;
    if (exitCode !== 0) throw new Error(`${script.slice(0, 200)} ended with ${String(exitCode)}: ${stderr}`);
    return stdout;
  }

  /** What a sandbox gets for a link of its own, unchanged. */
  async followLink(name: SandboxName): Promise<string> {
    const link = await signLink(REGION, SIGNER, recordKey(this.#of(name).attempt));
    return (await this.root(name, `${GUEST_NODE} -e '${WEB_PROGRAM}' GET '${link}' '' ''`)).trim();
  }

  /** Machines that end take no more time than this needs. */
  async letEnd(name: SandboxName, isOver: AbortSignal): Promise<void> {
    const { machine } = this.#of(name);
    while (!isOver.aborted && machine.state !== 'terminated') {
      if (machine.state === 'shutting-down') await this.world.clock.elapse(20_000);
      await sleep(100);
    }
  }

  async close(): Promise<void> {
    await this.#api?.close();
    for (const door of this.#doors) door.close();
    await this.world.close();
    this.#programs.end();
    await this.#network.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  #of(name: SandboxName): Kept {
    const kept = this.#kept.get(name);
    if (kept === undefined) throw new Error(`${name} was not kept`);
    return kept;
  }

  async #make(): Promise<void> {
    await this.#keepTwo();
    const certificate = this.#certificate();
    await this.#programs.startProvider({
      statements: this.#walls.role,
      openTo: [ADDRESSES[PLACES.loose]],
      objects: null,
      hosts: { ...certificate, signer: SIGNER },
    });
    for (const [name, place] of Object.entries(PLACES) as [SandboxName, 'sandbox' | 'loose'][]) {
      this.#network.join(place, this.#of(name).guest.pid);
      await this.#boot(name, certificate.certificate);
      await this.#programs.startDesktop(place, ADDRESSES[place]);
    }
    this.#network.filter(PLACES.shipped, this.#walls.metadata);
    await this.root('loose', loosen(TOKEN));
    this.groups(true);
    await this.#serve();
  }

  /** One sweep of two attempts whose machines stay. */
  async #keepTwo(): Promise<void> {
    const { world } = this;
    const { sweepId, run } = await world.request('quick', { cleanupMode: 'keep', trials: 2 });
    await world.host.startSweep(sweepId, run).done;
    const { rows } = await world.store.query({ pk: rowKeys.sweep(sweepId).pk, skPrefix: rowPrefixes.unit, limit: 10 });
    for (const { body } of rows) {
      const key = rowKeys.attempt(`${UnitRowSchema.parse(body).unitId}.1`);
      const attempt = AttemptRowSchema.parse((await world.store.get(key))?.body);
      const machine = [...world.cloud.machines.all.values()].find(
        ({ tags }) => tags.get('examhall:attempt') === attempt.attemptId,
      );
      const name = (Object.keys(PLACES) as SandboxName[]).find(
        (each) => ADDRESSES[PLACES[each]] === machine?.privateIp,
      );
      if (machine === undefined || name === undefined) throw new Error(`${attempt.attemptId} has kept no machine`);
      this.#kept.set(name, { machine, guest: await world.cloud.guests.of(machine), attempt });
      // On AWS the tree lies in the bucket.
      const record = world.runTree.files.get(`${String(attempt.runDir)}/record.json`) ?? '';
      await world.host.ports.artifacts.put({ bucket: 'artifacts', key: recordKey(attempt) }, record);
    }
  }

  /** What the machine's user data writes before it asks its system for anything, AWS's names, and whom it believes there. */
  async #boot(name: SandboxName, certificate: string): Promise<void> {
    const { machine } = this.#of(name);
    const userData = Buffer.from(machine.launch.UserData ?? '', 'base64').toString();
    const [settings = '', ...others] = userData.split(/^ends_at=/mu);
    if (others.length !== 1) throw new Error('the user data of a machine is not as it was');
    const disk = await this.world.cloud.guests.diskOf(machine.instanceId);
    writeFileSync(path.join(disk, 'root/settings.sh'), settings);
    writeFileSync(
      path.join(disk, 'opt/examhall/hosts'),
      HOSTS.map((host) => `${ADDRESSES.provider} ${host}\n`).join(''),
    );
    spawnSync('cp', [certificate, path.join(disk, 'opt/examhall/aws.pem')]);
    const node = `#!/bin/sh\nNODE_EXTRA_CA_CERTS=/opt/examhall/aws.pem exec /opt/examhall/real-node "$@"\n`;
    writeFileSync(path.join(disk, 'opt/examhall/node-that-believes'), node, { mode: 0o755 });
    await this.root(
      name,
      `bash /root/settings.sh && : > /opt/examhall/real-node && mount --bind ${GUEST_NODE} /opt/examhall/real-node &&
mount --bind /opt/examhall/node-that-believes ${GUEST_NODE} && mount --bind /opt/examhall/hosts /etc/hosts`,
    );
  }

  #certificate(): { readonly certificate: string; readonly key: string } {
    const [certificate, key] = [path.join(this.folder, 'aws.pem'), path.join(this.folder, 'aws.key')];
    const names = HOSTS.map((host) => `DNS:${host}`).join(',');
    const { status, stderr } = spawnSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
        ...['-subj', '/CN=amazonaws.test', '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', certificate],
      ],
      { encoding: 'utf8', timeout: 20_000 },
    );
    if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`);
    return { certificate, key };
  }

  /** The stage tells where it is, and both it and AWS are reached from outside. */
  async #serve(): Promise<void> {
    const { world } = this;
    this.#api = await serveApi(world.host.ports, { region: REGION, caller: CALLER, signer: SIGNER });
    const outputs = {
      ...{ version: 1, stage: 'test', region: REGION, accountId: '123456789012' },
      apiUrl: `http://127.0.0.1:${String(this.#api.port)}`,
      ...{ tableName: 'table', buckets: BUCKETS, eventBusName: 'bus', scheduleGroupName: 'group' },
      machines: { sweep: 'arn:aws:states:sweep', grade: 'arn:aws:states:grade' },
      versions: { examhall: '0.1.0', codeSha256: 'c'.repeat(64) },
    };
    const { parameters, clientConfig } = world.cloud;
    parameters.set(deploymentParameterName('test'), JSON.stringify(outputs));
    parameters.set(sandboxSettingsParameterName('test'), JSON.stringify(CloudWorld.settings));
    for (const port of [this.#api.port, Number(new URL(clientConfig.endpoint).port)]) await this.#door(port);
  }

  async #door(port: number): Promise<void> {
    const socket = path.join(this.folder, `port-${String(port)}.sock`);
    const door = createServer((from) => {
      const to = connect(port, '127.0.0.1');
      for (const side of [from, to]) side.on('error', () => undefined);
      from.pipe(to).pipe(from);
    });
    this.#doors.push(door);
    door.listen(socket);
    await once(door, 'listening');
    await this.#programs.startDoor('stranger', port, socket);
  }
}
