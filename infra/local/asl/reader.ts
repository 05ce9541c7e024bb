import { RESERVED_ERROR_NAMES, ServiceError } from './errors.ts';
import type { Expression } from './expression.ts';
import { refusalOf } from './fields.ts';
import { compileTemplate, type Template } from './template.ts';

/** A JSON object of a definition, not yet checked. */
export type RawObject = Readonly<Record<string, unknown>>;

/** Which members of `$states` a field may read besides `input` and `context`. */
export type Reads = 'entry' | 'result' | 'error';

/** Reads one definition, gathering everything wrong with it, each with the place where it is. */
export class DefinitionReader {
  readonly problems: string[] = [];
  /** Variables that the expressions of each state read. */
  readonly references = new Map<string, Set<string>>();
  #state = '';

  /** Loads one state; what its expressions read is booked on it. */
  inState<T>(name: string, load: () => T): T {
    const outer = this.#state;
    this.#state = name;
    const loaded = load();
    this.#state = outer;
    return loaded;
  }

  problem(place: string, text: string): void {
    this.problems.push(`${place}: ${text}`);
  }

  object(value: unknown, place: string, what: string): RawObject {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RawObject;
    this.problem(place, `${what} must be an object, not ${shown(value)}`);
    return {};
  }

  list(value: unknown, place: string, what: string): readonly unknown[] {
    if (Array.isArray(value)) return value as readonly unknown[];
    this.problem(place, `${what} must be a list, not ${shown(value)}`);
    return [];
  }

  /** Refuses every field that is not allowed, by name. */
  onlyFields(raw: RawObject, allowed: readonly string[], place: string): void {
    for (const field of Object.keys(raw)) if (!allowed.includes(field)) this.problem(place, refusalOf(field));
  }

  /** A required non-empty string. */
  text(raw: RawObject, field: string, place: string): string {
    const value = raw[field];
    if (typeof value === 'string' && value !== '') return value;
    this.problem(place, `'${field}' must be a non-empty string, not ${shown(value)}`);
    return '';
  }

  /** An optional number within bounds, written as a literal. */
  number(raw: RawObject, field: string, place: string, bounds: NumberBounds): number | undefined {
    const value = raw[field];
    if (value === undefined) return undefined;
    const { min, max, isInteger = true } = bounds;
    if (typeof value === 'number' && value >= min && value <= max && (!isInteger || Number.isInteger(value))) {
      return value;
    }
    const kind = isInteger ? 'an integer' : 'a number';
    this.problem(place, `'${field}' must be ${kind} from ${min} to ${max}, not ${shown(value)}`);
    return undefined;
  }

  oneOf<T extends string>(raw: RawObject, field: string, place: string, allowed: readonly T[]): T | undefined {
    const value = raw[field];
    const found = allowed.find((candidate) => candidate === value);
    if (value !== undefined && found === undefined) {
      this.problem(place, `'${field}' must be one of ${allowed.join(', ')}, not ${shown(value)}`);
    }
    return found;
  }

  /** An optional field that may hold expressions. */
  template(raw: RawObject, field: string, { place, location, reads = 'entry' }: TemplatePlace): Template | undefined {
    const value = raw[field];
    if (value === undefined) return undefined;
    try {
      return compileTemplate(value, location ?? field, (expression, at) => this.#check(expression, place, at, reads));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.problem(place, `'${location ?? field}': ${error.message}`);
      return undefined;
    }
  }

  /** A field that is a number, or an expression for one. */
  numberTemplate(raw: RawObject, field: string, at: TemplatePlace, bounds: NumberBounds): Template | undefined {
    const value = raw[field];
    if (typeof value === 'string') {
      const template = this.template(raw, field, at);
      if (template?.kind !== 'constant') return template;
    }
    const literal = this.number(raw, field, at.place, bounds);
    return literal === undefined ? undefined : { kind: 'constant', value: literal };
  }

  errorNames(raw: RawObject, place: string, isLast: boolean): readonly string[] {
    const names = this.list(raw['ErrorEquals'], place, "'ErrorEquals'").filter((name) => typeof name === 'string');
    if (names.length === 0) this.problem(place, "'ErrorEquals' must name at least one error");
    if (names.includes('States.ALL') && (names.length > 1 || !isLast)) {
      this.problem(place, "'States.ALL' must stand alone, and in the last entry");
    }
    for (const name of names) {
      if (name.startsWith('States.') && !RESERVED_ERROR_NAMES.has(name)) {
        this.problem(place, `'${name}' is no error of the service; names that begin with 'States.' are its own`);
      }
    }
    return names;
  }

  #check({ analysis }: Expression, place: string, location: string, reads: Reads): void {
    const references = this.references.get(this.#state) ?? new Set();
    for (const name of analysis.variables) if (!analysis.bound.has(name)) references.add(name);
    this.references.set(this.#state, references);
    for (const text of analysis.problems) this.problem(place, `'${location}': ${text}`);
    if (analysis.statesFields.has('result') && reads !== 'result') {
      this.problem(place, `'${location}': $states.result exists only in Output and Assign of Task, Map and Parallel`);
    }
    if (analysis.statesFields.has('errorOutput') && reads !== 'error') {
      this.problem(place, `'${location}': $states.errorOutput exists only in Output and Assign of a Catch`);
    }
  }
}

export interface NumberBounds {
  readonly min: number;
  readonly max: number;
  readonly isInteger?: boolean;
}

export interface TemplatePlace {
  readonly place: string;
  /** The field's path in its state; its name when left out. */
  readonly location?: string;
  readonly reads?: Reads;
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}
