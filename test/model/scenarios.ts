import { rowKeys } from '#core/keys';
import type { CloudScenario, ScenarioFault } from '#test/state-machines/cloud-scenarios';
import { CloudError, type LaunchAsk, type Machine } from './cloud-machine.ts';
import type { Deed } from './deeds.ts';
import { attemptsOf, unitsOf } from './invariants.ts';
import { CALM } from './schedule.ts';
import { ModelWorld, type Interference } from './world.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');
/** Losses that the provider gives a reason for. */
const EVIDENT: ReadonlySet<string> = new Set(['spot', 'host', 'status-check', 'retired']);
/** How often a client sends a request before its caller hears that there was no answer. */
const CLIENT_TRIES = 3;

type Fault<K extends ScenarioFault['kind']> = Extract<ScenarioFault, { readonly kind: K }>;

function faultOf<K extends ScenarioFault['kind']>({ faults }: CloudScenario, kind: K): Fault<K> | undefined {
  return faults.find((fault): fault is Fault<K> => fault.kind === kind);
}

/** What the model says of a scenario, in the scenario's own words. */
export async function playScenario(scenario: CloudScenario): Promise<{
  readonly outcome: CloudScenario['expected'];
  readonly left: readonly string[];
  readonly timeline: string;
}> {
  const world = await ModelWorld.create(CALM, interferenceOf(scenario));
  rigCloud(world, scenario);
  await world.run(30);
  const [unit] = unitsOf(world);
  if (unit === undefined) throw new Error('the scenario has no unit');
  const blames = attemptsOf(world, unit.unitId).map(({ verdict }) => String(verdict?.['blame']));
  const machines = [...world.cloud.machines.values()].filter(({ attemptId }) => attemptId !== null).length;
  const outcome = { unitClass: unit.class, score: unit.score, blames, machines };
  return { outcome, left: await world.leftovers(), timeline: world.truth.timeline() };
}

function interferenceOf(scenario: CloudScenario): Interference {
  const events = faultOf(scenario, 'events');
  const twice = faultOf(scenario, 'provisioned-twice');
  const alone = faultOf(scenario, 'all-dead-but');
  const deed: Deed = scenario.agent === 'quick' ? 'finishes' : 'runsOut';
  let provisions = 0;
  return {
    deed: () => deed,
    event: ({ detailType }) =>
      events === undefined || detailType !== 'guest.job-finished'
        ? undefined
        : { copies: events.copies, delayMilliseconds: events.lateSeconds * 1000 },
    invocation: async (name, call, world) => {
      if (alone !== undefined && name !== alone.alive && isAgentsMachineUp(world))
        throw dead('everything else is dead');
      const answer = await call();
      if (name !== 'provision-sandbox' || twice === undefined || (provisions += 1) > 1) return answer;
      throw dead('its answer is lost');
    },
  };
}

function dead(message: string): Error {
  return Object.assign(new Error(message), { name: 'Lambda.Unknown' });
}

function isAgentsMachineUp({ truth, cloud }: ModelWorld): boolean {
  return [...truth.attempts].some(
    ([attemptId, { agentStartedAt }]) => agentStartedAt !== null && cloud.alive(attemptId).length > 0,
  );
}

/** Puts what a scenario wants of the cloud in the way of its calls. */
function rigCloud(world: ModelWorld, scenario: CloudScenario): void {
  const { cloud } = world;
  const run = cloud.runInstances.bind(cloud);
  let launches = 0;
  Object.assign(cloud, {
    runInstances: (ask: LaunchAsk): Machine => {
      refuseLaunch(world, scenario, ask);
      const before = cloud.machines.size;
      const machine = run(ask);
      const isNew = cloud.machines.size > before;
      if (isNew) rigMachine(world, scenario, { machine, isFirst: (launches += 1) === 1 });
      const lost = scenario.faults.some(({ kind }) => kind === 'answer-lost');
      const isLost = lost && isNew && launches === 1 && operationOf(scenario) === 'RunInstances';
      if (isLost) throw new CloudError('TimeoutError', `no answer to ${String(CLIENT_TRIES)} tries`);
      return machine;
    },
  });
  rigCalls(world, scenario);
}

function operationOf(scenario: CloudScenario): string {
  return faultOf(scenario, 'answer-lost')?.operation ?? '';
}

function refuseLaunch({ clock }: ModelWorld, scenario: CloudScenario, { pool }: LaunchAsk): void {
  const seconds = (clock.now().getTime() - START) / 1000;
  const soldOut = faultOf(scenario, 'sold-out');
  const quota = faultOf(scenario, 'quota');
  const isInZone = soldOut !== undefined && (soldOut.zone === '*' || soldOut.zone.at(-1) === pool.at(-1));
  if (isInZone && seconds < soldOut.seconds)
    throw new CloudError('InsufficientInstanceCapacity', `${pool} is sold out`);
  if (quota !== undefined && seconds < quota.seconds) throw new CloudError('VcpuLimitExceeded', 'no vCPU is allowed');
}

function rigMachine(
  { clock, cloud, truth }: ModelWorld,
  scenario: CloudScenario,
  { machine, isFirst }: { readonly machine: Machine; readonly isFirst: boolean },
): void {
  const change = (changes: Partial<Machine>): void => void Object.assign(machine, changes);
  const hidden = faultOf(scenario, 'hidden');
  const slow = faultOf(scenario, 'slow-terminate');
  if (isFirst && hidden !== undefined) change({ visibleAt: machine.launchedAt + hidden.looks * 30_000 });
  if (isFirst && scenario.faults.some(({ kind }) => kind === 'never-online' || kind === 'black-screen'))
    change({ runningAt: Infinity });
  if (isFirst && slow !== undefined) change({ endSeconds: Math.min(slow.seconds, 200) });
  if (isFirst && faultOf(scenario, 'leaves-parts') !== undefined) change({ keepsVolume: true });
  const loss = faultOf(scenario, 'machine-lost');
  if (loss === undefined || (loss.when === 'awaiting' && !isFirst)) return;
  const ownReason = EVIDENT.has(loss.loss) ? `Server.${loss.loss}` : '';
  const reason = loss.loss === 'operator' ? 'Client.UserInitiatedShutdown' : ownReason;
  const lose = (): void => cloud.end(machine, reason, 'a loss');
  if (loss.when === 'awaiting') clock.setTimer(20_000, lose);
  else clock.setTimer(1000, loseOnceItRuns);
  function loseOnceItRuns(): void {
    if (truth.of(machine.attemptId ?? '').agentStartedAt === null) clock.setTimer(1000, loseOnceItRuns);
    else clock.setTimer(30_000, lose);
  }
}

/** Answers that are lost, throttled requests, and an owner who cancels. */
function rigCalls(world: ModelWorld, scenario: CloudScenario): void {
  const { cloud, store, clock, truth } = world;
  const terminate = cloud.terminate.bind(cloud);
  let lost = operationOf(scenario) === 'TerminateInstances' ? 1 : 0;
  Object.assign(cloud, {
    terminate: (instanceId: string): void => {
      terminate(instanceId);
      if (lost > 0) {
        lost -= 1;
        throw new CloudError('TimeoutError', 'no answer to TerminateInstances');
      }
    },
  });
  if (faultOf(scenario, 'cancelled') === undefined) return;
  clock.setTimer(1000, cancelOnceItRuns);
  function cancelOnceItRuns(): void {
    const row = store.peek(rowKeys.sweep('first'));
    const hasBegun = [...truth.attempts.values()].some(({ agentStartedAt }) => agentStartedAt !== null);
    if (row === undefined || !hasBegun) {
      clock.setTimer(1000, cancelOnceItRuns);
      return;
    }
    void store.write([{ put: { ...rowKeys.sweep('first'), body: { ...row.body, cancelled: true } }, when: 'exists' }]);
    void world.host.ports.events.publish('sweep.changed', { sweepId: 'first' });
  }
}
