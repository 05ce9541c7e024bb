import { waitUnlessCancelled } from './cancel.ts';
import type {
  Assignments,
  Catcher,
  ChoiceState,
  FailState,
  MapState,
  ParallelState,
  State,
  StatesBlock,
  SucceedState,
  TaskState,
  WaitState,
} from './definition.ts';
import { AslError, CancelledError, NO_CHOICE_MATCHED, RUNTIME, toAslError } from './errors.ts';
import { assertPayloadFits } from './limits.ts';
import { runMap, runParallel } from './map.ts';
import { type Json, Payload } from './payload.ts';
import { findCatcher } from './retry.ts';
import { runTask } from './task.ts';
import { type Template, wrongValueError } from './template.ts';
import { type Run, Visit } from './visit.ts';

/** Where a state leads; `next` is undefined where its block ends. */
interface Exit {
  readonly output: Payload;
  readonly next: string | undefined;
}

/** The fields that decide a state's output and variables. */
interface Outcome {
  readonly output: Template | undefined;
  readonly assign: Assignments | undefined;
}

/**
 * Walks a block of states to its end and gives its output.
 * @throws AslError when a state fails and nothing catches it; CancelledError when the run is stopped from outside.
 */
export async function runBlock(block: StatesBlock, input: Payload, run: Run): Promise<Payload> {
  let name = block.startAt;
  let payload = input;
  for (;;) {
    run.cancel.throwIfCancelled();
    const state = block.states.get(name);
    if (state === undefined) throw new AslError(RUNTIME, `There is no state '${name}'.`);
    run.execution.record(`${state.type}StateEntered`, state.name);
    let exit: Exit;
    try {
      exit = await perform(state, new Visit(run, state.name, payload));
    } catch (error) {
      if (error instanceof CancelledError) run.execution.recordAborted(`${state.type}StateAborted`, state.name);
      throw error;
    }
    run.execution.record(`${state.type}StateExited`, state.name);
    if (exit.next === undefined) return exit.output;
    name = exit.next;
    payload = exit.output;
  }
}

function perform(state: State, visit: Visit): Promise<Exit> {
  switch (state.type) {
    case 'Task':
      return performFallible(state, visit, () => runTask(state, visit));
    case 'Map':
      return performFallible(state, visit, () => runMap(state, visit, runBlock));
    case 'Parallel':
      return performFallible(state, visit, () => runParallel(state, visit, runBlock));
    case 'Pass':
      return exitWith(state, state.next, visit.input, visit);
    case 'Choice':
      return performChoice(state, visit);
    case 'Wait':
      return performWait(state, visit);
    case 'Succeed':
      return performSucceed(state, visit);
    case 'Fail':
      return performFail(state, visit);
  }
}

/** Runs attempts until one succeeds, its retriers are spent, or a catcher takes over. */
async function performFallible(
  state: TaskState | MapState | ParallelState,
  visit: Visit,
  attempt: () => Promise<Payload>,
): Promise<Exit> {
  for (;;) {
    try {
      visit.result = await attempt();
      return await exitWith(state, state.next, visit.result, visit);
    } catch (thrown) {
      if (thrown instanceof CancelledError) throw thrown;
      const error = toAslError(thrown);
      visit.result = undefined;
      const delay = visit.retries.next(state.retriers, error, visit.run.engine.random);
      if (delay === undefined) return caught(state, visit, error);
      await pause(visit.run, delay);
    }
  }
}

async function caught(state: TaskState | MapState | ParallelState, visit: Visit, error: AslError): Promise<Exit> {
  if (state.type !== 'Task') visit.run.execution.record(`${state.type}StateFailed`, state.name);
  const catcher: Catcher | undefined = findCatcher(state.catchers, error);
  if (catcher === undefined) throw error;
  const errorOutput: Json = { Error: error.name, Cause: error.causeText ?? '' };
  visit.errorOutput = errorOutput;
  return exitWith(catcher, catcher.next, Payload.of(errorOutput), visit);
}

/** Works out output and variables from what the state saw on entry, then sets the variables. */
async function exitWith(
  { output, assign }: Outcome,
  next: string | undefined,
  result: Payload,
  visit: Visit,
): Promise<Exit> {
  const payload = output === undefined ? result : Payload.of(await visit.fill(output));
  assertPayloadFits(payload.text, visit.stateName);
  if (assign !== undefined) {
    const values: (readonly [string, Payload])[] = [];
    for (const [name, template] of assign) values.push([name, Payload.of(await visit.fill(template))]);
    visit.run.scope.assign(values);
  }
  return { output: payload, next };
}

async function performChoice(state: ChoiceState, visit: Visit): Promise<Exit> {
  for (const choice of state.choices) {
    if (await visit.fillBoolean(choice.condition, `${choice.location}/Condition`)) {
      return exitWith(choice, choice.next, visit.input, visit);
    }
  }
  if (state.defaultNext === undefined) {
    throw new AslError(NO_CHOICE_MATCHED, `${visit.place} No choice matched and there is no Default.`);
  }
  return exitWith(state, state.defaultNext, visit.input, visit);
}

async function performWait(state: WaitState, visit: Visit): Promise<Exit> {
  if (state.seconds !== undefined) {
    await pause(visit.run, (await visit.fillInteger(state.seconds, 'Seconds', 0)) * 1000);
  } else if (state.timestamp !== undefined) {
    await pause(visit.run, (await readTimestamp(state.timestamp, visit)) - visit.nowMilliseconds());
  }
  return exitWith(state, state.next, visit.input, visit);
}

/** RFC 3339 with a capital T, and Z or an offset. */
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

async function readTimestamp(template: Template, visit: Visit): Promise<number> {
  const text = await visit.fillString(template, 'Timestamp');
  const milliseconds = TIMESTAMP.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(milliseconds)) return milliseconds;
  throw visit.evaluationFailed(wrongValueError(template, 'Timestamp', 'RFC 3339 timestamp', text));
}

async function performSucceed(state: SucceedState, visit: Visit): Promise<Exit> {
  return exitWith({ output: state.output, assign: undefined }, undefined, visit.input, visit);
}

async function performFail(state: FailState, visit: Visit): Promise<Exit> {
  const error = state.error === undefined ? '' : await visit.fillString(state.error, 'Error');
  const cause = state.cause === undefined ? undefined : await visit.fillString(state.cause, 'Cause');
  throw new AslError(error, cause);
}

/** Waits on the host's clock; no time at all for a moment that has passed. */
async function pause(run: Run, milliseconds: number): Promise<void> {
  if (milliseconds <= 0) return;
  await waitUnlessCancelled<undefined>(run.cancel, (resolve) =>
    run.engine.host.clock.setTimer(milliseconds, () => resolve(undefined)),
  );
}
