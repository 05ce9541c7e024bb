import type { TokenPayload } from '#contracts/payloads';
import { gradeId, jobId, type JobPurpose } from '#core/ids';
import { objectKeys } from '#core/keys';
import type { StateError } from '#core/rows';
import { admitUnit } from '#usecases/admit-unit';
import { awaitSandbox } from '#usecases/await-sandbox';
import { closeAttempt } from '#usecases/close-attempt';
import { closeUnit } from '#usecases/close-unit';
import { collectOutput } from '#usecases/collect-output';
import { commitGrade } from '#usecases/commit-grade';
import { gradeUnit } from '#usecases/grade-unit';
import { grantSlots } from '#usecases/grant-slots';
import { onRunFinished } from '#usecases/on-run-finished';
import { provisionSandbox } from '#usecases/provision-sandbox';
import { recordUnit } from '#usecases/record-unit';
import { releaseSandbox } from '#usecases/release-sandbox';
import { runAgent } from '#usecases/run-agent';
import { runGrader } from '#usecases/run-grader';
import { setUpTask } from '#usecases/set-up-task';
import { stageGrade } from '#usecases/stage-grade';
import { stageUnit } from '#usecases/stage-unit';
import type { RequestOptions } from './catalog.ts';
import type { World } from './world.ts';

export const UNIT = 'first__scripted__unknown-model__demo__copy__v0';
export const ATTEMPT = `${UNIT}.1`;
const IDS = { sweepId: 'first', unitId: UNIT, attemptId: ATTEMPT };

type Step = (world: World) => Promise<unknown>;

/** What the machines call for one attempt, in their order. Jobs are answered by their event. */
const STEPS = {
  admit: async (world) => {
    await admitUnit({ sweepId: 'first', run: 1, unitId: UNIT, attempt: 1, token: world.newToken() }, world.ports);
    await grantSlots({}, world.ports);
  },
  provision: async (world) => await provisionSandbox(IDS, world.ports),
  await: async (world) => await awaitSandbox(waiting(world), world.ports),
  stage: async (world) => await job(world, 'stage', async (payload) => await stageUnit(payload, world.ports)),
  setup: async (world) => await setUpTask(IDS, world.ports),
  run: async (world) => await job(world, 'run', async (payload) => await runAgent(payload, world.ports)),
  collect: async (world) => await job(world, 'collect', async (payload) => await collectOutput(payload, world.ports)),
  release: async (world) => await releaseSandbox(IDS, world.ports),
  gradeUnit: async (world) => await gradeUnit(waiting(world), world.ports),
  stageGrade: async (world) => await stageGrade(grading(), world.ports),
  runGrader: async (world) => {
    const ref = { bucket: 'artifacts', key: objectKeys.gradeStage(gradeId(ATTEMPT, 1)) } as const;
    const stageUrl = await world.artifacts.signGet(ref, 60);
    await runGrader({ gradeId: gradeId(ATTEMPT, 1), timeoutSeconds: 60, stageUrl }, world.ports);
  },
  commitGrade: async (world) => await commitGrade({ ...grading(), error: null }, world.ports),
  record: async (world) => await recordUnit({ ...IDS, error: null }, world.ports),
  close: async (world) => await closeAttempt({ ...IDS, error: null }, world.ports),
  closeUnit: async (world) =>
    await closeUnit({ sweepId: 'first', run: 1, unitId: UNIT, error: null, token: world.newToken() }, world.ports),
} satisfies Record<string, Step>;

export type StepName = keyof typeof STEPS;

/** Plans one unit and goes through its attempt up to and including a step. */
export async function runTo(world: World, last: StepName, options: RequestOptions = {}): Promise<void> {
  await world.plan(options);
  await runSteps(world, 'admit', last);
}

/** Goes on with the attempt, from one step to another, both included. */
export async function runSteps(world: World, first: StepName, last: StepName): Promise<void> {
  const names = Object.keys(STEPS) as StepName[];
  for (const name of names.slice(names.indexOf(first), names.indexOf(last) + 1)) await STEPS[name](world);
}

/** What a state under a token gives its function. */
export function waiting(world: World): TokenPayload {
  return { ...IDS, token: world.newToken(), timeoutSeconds: 900 };
}

export function grading() {
  return { ...IDS, gradeId: gradeId(ATTEMPT, 1), gradeNumber: 1, mode: 'light' as const, timeoutSeconds: 60 };
}

/** Waits for a sandbox as long as the function does, on the world's clock. */
export async function awaitInTime(world: World): Promise<TokenPayload> {
  const payload = waiting(world);
  const done = awaitSandbox(payload, world.ports);
  const ends: string[] = [];
  void done.then(
    () => ends.push('answered'),
    () => ends.push('failed'),
  );
  for (let turn = 0; turn < 100 && ends.length === 0; turn += 1) await world.clock.advance(5000);
  await done;
  return payload;
}

export const ids = IDS;

export function failure(name: string, state: string, message = 'why'): StateError {
  return { name, message, state };
}

async function job(world: World, purpose: JobPurpose, start: (payload: TokenPayload) => Promise<void>): Promise<void> {
  await start(waiting(world));
  await onRunFinished({ jobId: jobId(ATTEMPT, purpose) }, world.ports);
}
