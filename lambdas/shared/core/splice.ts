type JsonObject = Readonly<Record<string, unknown>>;

/** Name of the state in the sweep machine that stands where the unit's machine goes. */
export const SPLICE_STATE = 'SpliceUnit';

/** Placeholder for the bucket that the map reads its plan from; every other one is a state's function. */
export const BUCKET_PLACEHOLDER = 'ArtifactsBucket';

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function child(parent: JsonObject, name: string): JsonObject {
  const value = parent[name];
  if (!isObject(value)) throw new TypeError(`the sweep machine has no object ${name} where the unit is spliced in`);
  return value;
}

/**
 * The sweep machine with the unit's states inside its distributed map. Both are parsed ASL; neither is changed.
 * @throws TypeError when the map does not hold the placeholder state.
 */
export function spliceUnit(sweep: JsonObject, unit: JsonObject): JsonObject {
  const states = child(sweep, 'States');
  const map = child(states, 'RunUnits');
  const processor = child(map, 'ItemProcessor');
  if (child(processor, 'States')[SPLICE_STATE] === undefined) {
    throw new TypeError(`RunUnits does not hold ${SPLICE_STATE}; the unit machine has no place to go`);
  }
  const spliced = { ...processor, StartAt: unit['StartAt'], States: child(unit, 'States') };
  return { ...sweep, States: { ...states, RunUnits: { ...map, ItemProcessor: spliced } } };
}

/** Replaces every string that is exactly `${Name}`. @throws TypeError for a placeholder without a value. */
export function substitute(definition: unknown, values: Readonly<Record<string, string>>): unknown {
  if (typeof definition === 'string') {
    const name = /^\$\{(\w+)\}$/u.exec(definition)?.[1];
    if (name === undefined) return definition;
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined)
      throw new TypeError(`nothing to put for \${${name}}; known: ${Object.keys(values).join(', ')}`);
    return value;
  }
  if (Array.isArray(definition)) return definition.map((item: unknown) => substitute(item, values));
  if (!isObject(definition)) return definition;
  return Object.fromEntries(Object.entries(definition).map(([key, value]) => [key, substitute(value, values)]));
}

/** Names of all `${Name}` placeholders in a definition, sorted. */
export function placeholders(definition: unknown): readonly string[] {
  const found = [...JSON.stringify(definition).matchAll(/"\$\{(\w+)\}"/gu)].flatMap((match) => match[1] ?? []);
  return [...new Set(found)].sort();
}
