import { setTimeout as sleep } from 'node:timers/promises';
import { CommandRowSchema, SweepRowSchema } from '#core/rows';
import { rowKeys } from '#core/keys';
import type { RequestOptions } from '#test/builders/catalog';
import type { CloudScenario, ScenarioFault, ScenarioOutcome } from './cloud-scenarios.ts';
import { CloudWorld } from './cloud-world.ts';

export interface ScenarioReport {
  readonly outcome: ScenarioOutcome;
  readonly leftovers: readonly string[];
  /** From the attempt's expiry to the moment its machine was told to end; null where it ended before. */
  readonly overdueSeconds: number | null;
  readonly world: CloudWorld;
}

const REAL_LIMIT_MS = 60_000;

/** Runs one unit through a scenario on the stand-in. The caller closes the world. */
export async function runScenario(scenario: CloudScenario): Promise<ScenarioReport> {
  const run = new ScenarioRun(scenario);
  const world = await CloudWorld.open({
    invocation: async (name, call) => await run.invoke(name, call),
  });
  try {
    return await run.through(world);
  } catch (error) {
    await world.close();
    throw error;
  }
}

class ScenarioRun {
  readonly #scenario: CloudScenario;
  #alive: string | null = null;

  constructor(scenario: CloudScenario) {
    this.#scenario = scenario;
  }

  async invoke(name: string, call: () => Promise<string>): Promise<string> {
    if (this.#alive !== null && name !== this.#alive)
      throw Object.assign(new Error(`${name} is dead`), { name: 'Lambda.ServiceException' });
    if (name !== 'provision-sandbox' || this.#find('provisioned-twice') === undefined) return await call();
    const [first] = await Promise.allSettled([call(), call()]);
    if (first.status === 'rejected') throw first.reason;
    return first.value;
  }

  async through(world: CloudWorld): Promise<ScenarioReport> {
    const { agent, faults } = this.#scenario;
    for (const fault of faults) prepare(world, fault);
    const request = await world.request(agent, this.#options());
    const { done } = world.host.startSweep(request.sweepId, request.run);
    const overdueSeconds = await this.#meanwhile(world);
    await done;
    for (let hour = 0; hour < 10 && (hour === 0 || (await world.leftovers()).length > 0); hour += 1)
      await world.clock.elapse((hour === 0 ? 20 : 60) * 60_000);
    return { outcome: await outcomeOf(world), leftovers: await world.leftovers(), overdueSeconds, world };
  }

  #options(): RequestOptions {
    const wall = this.#find('wall-limit');
    return wall === undefined ? {} : { limits: { wallTimeSeconds: wall.seconds } };
  }

  #find<K extends ScenarioFault['kind']>(kind: K): Extract<ScenarioFault, { kind: K }> | undefined {
    return this.#scenario.faults.find((fault): fault is Extract<ScenarioFault, { kind: K }> => fault.kind === kind);
  }

  /** What happens once an agent runs. */
  async #meanwhile(world: CloudWorld): Promise<number | null> {
    const loss = this.#find('machine-lost');
    if (loss?.when === 'running') {
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const machine = await untilAgentRuns(world, attempt);
        if (machine === undefined) break;
        world.cloud.machines.lose(machine, loss.loss);
        // Without evidence there is no second attempt.
        if (loss.loss === 'shutdown' || loss.loss === 'vanished') break;
      }
    }
    if (this.#find('cancelled') !== undefined) {
      await untilAgentRuns(world, 1);
      await cancel(world);
      world.cloud.commands.letTimePass();
    }
    const dead = this.#find('all-dead-but');
    return dead === undefined ? null : await this.#dieBut(world, dead.alive);
  }

  async #dieBut(world: CloudWorld, alive: string): Promise<number> {
    await untilAgentRuns(world, 1);
    this.#alive = alive;
    world.cloud.commands.letTimePass();
    const [attempt] = await world.attempts();
    const expiresAt = Date.parse(attempt?.expiresAt ?? '');
    await world.clock.elapse(expiresAt - world.clock.now().getTime() + 3_600_000);
    this.#alive = null;
    const [machine] = world.cloud.machines.all.values();
    return ((machine?.endingAt ?? Number.POSITIVE_INFINITY) - expiresAt) / 1000;
  }
}

function prepare({ cloud, clock }: CloudWorld, fault: ScenarioFault): void {
  const { faults, machines } = cloud;
  const later = (seconds: number, act: () => void): void =>
    void clock.setTimer(seconds * 1000, act, { background: true });
  switch (fault.kind) {
    case 'all-dead-but':
      machines.obeysGuestTimers = fault.alive === 'guest timer';
      break;
    case 'sold-out':
      faults.sellOut('*', fault.zone);
      later(fault.seconds, () => faults.restock());
      break;
    case 'quota':
      faults.vCpuQuota = fault.vCpus;
      later(fault.seconds, () => (faults.vCpuQuota = null));
      break;
    case 'events':
      for (let wait = 0; wait < 3; wait += 1) faults.nextEvent(fault, CloudWorld.waitDocument);
      break;
    case 'machine-lost':
      if (fault.when === 'awaiting')
        later(20, () => [...machines.all.keys()].slice(0, 1).forEach((id) => machines.lose(id, fault.loss)));
      break;
    case 'answer-lost':
      faults.loseAnswers(fault.operation, fault.times);
      break;
    case 'throttled':
      faults.throttle(fault.operation, fault.times);
      break;
    default:
      prepareMachine(cloud, fault);
  }
}

function prepareMachine({ faults }: CloudWorld['cloud'], fault: ScenarioFault): void {
  if (fault.kind === 'hidden') faults.nextMachine({ hiddenLooks: fault.looks });
  if (fault.kind === 'never-online') faults.nextMachine({ neverOnline: true });
  if (fault.kind === 'black-screen') faults.nextMachine({ blackScreen: true });
  if (fault.kind === 'slow-terminate') faults.nextMachine({ terminateSeconds: fault.seconds });
  if (fault.kind === 'leaves-parts') faults.nextMachine({ leavesParts: true });
}

/** Waits, in real time, until the wait for an agent's job runs on its machine. @returns the machine; undefined when none comes. */
export async function untilAgentRuns(world: CloudWorld, attempt: number): Promise<string | undefined> {
  const until = Date.now() + REAL_LIMIT_MS;
  for (;;) {
    const { rows } = await world.store.query({ pk: rowKeys.command('').pk, limit: 1000 });
    const waits = rows.map(({ body }) => CommandRowSchema.parse(body));
    const found = waits.find(({ jobId }) => jobId.endsWith(`.${String(attempt)}~run`));
    const command = found === undefined ? undefined : world.cloud.commands.all.get(found.commandId);
    if (command?.status === 'InProgress') return command.machine.instanceId;
    if (Date.now() > until) return undefined;
    await sleep(50);
  }
}

/** What the API does when an owner cancels. */
async function cancel(world: CloudWorld): Promise<void> {
  const row = await world.store.get(rowKeys.sweep('first'));
  const body = { ...SweepRowSchema.parse(row?.body), cancelled: true };
  await world.store.write([{ put: { ...rowKeys.sweep('first'), body }, when: 'exists' }]);
}

async function outcomeOf(world: CloudWorld): Promise<ScenarioOutcome> {
  const unit = await world.unit();
  const attempts = await world.attempts();
  return {
    unitClass: unit.class,
    score: unit.score,
    blames: attempts.map(({ verdict }) => String(verdict?.['blame'])),
    machines: world.cloud.machines.launches.length,
  };
}
