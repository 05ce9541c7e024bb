import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from 'yaml';
import { commandLineError } from '#cli/remote/command-line-error';
import type { ConfigError } from '#core/located';

type Json = Readonly<Record<string, unknown>>;

export interface ImageWish {
  /** The settings file of a stage, as `cdk -c settings=<file>` reads it. */
  readonly file: string;
  readonly stage: string;
  readonly family: string;
  /** Whether another image of the family may make way. */
  readonly replace: boolean;
  /** Whether the image has the GPU driver that the settings say of the one that makes way. */
  readonly keepGpu: boolean;
}

/** What was said of the image that has made way, and whether it stands in the settings of the new one. */
export interface TakenOver {
  readonly kept: Json;
  readonly dropped: Json;
}

/** @throws ConfigError for a file that could not take the image: before anything is started, which takes an hour. */
export async function checkSettingsFile(wish: ImageWish): Promise<void> {
  const text = await textOf(wish.file);
  refuseOther(wish, documentOf(text, wish), null);
}

/**
 * Puts the image into `sandboxes.images` of the file and leaves every other byte as it is; whoever reads meanwhile reads one
 * or the other. Seats are of a licence and are kept; a GPU driver is in an image, and is kept for the same one or when asked.
 * @throws ConfigError as above, for what has changed meanwhile.
 */
export async function writeImage(wish: ImageWish, image: Json): Promise<TakenOver> {
  const file = await realpath(wish.file);
  const text = await textOf(file);
  const document = documentOf(text, wish);
  refuseOther(wish, document, image);
  const takenOver = takeOver(wish, imageIn(document, wish.family) ?? {}, image);
  const changed = withImage(text, wish.family, { ...image, ...takenOver.kept });
  const draft = `${file}.${String(process.pid)}.draft`;
  try {
    await writeFile(draft, changed, { mode: (await stat(file)).mode & 0o777, flag: 'wx' });
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  return takenOver;
}

function takeOver({ keepGpu }: ImageWish, before: Json, image: Json): TakenOver {
  const { seats = null, gpu } = before;
  const ofLicence = seats === null ? {} : { seats };
  const ofImage = gpu === undefined ? {} : { gpu };
  return keepGpu || before['imageId'] === image['imageId']
    ? { kept: { ...ofLicence, ...ofImage }, dropped: {} }
    : { kept: ofLicence, dropped: ofImage };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const got = `${JSON.stringify(file)} (${error instanceof Error ? error.message : String(error)})`;
    const what = 'the settings file cannot be read';
    throw commandLineError({ what, got, allowed: 'the settings file of the stage', action: 'correct --settings' });
  }
}

function documentOf(text: string, { file, stage }: ImageWish): Json {
  const refuse = (what: string, got: string): ConfigError =>
    commandLineError({
      what,
      got,
      allowed: `settings of stage ${stage} as JSON, which is what the deployment reads`,
      action: 'correct --settings or --stage, or leave --settings out and copy what is printed',
    });
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw refuse(`${file} is no JSON`, error instanceof Error ? error.message : String(error));
  }
  if (!isObject(document) || parseDocument(text).errors.length > 0)
    throw refuse(`${file} holds no settings`, 'no object, or one with a key twice');
  if (document['stage'] !== stage)
    throw refuse(`${file} is of another stage`, JSON.stringify(document['stage'] ?? null));
  for (const part of [document['sandboxes'], isObject(document['sandboxes']) ? document['sandboxes']['images'] : {}])
    if (part !== undefined && !isObject(part))
      throw refuse(`sandboxes or its images in ${file} is no object`, JSON.stringify(part));
  return document;
}

function imageIn(document: Json, family: string): Json | null {
  const images = isObject(document['sandboxes']) ? document['sandboxes']['images'] : undefined;
  const image = isObject(images) && Object.hasOwn(images, family) ? images[family] : undefined;
  return isObject(image) ? image : null;
}

function refuseOther({ file, family, replace }: ImageWish, document: Json, image: Json | null): void {
  const before = imageIn(document, family);
  if (before === null || replace || (image !== null && before['imageId'] === image['imageId'])) return;
  throw commandLineError({
    what: `${file} has another image of family ${family}`,
    got: JSON.stringify(before['imageId'] ?? before['parameter'] ?? before),
    allowed: 'a family that sandboxes.images does not name yet',
    action: 'give --replace to have the new image take its place',
  });
}

const PATH = ['sandboxes', 'images'] as const;

/** The text with the image in its place, and all else to the letter. Throws rather than change anything else. */
export function withImage(text: string, family: string, image: Json): string {
  const changed = spliced(text, [...PATH, family], image);
  const wanted = merged(JSON.parse(text) as Json, [...PATH, family], image);
  if (JSON.stringify(sorted(JSON.parse(changed))) === JSON.stringify(sorted(wanted))) return changed;
  throw new Error('the settings file could not be changed in this one place; nothing was written');
}

/** Goes down the keys that are there, and puts what is missing behind the last one of the map where they end. */
function spliced(text: string, keys: readonly string[], value: Json): string {
  const unit = /^[^\S\n]+(?=")/mu.exec(text)?.[0] ?? '  ';
  let map = mapOf(parseDocument(text).contents);
  for (const [depth, key] of keys.entries()) {
    const found = map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
    const isLast = depth === keys.length - 1;
    if (found !== undefined && !isLast) {
      map = mapOf(found.value);
      continue;
    }
    const rest = keys.slice(depth + 1).reduceRight<Json>((inner, name) => ({ [name]: inner }), value);
    const indent = unit.repeat(depth + 1);
    const written = JSON.stringify(rest, null, unit).replaceAll('\n', `\n${indent}`);
    if (found !== undefined) return replaced(text, rangeOf(found.value), written);
    return inserted(text, map, { entry: `${JSON.stringify(key)}: ${written}`, indent, outer: unit.repeat(depth) });
  }
  throw new RangeError('there is no place to write to');
}

interface Insertion {
  readonly entry: string;
  readonly indent: string;
  readonly outer: string;
}

function inserted(text: string, map: YAMLMap, { entry, indent, outer }: Insertion): string {
  const last: Pair | undefined = map.items.at(-1);
  if (last === undefined) return replaced(text, rangeOf(map), `{\n${indent}${entry}\n${outer}}`);
  const [, end] = rangeOf(last.value);
  const close = rangeOf(map)[1] - 1;
  // A map on one line gets its closing brace on a line of its own.
  const isOnOneLine = !text.slice(end, close).includes('\n');
  return `${text.slice(0, end)},\n${indent}${entry}${isOnOneLine ? `\n${outer}` : ''}${text.slice(isOnOneLine ? close : end)}`;
}

function replaced(text: string, [start, end]: readonly [number, number], value: string): string {
  return text.slice(0, start) + value + text.slice(end);
}

function mapOf(node: unknown): YAMLMap {
  if (isMap(node)) return node;
  throw new TypeError('the settings have something else where a map belongs');
}

function rangeOf(node: unknown): readonly [number, number] {
  if ((isMap(node) || isScalar(node)) && node.range) return [node.range[0], node.range[1]];
  if (typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range))
    return [Number(node.range[0]), Number(node.range[1])];
  throw new TypeError('a part of the settings has no place in the text');
}

function merged(document: Json, [key, ...rest]: readonly string[], value: Json): Json {
  if (key === undefined) return value;
  const inner = document[key];
  return { ...document, [key]: merged(isObject(inner) ? inner : {}, rest, value) };
}

/** The order of keys says nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, sorted(inner)]);
  return Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
