/**
 * Reads the shapes that the SDK's clients carry, in the form their packages write them: a number for a simple type, a function
 * for a later one, `[shape, traits]` for a member and tuples of five and more for named shapes.
 */
export type Shape =
  | { readonly kind: 'string' | 'number' | 'boolean' | 'time' | 'blob' }
  | { readonly kind: 'list'; readonly member: Member }
  | { readonly kind: 'structure'; readonly members: ReadonlyMap<string, Member> };

export interface Member {
  /** Read only when asked for: shapes contain each other. */
  readonly shape: () => Shape;
  readonly xmlName: string | undefined;
  readonly queryName: string | undefined;
  readonly isFlat: boolean;
}

export interface OperationShape {
  readonly name: string;
  readonly input: Shape;
  readonly output: Shape;
}

const LIST = 1;
const STRUCTURES = [3, -3, 4];
const OPERATION = 9;
const LIST_OF = 64;
const NAMED = 5;
/** How the SDK writes an input or output without members. */
const NOTHING = 'unit';

/** @throws TypeError for what is not an operation of an SDK client. */
export function readOperation(schema: unknown): OperationShape {
  const [kind, , name, , input, output] = asTuple(schema);
  if (kind !== OPERATION || typeof name !== 'string') throw new TypeError(`not an operation: ${String(name)}`);
  return { name, input: readShape(input), output: readShape(output) };
}

function readShape(schema: unknown): Shape {
  const found = resolve(schema);
  if (typeof found === 'number') return ofNumber(found);
  if (found === NOTHING) return { kind: 'structure', members: new Map() };
  const [kind, , name, , first, second] = asTuple(found);
  if (kind === 0) return readShape(first);
  if (kind === LIST) return { kind: 'list', member: readMember(first) };
  if (typeof kind === 'number' && STRUCTURES.includes(kind)) {
    const shapes = asTuple(second);
    const names = asTuple(first).map(String);
    return { kind: 'structure', members: new Map(names.map((one, index) => [one, readMember(shapes[index])])) };
  }
  throw new TypeError(`the SDK's shape ${String(name)} of kind ${String(kind)} is not one that is read here`);
}

function ofNumber(number: number): Shape {
  if (number >= LIST_OF) return { kind: 'list', member: readMember(number - LIST_OF) };
  if (number === 1 || number === 17 || number === 19) return { kind: 'number' };
  if (number === 2) return { kind: 'boolean' };
  if (number >= 4 && number <= 7) return { kind: 'time' };
  return { kind: number === 21 ? 'blob' : 'string' };
}

function readMember(member: unknown): Member {
  const parts: readonly unknown[] = Array.isArray(member) ? member : [member];
  const [shape, traits] = parts.length < NAMED ? parts : [member];
  const named =
    typeof traits === 'object' && traits !== null ? new Map(Object.entries(traits)) : new Map<string, unknown>();
  const text = (name: string): string | undefined => {
    const value: unknown = named.get(name);
    return typeof value === 'string' ? value : undefined;
  };
  return {
    shape: () => readShape(shape),
    xmlName: text('xmlName'),
    queryName: text('ec2QueryName'),
    isFlat: named.has('xmlFlattened'),
  };
}

function resolve(schema: unknown): unknown {
  let found = schema;
  while (typeof found === 'function') found = (found as () => unknown)();
  if (Array.isArray(found) && found.length < NAMED) return resolve(found[0]);
  return found;
}

function asTuple(value: unknown): readonly unknown[] {
  const found = typeof value === 'function' ? (value as () => unknown)() : value;
  if (!Array.isArray(found)) throw new TypeError(`the SDK's shape is ${typeof found}, where a tuple is needed`);
  return found;
}
