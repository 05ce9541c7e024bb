import type { Assignments, State, StatesBlock } from './definition.ts';
import { MAX_NAME_LENGTH } from './limits.ts';
import type { DefinitionReader } from './reader.ts';

const VARIABLE_NAME = /^\p{ID_Start}\p{ID_Continue}*$/u;

/** Checks the names of variables, and that no inner scope assigns one that an outer scope assigns. */
export function checkVariables(reader: DefinitionReader, block: StatesBlock): void {
  checkScope(reader, block, new Set());
}

function checkScope(reader: DefinitionReader, block: StatesBlock, outer: ReadonlySet<string>): void {
  const own = new Set<string>();
  for (const state of block.states.values()) {
    for (const name of assignedNames(state)) {
      checkName(reader, state.name, name);
      if (outer.has(name)) {
        reader.problem(
          `state '${state.name}'`,
          `it assigns '${name}', which a state outside its Map or Parallel assigns too`,
        );
      }
      own.add(name);
    }
  }
  const visible = new Set([...outer, ...own]);
  for (const state of block.states.values()) {
    for (const inner of innerBlocks(state)) {
      const isDistributed = state.type === 'Map' && state.isDistributed;
      if (isDistributed) checkIsolation(reader, inner, visible);
      checkScope(reader, inner, visible);
    }
  }
}

/** Children of a distributed map are executions of their own and see no variable from outside. */
function checkIsolation(reader: DefinitionReader, block: StatesBlock, outside: ReadonlySet<string>): void {
  for (const state of block.states.values()) {
    for (const name of reader.references.get(state.name) ?? []) {
      if (outside.has(name)) {
        reader.problem(
          `state '${state.name}'`,
          `it reads '$${name}', which is assigned outside its distributed map; pass it with ItemSelector`,
        );
      }
    }
    for (const inner of innerBlocks(state)) checkIsolation(reader, inner, outside);
  }
}

function checkName(reader: DefinitionReader, state: string, name: string): void {
  if (name === 'states' || name.length > MAX_NAME_LENGTH || !VARIABLE_NAME.test(name)) {
    reader.problem(
      `state '${state}'`,
      `'${name}' is no variable name: a letter, then letters, digits or underscores, ${MAX_NAME_LENGTH} at most, and not 'states'`,
    );
  }
}

function assignedNames(state: State): readonly string[] {
  const lists: (Assignments | undefined)[] = [];
  if ('assign' in state) lists.push(state.assign);
  if ('catchers' in state) lists.push(...state.catchers.map(({ assign }) => assign));
  if (state.type === 'Choice') lists.push(...state.choices.map(({ assign }) => assign));
  return lists.flatMap((list) => (list ?? []).map(([name]) => name));
}

function innerBlocks(state: State): readonly StatesBlock[] {
  if (state.type === 'Map') return [state.processor];
  return state.type === 'Parallel' ? state.branches : [];
}
