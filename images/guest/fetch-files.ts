import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, mkdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { FetchItem, FetchJob } from '#contracts/guest';
import {
  answerOf,
  getText,
  HttpStatusError,
  openRequest,
  readBody,
  retrying,
  TransferCutError,
} from './http-client.ts';
import { lazy } from './lazy-builtins.ts';
import { nameNotForWindows, whileBusyLater } from './windows-files.ts';

/** The one line an inner transfer prints. `message` is null when all went well. */
export interface FetchReport {
  readonly files: number;
  readonly bytes: number;
  readonly message: string | null;
}

const AT_ONCE = 4;
const LIST_LIMIT_BYTES = 64 * 1024 * 1024;

interface FetchList {
  readonly items: readonly FetchItem[];
  readonly directories: readonly string[];
}

/** Brings in every file of the job's list, as whoever runs this. @throws on the first file that cannot be had. */
export async function fetchFiles(job: FetchJob, platform: NodeJS.Platform = process.platform): Promise<FetchReport> {
  const list = parseList(await getText('the list of files', job.listUrl, LIST_LIMIT_BYTES));
  if (platform === 'win32') refuseNames(list);
  for (const directory of list.directories) await mkdir(directory, { recursive: true });
  await eachOf(list.items, AT_ONCE, fetchItem);
  return { files: list.items.length, bytes: list.items.reduce((sum, item) => sum + item.sizeBytes, 0), message: null };
}

/** Before anything is brought: half of a task's files is no task. */
function refuseNames({ items, directories }: FetchList): void {
  for (const each of [...directories, ...items.map((item) => item.path)]) {
    const name = nameNotForWindows(each);
    if (name === undefined) continue;
    const taken =
      'it takes none with < > : " | ? * or control characters, none that ends with a dot or space, and no device';
    throw new TypeError(
      `${JSON.stringify(name)} in ${JSON.stringify(each)} is no name of a file on Windows (${taken}); run the task on Linux`,
    );
  }
}

/** Runs `work` over all items, a few at a time; the first failure ends it. */
export async function eachOf<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
}

async function fetchItem(item: FetchItem): Promise<void> {
  await mkdir(path.dirname(item.path), { recursive: true });
  const part = `${item.path}.part`;
  await rm(part, { force: true });
  let isSecondChance = false;
  await retrying(async () => {
    await download(item, part);
    const mismatch = await mismatchOf(item, part);
    if (mismatch === null) return;
    await rm(part, { force: true });
    // Bytes may be damaged on their way once; a source that is wrong stays wrong.
    if (isSecondChance) throw new Error(mismatch);
    isSecondChance = true;
    throw new TransferCutError(mismatch);
  });
  await chmod(part, item.executable ? 0o755 : 0o644);
  await whileBusyLater(() => rename(part, item.path));
}

/** One try: what an earlier one has brought is kept and only the rest asked for. */
async function download(item: FetchItem, part: string): Promise<void> {
  const have = await sizeOf(part);
  if (item.sizeBytes > 0 && have >= item.sizeBytes) return;
  const request = openRequest(item.url, { method: 'GET', headers: have > 0 ? { range: `bytes=${have}-` } : {} });
  request.end();
  const answer = await answerOf(request);
  const isRest = answer.statusCode === 206 && answer.headers['content-range']?.startsWith(`bytes ${have}-`) === true;
  if (answer.statusCode !== 200 && !isRest) {
    const body = await readBody(answer, 64 * 1024).catch(() => '');
    // A range the server cannot give: begin anew.
    if (answer.statusCode === 416 || answer.statusCode === 206) await rm(part, { force: true });
    const status = answer.statusCode === 416 || answer.statusCode === 206 ? 503 : (answer.statusCode ?? 0);
    throw new HttpStatusError(`the source of ${item.path}`, status, body);
  }
  let room = item.sizeBytes - (isRest ? have : 0);
  await pipeline(
    answer,
    async function* (source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        room -= chunk.length;
        if (room < 0)
          throw new RangeError(`${item.path}: the source is larger than the ${item.sizeBytes} bytes expected`);
        yield chunk;
      }
    },
    createWriteStream(part, { flags: isRest ? 'a' : 'w' }),
  );
}

/** What is wrong with the content that has come, or null. @throws TransferCutError when there is more to come. */
async function mismatchOf(item: FetchItem, part: string): Promise<string | null> {
  const size = await sizeOf(part);
  if (size < item.sizeBytes) throw new TransferCutError(`${item.path}: ${size} of ${item.sizeBytes} bytes came`);
  const sha256 = await sha256OfFile(part);
  if (size === item.sizeBytes && sha256 === item.sha256) return null;
  return `${item.path}: got ${size} bytes with sha256 ${sha256}, expected ${item.sizeBytes} bytes with ${item.sha256}`;
}

async function sizeOf(file: string): Promise<number> {
  const info = await stat(file).catch(() => undefined);
  return info?.size ?? 0;
}

async function sha256OfFile(file: string): Promise<string> {
  const hash = lazy.crypto().createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

function parseList(text: string): FetchList {
  const value = JSON.parse(text) as Partial<FetchList>;
  if (!Array.isArray(value.items) || !Array.isArray(value.directories)) {
    throw new TypeError('the list of files must be {"items": [...], "directories": [...]}');
  }
  for (const item of value.items) checkItem(item);
  for (const directory of value.directories) {
    if (typeof directory !== 'string') throw new TypeError('a directory of the list of files must be a path');
  }
  return { items: value.items as FetchItem[], directories: value.directories as string[] };
}

function checkItem(item: unknown): void {
  const { url, path: target, sha256, sizeBytes, executable } = (item ?? {}) as Record<string, unknown>;
  const isRight =
    typeof url === 'string' &&
    typeof target === 'string' &&
    path.isAbsolute(target) &&
    typeof sha256 === 'string' &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    Number.isSafeInteger(sizeBytes) &&
    Number(sizeBytes) >= 0 &&
    typeof executable === 'boolean';
  if (!isRight) {
    throw new TypeError(
      `an item of the list of files (path ${JSON.stringify(target)}) must have url, absolute path, sha256 (64 hex digits), sizeBytes and executable`,
    );
  }
}
