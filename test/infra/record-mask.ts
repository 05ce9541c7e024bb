import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * What two runs of the same experiment may differ in: when they ran and how long things took. Files that tell of it have
 * other hashes and sizes then, and are compared by what else they say.
 */
const TELLS_TIMES =
  /^(?:run\.json|eval_result\.json|events\.jsonl|trajectory\.json|origin_log\/.*\/transcript\.jsonl)$/u;
const TIMES = [/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?/gu, /\d{8}_\d{6}(?:_\d{2})?/gu];
/** `bytes` is the sum of such files' sizes in an event. */
const DURATION_KEY = /seconds|duration|elapsed|latency|_time$|^ts$|^bytes$/iu;
/** In the revision of a process sandbox's image, which is this computer, and among the versions. */
const NODE_VERSION = /(?<="|node)(?:20|22|24)\.\d+\.\d+/gu;

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** A run folder without times: its record, and each file that tells them. */
export interface MaskedRun {
  readonly record: Json;
  readonly lock: Json;
  /** By their paths. */
  readonly texts: Json;
}

interface RecordFile {
  readonly [key: string]: Json;
  readonly files: readonly { readonly path: string; readonly [key: string]: Json }[];
  readonly lock: { readonly [key: string]: Json };
  /** Over all of the record, times and all. */
  readonly recordSha256: string;
}

function masked(value: Json, key = ''): Json {
  if (typeof value === 'number') return DURATION_KEY.test(key) ? '<duration>' : value;
  if (typeof value === 'string') return TIMES.reduce((text, pattern) => text.replace(pattern, '<time>'), value);
  if (value === null || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map((item: Json) => masked(item, key));
  return Object.fromEntries(Object.entries(value).map(([name, item]: [string, Json]) => [name, masked(item, name)]));
}

function readMasked(file: string): Json {
  const text = readFileSync(file, 'utf8');
  if (!file.endsWith('.jsonl')) return masked(JSON.parse(text) as Json);
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => masked(JSON.parse(line) as Json));
}

function withoutNode(value: Json): Json {
  return JSON.parse(JSON.stringify(value).replace(NODE_VERSION, '<node>')) as Json;
}

function maskedRun(folder: string): MaskedRun {
  const { recordSha256, ...record } = JSON.parse(readFileSync(path.join(folder, 'record.json'), 'utf8')) as RecordFile;
  if (!/^[0-9a-f]{64}$/u.test(recordSha256)) throw new Error(`${folder}/record.json has no hash over itself`);
  const files = record.files.map((file) => (TELLS_TIMES.test(file.path) ? { path: file.path } : file));
  const telling = record.files.map((file) => file.path).filter((file) => TELLS_TIMES.test(file));
  return {
    record: masked({ ...record, files }),
    lock: record.lock,
    texts: Object.fromEntries(telling.map((file) => [file, readMasked(path.join(folder, file))])),
  };
}

/**
 * Every run folder below a run tree that holds a record, masked, by agent, model, task and variant.
 * @param isAnyNode takes the version of Node out too, for runs under different ones.
 */
export function maskedRuns(treeRoot: string, isAnyNode = false): Readonly<Record<string, MaskedRun>> {
  const files = readdirSync(treeRoot, { recursive: true, encoding: 'utf8' });
  // What is below `.examhall` is the host's own state.
  const records = files.filter((file) => path.basename(file) === 'record.json' && !file.startsWith('.examhall'));
  const runs = records.sort().map((file): [string, MaskedRun] => {
    const folder = path.dirname(file);
    const { record, lock, texts } = maskedRun(path.join(treeRoot, folder));
    const take = isAnyNode ? withoutNode : (value: Json) => value;
    return [path.dirname(folder), { record: take(record), lock: take(lock), texts: take(texts) }];
  });
  return Object.fromEntries(runs);
}
