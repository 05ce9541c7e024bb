import type { Member, Shape } from './sdk-shapes.ts';
import { ServiceError } from './service-error.ts';

type Branch = Map<string, Tree>;
type Tree = string | Branch;

/**
 * The input of an operation from the form that EC2's query protocol sends.
 * @throws ServiceError UnknownParameter for a field the operation does not have.
 */
export function readQuery(form: URLSearchParams, shape: Shape): unknown {
  const root: Branch = new Map();
  for (const [key, value] of form) {
    if (key !== 'Action' && key !== 'Version') put(root, key.split('.'), value);
  }
  return readTree(root, shape, '');
}

function put(root: Branch, [head = '', ...rest]: readonly string[], value: string): void {
  if (rest.length === 0) {
    root.set(head, value);
    return;
  }
  const known = root.get(head);
  const below = known === undefined || typeof known === 'string' ? new Map<string, Tree>() : known;
  root.set(head, below);
  put(below, rest, value);
}

function readTree(tree: Tree, shape: Shape, at: string): unknown {
  if (shape.kind === 'list') {
    const items = [...asMap(tree, at)].sort(([a], [b]) => Number(a) - Number(b));
    return items.map(([index, item]) => readTree(item, shape.member.shape(), `${at}.${index}`));
  }
  if (shape.kind === 'structure') return readStructure(asMap(tree, at), shape.members, at);
  if (typeof tree !== 'string') throw new ServiceError('MalformedQueryString', `${at} holds a structure`);
  if (shape.kind === 'number') return Number(tree);
  if (shape.kind === 'boolean') return tree === 'true';
  if (shape.kind === 'time') return new Date(tree);
  return shape.kind === 'blob' ? Buffer.from(tree, 'base64') : tree;
}

function readStructure(tree: Branch, members: ReadonlyMap<string, Member>, at: string): unknown {
  const byKey = new Map([...members].map(([name, member]) => [queryName(name, member), { name, member }]));
  const read: Record<string, unknown> = {};
  for (const [key, value] of tree) {
    const found = byKey.get(key);
    const where = at === '' ? key : `${at}.${key}`;
    if (found === undefined) throw new ServiceError('UnknownParameter', `The parameter ${where} is not recognized`);
    read[found.name] = readTree(value, found.member.shape(), where);
  }
  return read;
}

function queryName(name: string, member: Member): string {
  if (member.queryName !== undefined) return member.queryName;
  const key = member.xmlName ?? name;
  return key.charAt(0).toUpperCase() + key.slice(1);
}

function asMap(tree: Tree, at: string): Branch {
  if (typeof tree === 'string') throw new ServiceError('MalformedQueryString', `${at} holds a text`);
  return tree;
}
