import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { taskKeyPrefix } from '#core/catalog';
import { GUEST_PATHS } from '#core/boot-script';
import { jobId } from '#core/ids';
import { objectKeys, rowKeys, rowPrefixes } from '#core/keys';
import type { PreflightFacts } from '#core/preflight-check';
import { CONNECT_PROGRAM, WEB_PROGRAM } from '#core/preflight-programs';
import { outsideTargets, preflightScript } from '#core/preflight-script';
import { AttemptRowSchema, UnitRowSchema, WaitRowSchema, type AttemptRow } from '#core/rows';
import { publishFakeTask } from '#test/builders/catalog';
import type { Guest } from '#test/emulators/cloud/guest';
import type { MachineRecord } from '#test/emulators/cloud/machine-record';
import { ADDRESSES, HostileNetwork, type PlaceName } from './hostile-network.ts';
import { HostilePrograms } from './hostile-programs.ts';
import type { Walls } from './hostile-walls.ts';
import { publishCloudAgent } from '#test/state-machines/cloud-agents';
import { fetchRecord, type FetchedRecord } from './hostile-record.ts';
import { agentScript, AS_ROOT, HOSTILE_AGENT, loosen, ON_DISK, SIBLING_AGENT } from './hostile-scripts.ts';
import { CloudWorld } from '#test/state-machines/cloud-world';

/** `hostile` has its machine behind the walls; that of `loose` has lost its own, and the provider's are down for it. */
const ATTACKERS = { hostile: 'sandbox', loose: 'loose' } as const;
type Attacker = keyof typeof ATTACKERS;
const LIMIT_MS = 90_000;

const UNTIL_IT_ACTS = `tries=0; until [ -e ${ON_DISK.outputAt} ]; do tries=$((tries + 1)); [ $tries -lt 1800 ] || exit 9; sleep 0.1; done`;

interface UpMachine {
  readonly machine: MachineRecord;
  readonly guest: Guest;
  readonly attemptId: string;
}

/**
 * One sweep on the stand-in with two hostile agents and a sibling, after another sweep whose attempt has left output. Machines
 * stand in a network with the provider's metadata and services; what agents find out is told by their records.
 */
export class HostileSweep {
  readonly world: CloudWorld;
  readonly network: HostileNetwork;
  readonly facts = new Map<Attacker, PreflightFacts>();
  /** What the hostile agent's machine answered somebody outside the network, and the sibling's desktop our function. */
  readonly reached = { fromOutside: '', fromCaller: '' };
  /** What root on the hostile agent's machine has found between its stop and its release. */
  afterStop: string | null = null;
  readonly #walls: Walls;
  readonly #programs: HostilePrograms;
  #otherKey = '';
  #hostile: UpMachine | null = null;

  private constructor(world: CloudWorld, network: HostileNetwork, walls: Walls) {
    this.world = world;
    this.network = network;
    this.#walls = walls;
    this.#programs = new HostilePrograms(network);
  }

  static async run(walls: Walls): Promise<HostileSweep> {
    const sweeps: HostileSweep[] = [];
    const world = await CloudWorld.open({
      invocation: async (name, call) => {
        if (name === 'release-sandbox') await sweeps[0]?.lookAfterStop();
        return await call();
      },
    });
    const sweep = new HostileSweep(world, await HostileNetwork.open(['caller', 'stranger']), walls);
    sweeps.push(sweep);
    try {
      await sweep.#through();
      return sweep;
    } catch (error) {
      await sweep.close();
      throw error;
    }
  }

  /** Key of what the other attempt has left. */
  get otherKey(): string {
    return this.#otherKey;
  }

  async attempt(agent: Attacker | 'sibling'): Promise<AttemptRow> {
    const [attempt, ...more] = await this.#attemptsOf('first', agent);
    if (attempt === undefined || more.length > 0) throw new Error(`${agent} has not one attempt`);
    return attempt;
  }

  async record(agent: Attacker | 'sibling'): Promise<FetchedRecord> {
    return await fetchRecord(this.world.runTree.files, await this.attempt(agent));
  }

  /** Runs the root part once the hostile agent's output is collected and its machine still there. */
  async lookAfterStop(): Promise<void> {
    const facts = this.facts.get('hostile');
    if (this.#hostile === null || facts === undefined || this.afterStop !== null) return;
    const { collected } = await this.attempt('hostile');
    if (collected === null || this.#hostile.machine.state !== 'running') return;
    this.afterStop = '';
    this.afterStop = await this.#root(this.#hostile, preflightScript('linux', 'root', facts));
  }

  async close(): Promise<void> {
    await this.world.close();
    this.#programs.end();
    await this.network.close();
  }

  async #through(): Promise<void> {
    const { world, network } = this;
    world.modules.behave['evaluate'] = async ({ folders }) => {
      const answer = await readFile(path.join(folders['output'] ?? '', 'answer.txt'), 'utf8');
      return { value: answer.startsWith('content of input/') ? 1 : 0 };
    };
    const earlier = await world.request('quick', { sweepId: 'earlier', name: 'earlier' });
    await world.host.startSweep(earlier.sweepId, earlier.run).done;
    const [other] = await this.#attemptsOf('earlier', 'scripted');
    this.#otherKey = `${objectKeys.output(other?.attemptId ?? '')}answer.txt`;
    await this.#programs.startProvider({ statements: this.#walls.role, openTo: [ADDRESSES.loose], objects: null });
    network.filter('provider', this.#walls.groups);
    const request = await world.request('quick', {
      agents: await Promise.all([
        this.#agent('hostile', HOSTILE_AGENT),
        this.#agent('loose', HOSTILE_AGENT),
        this.#agent('sibling', SIBLING_AGENT),
      ]),
      limits: { maxAttempts: 3, concurrency: 3 },
    });
    const { done } = world.host.startSweep(request.sweepId, request.run);
    await Promise.all([done, this.#meanwhile()]);
    await world.clock.elapse(30 * 60_000);
  }

  async #meanwhile(): Promise<void> {
    const sibling = await this.#up('sibling');
    this.network.join('sibling', sibling.guest.pid);
    await this.#programs.startDesktop('sibling', this.network.place('sibling').address);
    const over = new AbortController();
    const passing = this.#letTimePass(sibling, over.signal);
    let left = Object.keys(ATTACKERS).length;
    const beforeItEnds = async (): Promise<void> => {
      left -= 1;
      // The sibling ends while an attacker still keeps time from passing.
      if (left === 0) await this.#root(sibling, `: > ${ON_DISK.over}`);
    };
    try {
      await Promise.all([this.#attack('hostile', beforeItEnds), this.#attack('loose', beforeItEnds)]);
    } finally {
      over.abort();
      await passing;
    }
  }

  /** Virtual time stands still while an agent runs. That of the sibling runs all along, and holds up nobody. */
  async #letTimePass({ machine }: UpMachine, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      for (const command of this.world.cloud.commands.all.values())
        if (command.machine === machine && command.document === CloudWorld.waitDocument) command.letTimePass();
      await sleep(50);
    }
  }

  async #attack(agent: Attacker, beforeItEnds: () => Promise<void>): Promise<void> {
    const up = await this.#up(agent);
    if (agent === 'hostile') this.#hostile = up;
    const place = ATTACKERS[agent];
    this.network.join(place, up.guest.pid);
    await this.#root(up, UNTIL_IT_ACTS);
    const wait = await this.world.store.get(rowKeys.jobWait(jobId(up.attemptId, 'run')));
    const { token } = WaitRowSchema.parse(wait?.body);
    if (agent === 'hostile') this.network.filter(place, this.#walls.metadata);
    else await this.#root(up, loosen(token));
    const { facts, links } = await this.#factsOf(agent, up.attemptId, token);
    this.facts.set(agent, facts);
    const disk = await this.world.cloud.guests.diskOf(up.machine.instanceId);
    await writeFile(path.join(disk, ON_DISK.rootScript), preflightScript('linux', 'root', facts));
    await writeFile(path.join(disk, 'root/agent.sh'), agentScript(facts, links), { mode: 0o644 });
    await this.#root(up, `mv /root/agent.sh ${ON_DISK.agentScript}`);
    if (agent === 'hostile') await this.#callFrom(facts);
    await beforeItEnds();
    await this.#root(up, AS_ROOT);
  }

  async #callFrom(facts: PreflightFacts): Promise<void> {
    const targets = outsideTargets(facts);
    const ports = targets.map(({ port }) => String(port));
    const outside = [CONNECT_PROGRAM, String(facts.publicAddress), ...ports];
    const desktop = [WEB_PROGRAM, 'GET', `http://${String(facts.siblingAddress)}:5000/status`, '', ''];
    const ask = async (place: PlaceName, given: readonly string[]): Promise<string> => {
      const [program = '', ...args] = this.network.in(place, [process.execPath, '-e', ...given]);
      return (await promisify(execFile)(program, args, { timeout: 30_000 })).stdout.trim();
    };
    this.reached.fromOutside = await ask('stranger', outside);
    this.reached.fromCaller = await ask('caller', desktop);
  }

  async #factsOf(agent: Attacker, attemptId: string, token: string) {
    const { artifacts: store } = this.world.host.ports;
    const ownRef = { bucket: 'artifacts', key: `${objectKeys.attempt(attemptId)}own.txt` } as const;
    await store.put(ownRef, 'its own');
    const own = await store.signGet(ownRef, 3600);
    const led = (bucket: string, key: string): string => {
      const url = new URL(own);
      url.pathname = `/${bucket}`;
      url.searchParams.set('key', key);
      return url.href;
    };
    const otherRef = { bucket: 'artifacts', key: this.#otherKey } as const;
    const { taskId, revision } = await publishFakeTask(store);
    const referenceKey = `${taskKeyPrefix(taskId, revision)}reference/base/code.txt`;
    await store.get({ bucket: 'references', key: referenceKey });
    const changedLink = agent === 'loose' ? await store.signGet(otherRef, 3600) : led('artifacts', this.#otherKey);
    const { runner, runnerNode: node, keyFile: runnerKey, jobsDir: jobs } = GUEST_PATHS.linux;
    const facts: PreflightFacts = {
      ...{ region: 'us-east-1', stage: 'test', privilege: 'restricted' },
      ...{ node, runner, runnerKey, jobs },
      ...{ artifacts: 'artifacts', references: 'references', table: 'table', runDocument: 'examhall-test-run' },
      ...{ otherAttemptKey: this.#otherKey, changedLink, tokenStart: token },
      siblingAddress: this.network.place('sibling').address,
      publicAddress: this.network.place(ATTACKERS[agent]).address,
      endpoint: this.#programs.endpoint,
    };
    return { facts, links: { own, reference: led('references', referenceKey) } };
  }

  async #agent(id: string, source: string) {
    const manifestKey = await publishCloudAgent(this.world.host.ports.artifacts, { source });
    return { id, agentId: 'scripted', harness: id, model: null, manifestKey, config: {} };
  }

  /** Waits, in real time, until an agent's machine is there, and for no more: time stands still while another's agent runs. */
  async #up(agent: string): Promise<UpMachine> {
    const { machines, guests } = this.world.cloud;
    const until = Date.now() + LIMIT_MS;
    while (Date.now() < until) {
      const machine = [...machines.all.values()].find(({ tags }) => tags.get('examhall:agent') === agent);
      if (machine !== undefined)
        return { machine, guest: await guests.of(machine), attemptId: machine.tags.get('examhall:attempt') ?? '' };
      await sleep(50);
    }
    throw new Error(`no machine of ${agent} came up`);
  }

  async #root({ guest }: UpMachine, script: string): Promise<string> {
    const { exitCode, stdout, stderr } = await guest.run(script).ended;
    if (exitCode !== 0) throw new Error(`${script.slice(0, 200)} ended with ${String(exitCode)}: ${stderr}`);
    return stdout;
  }

  async #attemptsOf(sweepId: string, agent: string): Promise<readonly AttemptRow[]> {
    const { store } = this.world;
    const { rows } = await store.query({ pk: rowKeys.sweep(sweepId).pk, skPrefix: rowPrefixes.unit, limit: 100 });
    const unit = rows
      .map(({ body }) => UnitRowSchema.parse(body))
      .find(({ unitId }) => unitId.includes(`__${agent}__`));
    if (unit === undefined) throw new Error(`${sweepId} has no unit of ${agent}`);
    const found = await store.query({ pk: rowKeys.attempt(`${unit.unitId}.1`).pk, limit: 100 });
    return found.rows.map(({ body }) => AttemptRowSchema.parse(body));
  }
}
