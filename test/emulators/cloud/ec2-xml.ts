import type { OperationShape, Shape } from './sdk-shapes.ts';

const NAMESPACE = 'http://ec2.amazonaws.com/doc/2016-11-15/';

/** An answer of EC2's query protocol. @throws TypeError for a field that the operation's answer does not have. */
export function writeAnswer(operation: OperationShape, answer: unknown, requestId: string): string {
  const body = write(answer, operation.output, operation.name);
  const root = `${operation.name}Response`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${root} xmlns="${NAMESPACE}"><requestId>${requestId}</requestId>${body}</${root}>`;
}

export function writeError(code: string, message: string, requestId: string): string {
  const error = `<Error><Code>${escape(code)}</Code><Message>${escape(message)}</Message></Error>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Response><Errors>${error}</Errors><RequestID>${requestId}</RequestID></Response>`;
}

function write(value: unknown, shape: Shape, at: string): string {
  if (shape.kind === 'structure') return writeStructure(value, shape, at);
  if (shape.kind === 'list') {
    if (!Array.isArray(value)) throw new TypeError(`${at} is not a list`);
    const name = shape.member.xmlName ?? 'member';
    return value.map((item) => `<${name}>${write(item, shape.member.shape(), at)}</${name}>`).join('');
  }
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  return escape(String(value));
}

function writeStructure(value: unknown, shape: Extract<Shape, { kind: 'structure' }>, at: string): string {
  if (typeof value !== 'object' || value === null) throw new TypeError(`${at} is not a structure`);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined && field !== null);
  return fields
    .map(([name, field]: [string, unknown]) => {
      const member = shape.members.get(name);
      if (member === undefined) throw new TypeError(`${at} has no ${name}`);
      const tag = member.xmlName ?? name;
      return `<${tag}>${write(field, member.shape(), `${at}.${name}`)}</${tag}>`;
    })
    .join('');
}

function escape(text: string): string {
  return text.replace(/[&<>"]/gu, (character) => `&#${String(character.codePointAt(0))};`).replace(/\r/gu, '&#13;');
}
