import { AslError, QUERY_EVALUATION_ERROR } from './errors.ts';
import {
  compileExpression,
  DEFAULT_BOUNDS,
  evaluateExpression,
  type EvaluationBounds,
  type Expression,
  followPath,
  type Frame,
  NEEDS_EVALUATOR,
} from './expression.ts';
import { type Json } from './payload.ts';

/** A field of a definition: JSON in which strings of the form `{% ... %}` are expressions. */
export type Template =
  | { readonly kind: 'constant'; readonly value: Json }
  | { readonly kind: 'expression'; readonly expression: Expression; readonly location: string }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Template])[] }
  | { readonly kind: 'array'; readonly items: readonly Template[] };

/**
 * Compiles a field. `report` is told of every expression, so that the loader can check what it refers to.
 * @param location the field's path within its state, as the service words it: `Output/unit/ids[0]`.
 * @throws ServiceError InvalidDefinition when a string starts like an expression but is none.
 */
export function compileTemplate(
  value: unknown,
  location: string,
  report: (expression: Expression, location: string) => void,
): Template {
  if (typeof value === 'string' && value.startsWith('{%') && value.endsWith('%}')) {
    const expression = compileExpression(value.slice(2, -2).trim());
    report(expression, location);
    return { kind: 'expression', expression, location };
  }
  if (Array.isArray(value)) {
    const items = value.map((item, index) => compileTemplate(item, `${location}[${index}]`, report));
    return items.every(isConstant) ? { kind: 'constant', value: items.map(constantValue) } : { kind: 'array', items };
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(
      ([key, item]) => [key, compileTemplate(item, `${location}/${key}`, report)] as const,
    );
    return entries.every(([, item]) => isConstant(item))
      ? { kind: 'constant', value: Object.fromEntries(entries.map(([key, item]) => [key, constantValue(item)])) }
      : { kind: 'object', entries };
  }
  return { kind: 'constant', value: value as Json };
}

/**
 * Fills in a field; at once when no expression in it needs the evaluator.
 * @throws AslError States.QueryEvaluationError naming the expression and the field.
 */
export function fillTemplate(
  template: Template,
  frame: Frame,
  bounds: EvaluationBounds = DEFAULT_BOUNDS,
): Json | Promise<Json> {
  const quick = fillWithoutEvaluator(template, frame);
  return quick === NEEDS_EVALUATOR ? fillWithEvaluator(template, frame, bounds) : quick;
}

function fillWithoutEvaluator(template: Template, frame: Frame): Json | typeof NEEDS_EVALUATOR {
  switch (template.kind) {
    case 'constant':
      return template.value;
    case 'expression':
      return followTemplate(template, frame);
    case 'array': {
      const values: Json[] = [];
      for (const item of template.items) {
        const value = fillWithoutEvaluator(item, frame);
        if (value === NEEDS_EVALUATOR) return NEEDS_EVALUATOR;
        values.push(value);
      }
      return values;
    }
    case 'object': {
      const filled: Record<string, Json> = {};
      for (const [key, item] of template.entries) {
        const value = fillWithoutEvaluator(item, frame);
        if (value === NEEDS_EVALUATOR) return NEEDS_EVALUATOR;
        setOwn(filled, key, value);
      }
      return filled;
    }
  }
}

function followTemplate(
  template: Extract<Template, { kind: 'expression' }>,
  frame: Frame,
): Json | typeof NEEDS_EVALUATOR {
  if (template.expression.path === undefined) return NEEDS_EVALUATOR;
  const value = followPath(template.expression.path, frame);
  if (value === NEEDS_EVALUATOR) return NEEDS_EVALUATOR;
  if (value === undefined) throw nothing(template.expression, template.location);
  return value as Json;
}

async function fillWithEvaluator(template: Template, frame: Frame, bounds: EvaluationBounds): Promise<Json> {
  switch (template.kind) {
    case 'constant':
      return template.value;
    case 'expression':
      return evaluateAt(template, frame, bounds);
    case 'array': {
      const values: Json[] = [];
      for (const item of template.items) values.push(await fillTemplate(item, frame, bounds));
      return values;
    }
    case 'object': {
      const filled: Record<string, Json> = {};
      for (const [key, item] of template.entries) setOwn(filled, key, await fillTemplate(item, frame, bounds));
      return filled;
    }
  }
}

async function evaluateAt(
  { expression, location }: Extract<Template, { kind: 'expression' }>,
  frame: Frame,
  bounds: EvaluationBounds,
): Promise<Json> {
  let value: Json | undefined;
  try {
    value = await evaluateExpression(expression, frame, bounds);
  } catch (error) {
    throw error instanceof AslError ? queryError(expression, location, error.causeText ?? '') : error;
  }
  if (value === undefined) throw nothing(expression, location);
  return value;
}

/** An error about what an expression gave, worded as the service words it. */
export function queryError(expression: Expression, location: string, problem: string): AslError {
  return new AslError(
    QUERY_EVALUATION_ERROR,
    `The JSONata expression '${expression.source}' specified for the field '${location}' ${problem}`,
  );
}

/** An error for a field that has the wrong type or value once filled in. */
export function wrongValueError(template: Template, location: string, expected: string, value: Json): AslError {
  const problem = `returned an unexpected result type. Expected '${expected}', but was '${typeName(value)}' for value: ${JSON.stringify(value).slice(0, 1000)}`;
  return template.kind === 'expression'
    ? queryError(template.expression, location, problem)
    : new AslError(QUERY_EVALUATION_ERROR, `The field '${location}' ${problem}`);
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function nothing(expression: Expression, location: string): AslError {
  return queryError(expression, location, 'returned nothing (undefined).');
}

function isConstant(template: Template): boolean {
  return template.kind === 'constant';
}

function constantValue(template: Template): Json {
  return template.kind === 'constant' ? template.value : null;
}

/** Sets a member even when it is called `__proto__`. */
function setOwn(target: Record<string, Json>, key: string, value: Json): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true });
  else target[key] = value;
}
