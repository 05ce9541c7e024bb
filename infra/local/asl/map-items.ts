import type { ItemReader, MapState } from './definition.ts';
import { AslError, ITEM_READER_FAILED } from './errors.ts';
import { type Json, Payload } from './payload.ts';
import { wrongValueError } from './template.ts';
import type { Visit } from './visit.ts';

/** Items of a distributed map, handed out one by one. */
export interface ItemSource {
  readonly total: number;
  /** Undefined after the last one. @throws AslError States.ItemReaderFailed for an item that cannot be read. */
  next(): Payload | undefined;
}

/** The array a Map without ItemReader goes through: its `Items`, or its input. */
export async function readItems(state: MapState, visit: Visit): Promise<readonly Json[]> {
  const value = state.items === undefined ? visit.input.value : await visit.fill(state.items);
  if (isArray(value)) return value;
  const template = state.items ?? { kind: 'constant' as const, value };
  throw visit.evaluationFailed(wrongValueError(template, 'Items', 'array', value));
}

/** @throws AslError States.ItemReaderFailed when the object is missing or not a list. */
export async function openItemReader(reader: ItemReader, visit: Visit): Promise<ItemSource> {
  const bucket = await visit.fillString(reader.bucket, 'ItemReader/Arguments/Bucket');
  const key = await visit.fillString(reader.key, 'ItemReader/Arguments/Key');
  const maxItems =
    reader.maxItems === undefined
      ? Infinity
      : await visit.fillInteger(reader.maxItems, 'ItemReader/ReaderConfig/MaxItems', 1);
  const { host } = visit.run.engine;
  let text: string;
  try {
    text = await host.clock.track(host.readObject(bucket, key));
  } catch (error) {
    throw new AslError(ITEM_READER_FAILED, `Could not read s3://${bucket}/${key}: ${messageOf(error)}`);
  }
  return reader.inputType === 'JSONL' ? linesOf(text, maxItems) : elementsOf(parseArray(text), maxItems);
}

/** Hands out array elements and lets go of each as it goes. */
export function elementsOf(elements: readonly Json[], maxItems = Infinity): ItemSource {
  const rest: (Json | undefined)[] = elements.slice(0, Math.min(elements.length, maxItems));
  let next = 0;
  return {
    total: rest.length,
    next: () => {
      const element = rest[next];
      if (element === undefined) return undefined;
      rest[next] = undefined;
      next += 1;
      return Payload.of(element);
    },
  };
}

/** Reads a JSON Lines text one line at a time; blank lines do not count. */
function linesOf(text: string, maxItems: number): ItemSource {
  let total = 0;
  for (const _ of nonBlankLines(text)) if (total < maxItems) total += 1;
  const lines = nonBlankLines(text);
  let given = 0;
  return {
    total,
    next: () => {
      const line = given < total ? lines.next() : undefined;
      if (line === undefined || line.done === true) return undefined;
      given += 1;
      return parseLine(line.value, given);
    },
  };
}

function* nonBlankLines(text: string): Generator<string, undefined> {
  let start = 0;
  while (start < text.length) {
    const found = text.indexOf('\n', start);
    const end = found < 0 ? text.length : found;
    const line = text.slice(start, end).trim();
    if (line !== '') yield line;
    start = end + 1;
  }
  return undefined;
}

function parseLine(line: string, number: number): Payload {
  try {
    return new Payload(line, JSON.parse(line) as Json);
  } catch (error) {
    throw new AslError(ITEM_READER_FAILED, `Item ${number} is not JSON: ${messageOf(error)}`);
  }
}

function parseArray(text: string): readonly Json[] {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    throw new AslError(ITEM_READER_FAILED, `The object is not JSON: ${messageOf(error)}`);
  }
  if (isArray(value)) return value;
  throw new AslError(ITEM_READER_FAILED, 'Attempting to map over non-iterable node.');
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
