import jsonata from 'jsonata';

import { AslError, QUERY_EVALUATION_ERROR, ServiceError } from './errors.ts';
import { type Analysis, analyzeExpression, isNode, plainPath, STATES_FIELDS } from './expression-rules.ts';
import { DIALECT_FUNCTIONS } from './functions.ts';
import { type Json } from './payload.ts';

/** One compiled JSONata expression. */
export interface Expression {
  readonly source: string;
  readonly analysis: Analysis;
  /** Set when the expression only follows names from a variable, which needs no evaluator. */
  readonly path: readonly string[] | undefined;
  readonly evaluate: (bindings: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

/** Where an expression finds its variables. */
export interface Frame {
  /** A variable other than `$states`. */
  lookup(name: string): unknown;
  /** One field of `$states`; undefined where it does not exist. */
  lookupStates(field: string): unknown;
  /** Time of the evaluation, for `$now()` and `$millis()`. */
  nowMilliseconds(): number;
}

export interface EvaluationBounds {
  readonly maxMilliseconds: number;
  readonly maxDepth: number;
}

/** The service nests an expression at most 100 levels; the time is the evaluator's customary bound. */
export const DEFAULT_BOUNDS: EvaluationBounds = { maxMilliseconds: 5_000, maxDepth: 100 };

/** Says that a plain path met something (an array, an inherited name) that only JSONata can tell the meaning of. */
export const NEEDS_EVALUATOR = Symbol('needs the evaluator');

/** A name no expression can spell. */
const GUARD = ' guard';

const compiled = new Map<string, Expression>();

/**
 * Compiles an expression once per text.
 * @throws ServiceError InvalidDefinition when it is not JSONata.
 */
export function compileExpression(source: string): Expression {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const raw = parse(source);
  const ast: unknown = raw.ast();
  if (!isNode(ast)) throw new ServiceError('InvalidDefinition', `the expression '${source}' has no syntax tree`);
  raw.assign('eval', undefined);
  for (const [name, implementation] of Object.entries(DIALECT_FUNCTIONS)) {
    raw.registerFunction(name, (...args: unknown[]) => implementation(...args));
  }
  guardEvaluation(raw);
  const expression: Expression = {
    source,
    analysis: analyzeExpression(ast),
    path: plainPath(ast),
    evaluate: (bindings) => raw.evaluate(undefined, bindings) as Promise<unknown>,
  };
  compiled.set(source, expression);
  return expression;
}

/** Reads a plain path; undefined when it leads nowhere. */
export function followPath(path: readonly string[], frame: Frame): unknown {
  const isStates = path[0] === 'states';
  if (isStates && path.length === 1) return NEEDS_EVALUATOR;
  let value = isStates ? frame.lookupStates(path[1] ?? '') : frame.lookup(path[0] ?? '');
  for (let index = isStates ? 2 : 1; index < path.length; index += 1) {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'object') return undefined;
    if (Array.isArray(value)) return NEEDS_EVALUATOR;
    const name = path[index] ?? '';
    if (Object.hasOwn(value, name)) value = (value as Readonly<Record<string, unknown>>)[name];
    else return name in value ? NEEDS_EVALUATOR : undefined;
  }
  return value;
}

/**
 * Evaluates with JSONata, within bounds. Undefined when the expression yields nothing.
 * @throws AslError States.QueryEvaluationError, its cause without the place it happened in.
 */
export async function evaluateExpression(
  expression: Expression,
  frame: Frame,
  bounds: EvaluationBounds,
): Promise<Json | undefined> {
  const bindings: Record<string, unknown> = { [GUARD]: new Guard(bounds) };
  for (const name of expression.analysis.variables) {
    const value = name === 'states' ? statesOf(expression.analysis, frame) : frame.lookup(name);
    if (value !== undefined) bindings[name] = value;
    else if (name === 'now') bindings['now'] = nowFunction(frame.nowMilliseconds());
    else if (name === 'millis') bindings['millis'] = () => frame.nowMilliseconds();
  }
  let result: unknown;
  try {
    result = await expression.evaluate(bindings);
  } catch (error) {
    throw new AslError(QUERY_EVALUATION_ERROR, `threw an error during evaluation. ${describe(error)}`);
  }
  if (!isJson(result)) throw new AslError(QUERY_EVALUATION_ERROR, 'returned an unsupported result type.');
  return result;
}

/** `$states` with the fields the expression names, or all of them when it uses the object itself. */
function statesOf({ statesFields, usesWholeStates }: Analysis, frame: Frame): object {
  const states: Record<string, unknown> = {};
  for (const field of usesWholeStates ? STATES_FIELDS : statesFields) {
    const value = frame.lookupStates(field);
    if (value !== undefined) states[field] = value;
  }
  return states;
}

function parse(source: string): jsonata.Expression {
  try {
    return jsonata(source);
  } catch (error) {
    throw new ServiceError('InvalidDefinition', `the expression '${source}' is not JSONata: ${describe(error)}`);
  }
}

/** Counts nesting and time through the evaluator's own hooks; items of one array or object are not nested in each other. */
function guardEvaluation(raw: jsonata.Expression): void {
  const hooks: HookTarget = raw;
  hooks.assign(Symbol.for('jsonata.__evaluate_entry'), (_node: unknown, _input: unknown, environment: Environment) => {
    guardOf(environment)?.enter(environment.isParallelCall === true);
  });
  hooks.assign(Symbol.for('jsonata.__evaluate_exit'), (_node: unknown, _input: unknown, environment: Environment) => {
    guardOf(environment)?.exit(environment.isParallelCall === true);
  });
}

/** The library takes symbols as names for its hooks, which its own types do not say. */
interface HookTarget {
  assign(name: string | symbol, value: unknown): void;
}

interface Environment {
  lookup(name: string): unknown;
  readonly isParallelCall?: boolean;
}

function guardOf(environment: Environment): Guard | undefined {
  const guard = environment.lookup(GUARD);
  return guard instanceof Guard ? guard : undefined;
}

class Guard {
  readonly #bounds: EvaluationBounds;
  readonly #deadline: number;
  #depth = 0;
  #steps = 0;

  constructor(bounds: EvaluationBounds) {
    this.#bounds = bounds;
    this.#deadline = performance.now() + bounds.maxMilliseconds;
  }

  enter(isParallel: boolean): void {
    if (!isParallel) this.#depth += 1;
    const { maxDepth, maxMilliseconds } = this.#bounds;
    if (this.#depth > maxDepth) {
      throw new Error(
        `Stack overflow error: Check for non-terminating recursive function. Depth=${this.#depth} max=${maxDepth}`,
      );
    }
    this.#steps += 1;
    if (this.#steps % 256 === 0 && performance.now() > this.#deadline) {
      throw new Error(`Expression evaluation timeout: ${maxMilliseconds} ms. Check for infinite loop`);
    }
  }

  exit(isParallel: boolean): void {
    if (!isParallel) this.#depth -= 1;
  }
}

const formatMillis = jsonata('$fromMillis($millis, $picture, $timezone)');

/** `$now()` on the frame's clock rather than the machine's. */
function nowFunction(millis: number): (picture?: string, timezone?: string) => Promise<unknown> {
  return (picture, timezone) => formatMillis.evaluate(undefined, { millis, picture, timezone }) as Promise<unknown>;
}

function describe(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const text = typeof message === 'string' ? message : JSON.stringify(error);
  return typeof code === 'string' ? `${code}: ${text}` : text;
}

/** Whether a result is plain JSON: no function and no number JSON lacks. Undefined members are left out by JSON itself. */
function isJson(value: unknown): value is Json | undefined {
  if (typeof value === 'function') return false;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isJson);
  if ('_jsonata_lambda' in value || '_jsonata_function' in value) return false;
  return Object.values(value).every(isJson);
}
