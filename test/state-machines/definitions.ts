import { readFileSync } from 'node:fs';
import jsonata from 'jsonata';
import { spliceUnit } from '#core/splice';

export interface AslState {
  readonly Type: string;
  readonly Resource?: string;
  readonly Next?: string;
  readonly Default?: string;
  readonly End?: boolean;
  readonly Choices?: readonly { readonly Condition: string; readonly Next: string }[];
  readonly Assign?: Readonly<Record<string, unknown>>;
  readonly Retry?: readonly Retrier[];
  readonly Catch?: readonly {
    readonly ErrorEquals: readonly string[];
    readonly Next: string;
    readonly Assign?: Readonly<Record<string, unknown>>;
  }[];
  readonly TimeoutSeconds?: number | string;
  readonly HeartbeatSeconds?: number | string;
  readonly Arguments?: Readonly<Record<string, unknown>>;
}

export interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds: number;
  readonly BackoffRate: number;
  readonly MaxAttempts: number;
  readonly MaxDelaySeconds?: number;
}

export interface AslMachine {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, AslState>>;
  readonly TimeoutSeconds?: number;
}

export const MACHINE_NAMES = ['sweep', 'unit', 'grade'] as const;

export function readDefinition(name: (typeof MACHINE_NAMES)[number]): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(`state-machines/${name}.asl.json`, 'utf8')) as Readonly<Record<string, unknown>>;
}

export function machine(name: (typeof MACHINE_NAMES)[number]): AslMachine {
  return JSON.parse(readFileSync(`state-machines/${name}.asl.json`, 'utf8')) as AslMachine;
}

/** The sweep machine as it is deployed. */
export function assembledSweep(): Readonly<Record<string, unknown>> {
  return spliceUnit(readDefinition('sweep'), readDefinition('unit'));
}

/** Every state that may follow. */
export function successors(state: AslState): readonly string[] {
  const followers = [
    state.Next,
    state.Default,
    ...(state.Choices ?? []).map((choice) => choice.Next),
    ...(state.Catch ?? []).map((each) => each.Next),
  ];
  return followers.flatMap((name) => name ?? []);
}

/** States that can be reached from `start` without passing through `avoided`. */
export function reachable({ States }: AslMachine, start: string, avoided: readonly string[] = []): ReadonlySet<string> {
  const seen = new Set<string>();
  const open = [start];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name) || avoided.includes(name)) continue;
    seen.add(name);
    const state = States[name];
    if (state !== undefined) open.push(...successors(state));
  }
  return seen;
}

/** Total of the waits between tries, with every try used and no jitter. */
export function totalBackoffSeconds({ IntervalSeconds, BackoffRate, MaxAttempts, MaxDelaySeconds }: Retrier): number {
  let total = 0;
  for (let tries = 0; tries < MaxAttempts; tries += 1) {
    total += Math.min(IntervalSeconds * BackoffRate ** tries, MaxDelaySeconds ?? Number.POSITIVE_INFINITY);
  }
  return total;
}

type Flags = Readonly<Record<string, boolean>>;

/**
 * States that can be reached from `start` without passing through `avoided`, following the machine's yes-or-no variables:
 * a choice that depends on them goes only where it can go; one that depends on data goes everywhere.
 */
export async function reachableWithFlags(
  { States }: AslMachine,
  start: { readonly state: string; readonly flags: Flags },
  avoided: readonly string[],
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  const open = [start];
  for (let here = open.pop(); here !== undefined; here = open.pop()) {
    const key = `${here.state} ${JSON.stringify(here.flags)}`;
    const state = States[here.state];
    if (seen.has(key) || avoided.includes(here.state) || state === undefined) continue;
    seen.add(key);
    for (const each of state.Catch ?? []) open.push({ state: each.Next, flags: assigned(here.flags, each.Assign) });
    const flags = assigned(here.flags, state.Assign);
    for (const next of await nextStates(state, flags)) open.push({ state: next, flags });
  }
  return new Set([...seen].map((key) => key.slice(0, key.indexOf(' '))));
}

function assigned(flags: Flags, assign: Readonly<Record<string, unknown>> = {}): Flags {
  const yesOrNo = Object.entries(assign).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean');
  return { ...flags, ...Object.fromEntries(yesOrNo) };
}

async function nextStates(state: AslState, flags: Flags): Promise<readonly string[]> {
  if (state.Choices === undefined) return successors({ ...state, Catch: [] });
  const possible: string[] = [];
  for (const { Condition, Next } of state.Choices) {
    const expression = Condition.slice(2, -2);
    const isKnown = !/\$unit\b|\$states\b/u.test(expression);
    const holds: unknown = isKnown ? await jsonata(expression).evaluate(undefined, flags) : undefined;
    if (holds === true) return [...possible, Next];
    if (!isKnown) possible.push(Next);
  }
  return state.Default === undefined ? possible : [...possible, state.Default];
}
