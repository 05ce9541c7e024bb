import { describe, expect, it } from 'vitest';
import { EXECUTION_SOURCE } from '#contracts/events';
import { rowKeys } from '#core/keys';
import { functionNameOf } from '#local/machines';
import { machine, MACHINE_NAMES } from '#test/state-machines/definitions';
import { explain, wrongsOf } from './invariants.ts';
import { CALM, type Schedule } from './schedule.ts';
import { ModelWorld, type Interference } from './world.ts';

const SCHEDULE: Schedule = { ...CALM, seed: 7, units: 2 };

interface Boundary {
  readonly name: (typeof MACHINE_NAMES)[number];
  readonly state: string;
  readonly when: 'before' | 'after';
  /** Whether the event of the end of the execution arrives. */
  readonly isHeard: boolean;
}

/** Every state of every machine, from the files. */
const BOUNDARIES: readonly Boundary[] = MACHINE_NAMES.flatMap((name) =>
  Object.keys(machine(name).States).flatMap((state) =>
    (['before', 'after'] as const).flatMap((when) => [true, false].map((isHeard) => ({ name, state, when, isHeard }))),
  ),
);

/** States that only some sweeps come to. */
const NEEDS: Readonly<Record<string, Partial<Schedule>>> = {
  RunSandboxGrader: { gradingMode: 'same-sandbox' },
};

/** States that a machine comes to only when a function of it has failed. */
const AFTER_FAILURE_OF: Readonly<Record<string, string>> = {
  FailPlan: 'plan-sweep',
  FailReport: 'report-sweep',
  FailGrade: 'commit-grade',
  LeaveUnitOpen: 'close-unit',
};

/** Stops the execution that is at the state: before it does anything, or as soon as it has and before the next begins. */
function killer({ name, state, when, isHeard }: Boundary, killed: { count: number }): Interference {
  const machineName = name === 'unit' ? 'sweep/RunUnits' : name;
  const functionName = machine(name).States[state]?.Type === 'Task' ? functionNameOf(state) : null;
  const stop = (world: ModelWorld, isTold: (input: string) => boolean): boolean => {
    if (killed.count > 0) return false;
    const found = [...world.executions.values()].find(
      ({ stateMachineName, input }) => stateMachineName === machineName && isTold(input),
    );
    if (found === undefined) return false;
    killed.count += 1;
    for (const { sk } of world.store.rowsIn(rowKeys.openAttempt('').pk)) world.truth.strike('killed', sk);
    world.truth.tell(`kill: ${machineName} ${when} ${state}`);
    world.host.interpreter.stop(found.executionArn, 'Killed', 'by the test');
    return true;
  };
  const isEnd = machine(name).States[state]?.Type === 'Fail';
  const isDeaf = ({ source }: { readonly source: string }): boolean => source === EXECUTION_SOURCE && !isHeard;
  return {
    deed: () => 'finishes',
    event: (event) => (isDeaf(event) ? { copies: 0 } : undefined),
    history: (event, world) => {
      const isHere = event.state === state && (functionName === null || state === 'RunUnits');
      const isTime = event.type.endsWith(when === 'before' ? 'StateEntered' : 'StateExited');
      // What a state that fails does is to end its execution: nothing is left to be stopped after it.
      if (isHere && isEnd && when === 'after') killed.count = 1;
      else if (isHere && isTime) stop(world, () => world.executions.get(event.executionArn) !== undefined);
    },
    invocation: async (called, call, world) => {
      if (called === AFTER_FAILURE_OF[state] && killed.count === 0) {
        const { attemptId = null } = world.truth.running.getStore() ?? {};
        if (attemptId !== null) world.truth.strike('killed', attemptId);
        throw Object.assign(new Error('it fails'), { name: 'PayloadInvalidError' });
      }
      if (called !== functionName) return await call();
      const unitId = world.truth.running.getStore()?.attemptId?.replace(/\.\d+$/u, '') ?? '';
      const about = (input: string): boolean =>
        name === 'sweep' || unitId === '' || input.includes(`"unitId":"${unitId}"`);
      if (when === 'before' && stop(world, about)) return 'null';
      const answer = await call();
      if (when === 'after') stop(world, about);
      return answer;
    },
  };
}

/** A sweep that is dead before it is planned has no units. */
function isUnplannedSweep({ name, state, when }: Boundary, wrong: string): boolean {
  const isDue = state === 'FailPlan' || (state === 'PlanSweep' && when === 'before');
  return name === 'sweep' && isDue && wrong === '0 units were planned';
}

describe('the orchestrator killed at a state', () => {
  it('is killed at every state there is', () => {
    expect(BOUNDARIES.length).toBeGreaterThan(100);
    const states = MACHINE_NAMES.flatMap((name) => Object.keys(machine(name).States));
    const named = [...Object.keys(NEEDS), ...Object.keys(AFTER_FAILURE_OF)];
    expect(named.filter((state) => !states.includes(state))).toEqual([]);
    for (const when of ['before', 'after'] as const)
      expect(BOUNDARIES.filter((each) => each.when === when && each.isHeard).map(({ state }) => state)).toEqual(states);
  });

  it.each(BOUNDARIES)(
    '$name $when $state (heard: $isHeard) leaves nothing behind',
    async (boundary) => {
      const killed = { count: 0 };
      const world = await ModelWorld.create({ ...SCHEDULE, ...NEEDS[boundary.state] }, killer(boundary, killed));
      await world.run(30);
      const wrongs = (await wrongsOf(world)).filter((wrong) => !isUnplannedSweep(boundary, wrong));
      expect(wrongs, explain(world, wrongs)).toEqual([]);
      expect(killed.count).toBe(1);
    },
    120_000,
  );
});
