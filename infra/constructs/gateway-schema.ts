import * as z from 'zod';

/**
 * What API Gateway understands of JSON Schema draft 4 and checks as we mean it. Patterns and formats stay with the
 * function: the gateway reads them in another dialect. `exclusiveMinimum` is not supported there.
 */
const KEPT = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'enum',
  'anyOf',
  'allOf',
]);
/** Keywords whose values are maps from names to schemas. */
const MAPS = new Set(['properties']);

type Json = Readonly<Record<string, unknown>>;

/** The model of a body: everything the function takes passes it. @throws Error for a schema that refers to itself. */
export function gatewaySchema(schema: z.ZodType): Json {
  const full = z.toJSONSchema(schema, { target: 'draft-4', io: 'input', unrepresentable: 'any', reused: 'inline' });
  if ('definitions' in full) throw new Error('the schema refers to itself, which a model of API Gateway cannot');
  return reduced(full) as Json;
}

/** Names of the parameters that a query may have. */
export function queryNames(schema: z.ZodType): readonly string[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return Object.keys(properties).sort();
}

function reduced(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reduced);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]: [string, unknown]) => {
      if (!KEPT.has(key)) return [];
      if (MAPS.has(key)) return [[key, mapped(item as Json)]];
      return [[key, key === 'enum' || key === 'required' ? item : reduced(item)]];
    }),
  );
}

function mapped(schemas: Json): Json {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, reduced(schema)]));
}
