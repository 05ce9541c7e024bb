import { checkGraph } from './graph.ts';
import type { Machine, State, StatesBlock } from './definition.ts';
import { ServiceError } from './errors.ts';
import { BLOCK_FIELDS, MACHINE_FIELDS, STATE_FIELDS } from './fields.ts';
import { MAX_DEFINITION_BYTES, MAX_NAME_LENGTH, MAX_SECONDS } from './limits.ts';
import { loadMapState } from './load-map.ts';
import { loadState } from './load-states.ts';
import { DefinitionReader, type RawObject } from './reader.ts';
import { checkVariables } from './variable-rules.ts';

/**
 * Checks and compiles a definition, given as JSON text or its value.
 * @throws ServiceError InvalidDefinition naming every problem with the state it is in.
 */
export function loadMachine(name: string, definition: unknown): Machine {
  const text = typeof definition === 'string' ? definition : JSON.stringify(definition);
  const reader = new DefinitionReader();
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_DEFINITION_BYTES) {
    reader.problem('machine', `the definition has ${bytes} bytes; ${MAX_DEFINITION_BYTES} are allowed`);
  }
  const raw = reader.object(parse(text), 'machine', 'the definition');
  reader.onlyFields(raw, MACHINE_FIELDS, 'machine');
  reader.oneOf(raw, 'Version', 'machine', ['1.0']);
  const isJsonata = checkQueryLanguage(reader, raw, 'machine');
  const timeoutSeconds = reader.number(raw, 'TimeoutSeconds', 'machine', { min: 1, max: MAX_SECONDS });
  const loader = new BlockLoader(reader, isJsonata);
  const block = loader.load(raw, 'machine');
  checkVariables(reader, block);
  if (reader.problems.length > 0) {
    throw new ServiceError(
      'InvalidDefinition',
      `The state machine '${name}' is refused:\n- ${reader.problems.join('\n- ')}`,
    );
  }
  return { name, block, timeoutSeconds };
}

/** Loads blocks of states, nested ones included; names are unique in the whole machine. */
class BlockLoader {
  readonly #reader: DefinitionReader;
  readonly #isJsonata: boolean;
  readonly #names = new Set<string>();

  constructor(reader: DefinitionReader, isJsonata: boolean) {
    this.#reader = reader;
    this.#isJsonata = isJsonata;
  }

  load(raw: RawObject, place: string): StatesBlock {
    const reader = this.#reader;
    const startAt = reader.text(raw, 'StartAt', place);
    const states = new Map<string, State>();
    for (const [name, rawState] of Object.entries(reader.object(raw['States'], place, "'States'"))) {
      const state = this.#loadState(name, rawState);
      if (state !== undefined) states.set(name, state);
    }
    const block = { startAt, states };
    checkGraph(reader, block, place);
    return block;
  }

  #loadState(name: string, value: unknown): State | undefined {
    return this.#reader.inState(name, () => this.#loadStateFields(name, value));
  }

  #loadStateFields(name: string, value: unknown): State | undefined {
    const reader = this.#reader;
    const place = `state '${name}'`;
    if (name === '' || name.length > MAX_NAME_LENGTH) {
      reader.problem(place, `a state's name has 1 to ${MAX_NAME_LENGTH} characters, not ${name.length}`);
    }
    if (this.#names.has(name)) reader.problem(place, 'the name is used twice in the machine');
    this.#names.add(name);
    const raw = reader.object(value, place, 'a state');
    const type = reader.text(raw, 'Type', place);
    const fields = STATE_FIELDS[type];
    if (fields === undefined) {
      reader.problem(
        place,
        `the type '${type}' is not interpreted here; types: ${Object.keys(STATE_FIELDS).join(', ')}`,
      );
      return undefined;
    }
    reader.onlyFields(raw, fields, place);
    if (raw['QueryLanguage'] !== undefined || !this.#isJsonata) checkQueryLanguage(reader, raw, place);
    if (type === 'Map') return loadMapState(reader, name, raw, (block) => this.load(block, place));
    return loadState(reader, name, raw, (block) => this.#loadBranch(block, place));
  }

  #loadBranch(value: unknown, place: string): StatesBlock {
    const raw = this.#reader.object(value, place, 'a branch');
    this.#reader.onlyFields(raw, BLOCK_FIELDS, place);
    return this.load(raw, place);
  }
}

function checkQueryLanguage(reader: DefinitionReader, raw: RawObject, place: string): boolean {
  const language = raw['QueryLanguage'];
  if (language === 'JSONata') return true;
  if (place === 'machine' && language === undefined) return false;
  const seen = language === undefined ? 'JSONPath, the default' : JSON.stringify(language);
  reader.problem(place, `'QueryLanguage' is ${seen}; only "JSONata" is interpreted here`);
  return false;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ServiceError('InvalidDefinition', `The definition is not JSON: ${String(error)}`);
  }
}
