import type { State, StatesBlock } from './definition.ts';
import type { DefinitionReader } from './reader.ts';

/** Checks that transitions lead to states, that every state can be reached, and that the block can end. */
export function checkGraph(reader: DefinitionReader, block: StatesBlock, place: string): void {
  const { startAt, states } = block;
  if (startAt !== '' && !states.has(startAt)) reader.problem(place, `'StartAt' names no state of it: '${startAt}'`);
  for (const state of states.values()) {
    for (const next of nextNames(state)) {
      if (!states.has(next))
        reader.problem(`state '${state.name}'`, `it leads to '${next}', which is no state beside it`);
    }
  }
  const reached = reachable(block);
  for (const name of states.keys()) {
    if (!reached.has(name)) reader.problem(`state '${name}'`, 'no state leads to it');
  }
  if (states.size > 0 && ![...states.values()].some(isEnd)) {
    reader.problem(place, 'no state ends it: add End, Succeed or Fail');
  }
}

/** Names a state may lead to, its catchers' included. */
export function nextNames(state: State): readonly string[] {
  switch (state.type) {
    case 'Choice':
      return [
        ...state.choices.map(({ next }) => next),
        ...(state.defaultNext === undefined ? [] : [state.defaultNext]),
      ];
    case 'Succeed':
    case 'Fail':
      return [];
    case 'Pass':
    case 'Wait':
      return state.next === undefined ? [] : [state.next];
    case 'Task':
    case 'Map':
    case 'Parallel':
      return [...(state.next === undefined ? [] : [state.next]), ...state.catchers.map(({ next }) => next)];
  }
}

function reachable({ startAt, states }: StatesBlock): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [startAt];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const state = states.get(name);
    if (state === undefined || reached.has(name)) continue;
    reached.add(name);
    open.push(...nextNames(state));
  }
  return reached;
}

function isEnd(state: State): boolean {
  if (state.type === 'Succeed' || state.type === 'Fail') return true;
  return state.type !== 'Choice' && state.next === undefined;
}
