import { CancelScope } from './cancel.ts';
import type { MapState, ParallelState } from './definition.ts';
import { runDistributedMap } from './distributed-map.ts';
import { CancelledError } from './errors.ts';
import type { RunBlock } from './lifecycle.ts';
import { assertPayloadFits, MAX_INLINE_CONCURRENCY } from './limits.ts';
import { readItems } from './map-items.ts';
import { Payload } from './payload.ts';
import { VariableScope } from './variables.ts';
import type { Run, Visit } from './visit.ts';

/** Runs one attempt of a Map and gives the list of its outputs, or what its ResultWriter says. */
export async function runMap(state: MapState, visit: Visit, runBlock: RunBlock): Promise<Payload> {
  if (state.isDistributed) return runDistributedMap(state, visit, runBlock);
  const items = await readItems(state, visit);
  const limit =
    state.maxConcurrency === undefined ? 0 : await visit.fillInteger(state.maxConcurrency, 'MaxConcurrency', 0);
  const { execution } = visit.run;
  execution.record('MapStateStarted', state.name);
  const concurrency = limit === 0 ? MAX_INLINE_CONCURRENCY : Math.min(limit, MAX_INLINE_CONCURRENCY);
  const outputs = await runAll(visit.run.cancel, items.length, concurrency, (index, cancel) =>
    runIteration(state, visit, { index, value: Payload.of(items[index] ?? null), cancel, runBlock }),
  );
  execution.record('MapStateSucceeded', state.name);
  return listOf(outputs, state.name);
}

interface Iteration {
  readonly index: number;
  readonly value: Payload;
  readonly cancel: CancelScope;
  readonly runBlock: RunBlock;
}

async function runIteration(
  state: MapState,
  visit: Visit,
  { index, value, cancel, runBlock }: Iteration,
): Promise<Payload> {
  const { engine, execution, scope: outer } = visit.run;
  const mapItem = { index, value };
  execution.record('MapIterationStarted', state.name);
  const scope = new VariableScope(execution.variables, outer);
  const run: Run = { engine, execution, scope, cancel, mapItem };
  try {
    const input =
      state.itemSelector === undefined
        ? value
        : Payload.of(await visit.fill(state.itemSelector, visit.frameOfItem(mapItem)));
    assertPayloadFits(input.text, state.name);
    const output = await runBlock(state.processor, input, run);
    execution.record('MapIterationSucceeded', state.name);
    return output;
  } catch (error) {
    if (error instanceof CancelledError) execution.recordAborted('MapIterationAborted', state.name);
    else execution.record('MapIterationFailed', state.name);
    throw error;
  } finally {
    scope.close();
  }
}

/** Runs one attempt of a Parallel and gives the list of its branches' outputs. */
export async function runParallel(state: ParallelState, visit: Visit, runBlock: RunBlock): Promise<Payload> {
  const { engine, execution, scope: outer, mapItem } = visit.run;
  const input = state.arguments === undefined ? visit.input : Payload.of(await visit.fill(state.arguments));
  assertPayloadFits(input.text, state.name);
  execution.record('ParallelStateStarted', state.name);
  const { branches } = state;
  const outputs = await runAll(visit.run.cancel, branches.length, branches.length, async (index, cancel) => {
    const scope = new VariableScope(execution.variables, outer);
    const run: Run = { engine, execution, scope, cancel, ...(mapItem === undefined ? {} : { mapItem }) };
    const branch = branches[index];
    try {
      return branch === undefined ? input : await runBlock(branch, input, run);
    } finally {
      scope.close();
    }
  });
  execution.record('ParallelStateSucceeded', state.name);
  return listOf(outputs, state.name);
}

/**
 * Runs so many pieces of work, a limited number at once, and gives their outputs in order.
 * The first failure stops the others; it is thrown once all have stopped.
 */
async function runAll(
  parent: CancelScope,
  count: number,
  limit: number,
  one: (index: number, cancel: CancelScope) => Promise<Payload>,
): Promise<Payload[]> {
  const group = new CancelScope(parent);
  const outputs: Payload[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count && failures.length === 0) {
      const index = next++;
      try {
        outputs[index] = await one(index, group);
      } catch (error) {
        failures.push(error);
        group.cancel();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, count) }, work));
  group.close();
  if (failures.length > 0) throw failures[0];
  return outputs;
}

function listOf(outputs: readonly Payload[], who: string): Payload {
  const text = `[${outputs.map((output) => output.text).join(',')}]`;
  assertPayloadFits(text, who);
  return new Payload(text);
}
