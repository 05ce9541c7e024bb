import {
  closestName,
  type ConfigSource,
  displayPath,
  type LocatedProblem,
  problemAt,
  type ProblemText,
  type ValuePath,
  valueAt,
} from './located.ts';

interface IntegerRule {
  readonly minimum: number;
  readonly maximum?: number;
  /** Digits in quotes count as a number, as upstream's `int()` has it. */
  readonly digitsInText?: boolean;
  readonly fallback?: string;
}

/** Reads typed values out of one file and gathers everything wrong with it instead of stopping at the first. */
export class ConfigReader {
  readonly source: ConfigSource;
  readonly problems: LocatedProblem[] = [];
  readonly warnings: LocatedProblem[] = [];

  constructor(source: ConfigSource) {
    this.source = source;
  }

  get(path: ValuePath): unknown {
    return valueAt(this.source.value, path);
  }

  /** True when the key is written, whatever its value. */
  has(path: ValuePath): boolean {
    const parent = this.get(path.slice(0, -1));
    const key = path.at(-1);
    return typeof parent === 'object' && parent !== null && key !== undefined && Object.hasOwn(parent, key);
  }

  /** True when there is a value other than null. */
  isSet(path: ValuePath): boolean {
    return (this.get(path) ?? null) !== null;
  }

  fail(path: ValuePath, text: ProblemText, part: 'key' | 'value' = 'value'): void {
    this.problems.push(this.#problem(path, text, part));
  }

  warn(path: ValuePath, text: ProblemText, part: 'key' | 'value' = 'value'): void {
    this.warnings.push(this.#problem(path, text, part));
  }

  /** The mapping at `path`, or null after saying that it is none. An empty file counts as an empty mapping. */
  mapping(path: ValuePath, noun: string): Readonly<Record<string, unknown>> | null {
    const value = this.get(path);
    if (path.length === 0 && (value === null || value === undefined)) return {};
    if (isMapping(value)) return value;
    this.fail(path, {
      what: `${noun} is not a mapping`,
      allowed: 'a mapping of keys to values',
      action: `write ${noun} as "key: value" lines`,
    });
    return null;
  }

  /** Refuses keys that nothing reads, naming the likely meant one; `tolerated` ones pass without being recommended. */
  onlyKeys(path: ValuePath, allowed: readonly string[], noun: string, tolerated: readonly string[] = []): void {
    const value = this.get(path);
    if (!isMapping(value)) return;
    for (const key of Object.keys(value)) {
      if (allowed.includes(key) || tolerated.includes(key)) continue;
      const meant = closestName(key, allowed);
      this.fail(
        [...path, key],
        {
          what: `unknown key in ${noun}`,
          got: JSON.stringify(key),
          allowed: allowed.join(', '),
          action: meant === null ? 'remove it' : `remove it, or write "${meant}" if you meant that`,
        },
        'key',
      );
    }
  }

  /** A required key is not written, or has no value. */
  missing(path: ValuePath, allowed: string, action: string): void {
    const what = this.has(path)
      ? `required key "${displayPath(path)}" has no value`
      : `missing required key "${displayPath(path)}"`;
    this.fail(path, { what, allowed, action });
  }

  /** Text; whole numbers become text as upstream's `str()` does. Null when absent, null or wrong (then reported). */
  text(path: ValuePath, allowed: string): string | null {
    const value = this.get(path) ?? null;
    if (value === null || typeof value === 'string') return value;
    if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
    this.fail(path, {
      what: `"${displayPath(path)}" is not text`,
      allowed,
      action: 'write it as text; put quotes around words such as on, yes and 1.5, which YAML 1.1 does not read as text',
    });
    return null;
  }

  /** A whole number in range. Null when absent, null or wrong (then reported). */
  integer(path: ValuePath, rule: IntegerRule): number | null {
    const value = this.get(path) ?? null;
    if (value === null) return null;
    const number =
      rule.digitsInText === true && typeof value === 'string' && /^\s*[+-]?\d+\s*$/.test(value) ? Number(value) : value;
    const range = rule.maximum === undefined ? `${rule.minimum} or more` : `from ${rule.minimum} to ${rule.maximum}`;
    if (
      typeof number === 'number' &&
      Number.isSafeInteger(number) &&
      number >= rule.minimum &&
      number <= (rule.maximum ?? Number.MAX_SAFE_INTEGER)
    )
      return number;
    this.fail(path, {
      what: `"${displayPath(path)}" is not a whole number ${range}`,
      allowed: `a whole number ${range}`,
      action: `write plain digits${rule.fallback === undefined ? '' : `, or remove the key for ${rule.fallback}`}`,
    });
    return null;
  }

  /** A finite number above zero. Null when absent, null or wrong (then reported). */
  positiveNumber(path: ValuePath): number | null {
    const value = this.get(path) ?? null;
    if (value === null) return null;
    if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value;
    this.fail(path, {
      what: `"${displayPath(path)}" is not a number above 0`,
      allowed: 'a number above 0',
      action: 'write plain digits (YAML 1.1 reads 1e3 as text)',
    });
    return null;
  }

  boolean(path: ValuePath, fallback: boolean): boolean {
    const value = this.get(path);
    if (value === undefined) return fallback;
    if (typeof value === 'boolean') return value;
    this.fail(path, {
      what: `"${displayPath(path)}" is not true or false`,
      allowed: 'true, false',
      action: `write true or false, or remove the key for ${String(fallback)}`,
    });
    return fallback;
  }

  /** One of a few words; null when absent, null or wrong (then reported). */
  choice<Choice extends string>(path: ValuePath, choices: readonly Choice[]): Choice | null {
    const value = this.get(path) ?? null;
    if (value === null) return null;
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    this.fail(path, {
      what: `"${displayPath(path)}" is not one of the allowed values`,
      allowed: choices.join(', '),
      action: 'choose one of them, or remove the key',
    });
    return null;
  }

  /** A list of non-empty texts; null when absent, null or wrong (then reported). */
  textList(path: ValuePath): readonly string[] | null {
    const value = this.get(path) ?? null;
    if (value === null) return null;
    if (Array.isArray(value) && value.every((item): item is string => typeof item === 'string' && item !== ''))
      return value;
    this.fail(path, {
      what: `"${displayPath(path)}" is not a list of texts`,
      allowed: 'a list of non-empty texts',
      action: 'write it as [first, second]',
    });
    return null;
  }

  #problem(path: ValuePath, text: ProblemText, part: 'key' | 'value'): LocatedProblem {
    return problemAt(this.source.locate(path, part), { ...text, got: text.got ?? this.source.show(path) }, path);
  }
}

/** A plain object: not a list, date, set or other class. */
export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
