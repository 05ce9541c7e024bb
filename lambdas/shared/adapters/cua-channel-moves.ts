import { createHash } from 'node:crypto';
import {
  GUEST_CONTRACT_VERSION,
  type CollectEntry,
  type CollectManifest,
  type FetchItem,
  type JobEnd,
  type JobResult,
  type JobStatus,
} from '#contracts/guest';
import type { ListedEntry } from '#contracts/guest-listing';
import { quotePosix } from '#core/cua/posix-shell';
import { postObject, SizeMismatchError } from './cua-channel-post.ts';
import type { CuaGuest } from './cua-channel-guest.ts';
import type { ChannelJob } from '#ports/channel';

/** Jobs that move files; the host does them itself, since the machine may not reach our object server. */
export type MoveJob = Extract<ChannelJob, { kind: 'fetch' | 'collect' }>;

interface Moved {
  readonly transferredFiles: number;
  readonly transferredBytes: number;
  readonly sha256OfManifest: string | null;
}

interface Running {
  readonly startedAt: Date;
  readonly stop: AbortController;
  readonly done: Promise<JobResult>;
  result?: JobResult;
}

const AT_ONCE = 3;

/** Moves of this process. They end with it: another process starts them anew. */
export class CuaMoves {
  readonly #running = new Map<string, Running>();

  /** Starts a move once; what there is of it is kept. */
  start(guest: CuaGuest, job: MoveJob): void {
    const key = keyOf(guest, job.jobId);
    if (this.#running.has(key)) return;
    const stop = new AbortController();
    const startedAt = new Date();
    const running: Running = { startedAt, stop, done: run(guest, job, stop.signal, startedAt) };
    this.#running.set(key, running);
    void running.done.then((result) => (running.result = result));
  }

  status(guest: CuaGuest, jobId: string): JobStatus | undefined {
    const running = this.#running.get(keyOf(guest, jobId));
    if (running === undefined) return undefined;
    if (running.result !== undefined) return { state: 'finished', result: running.result };
    return { state: 'running', startedAt: running.startedAt.toISOString() };
  }

  /** Undefined for a job that is none of ours. */
  ended(guest: CuaGuest, jobId: string): Promise<JobResult> | undefined {
    return this.#running.get(keyOf(guest, jobId))?.done;
  }

  async stop(guest: CuaGuest, jobId: string): Promise<void> {
    const running = this.#running.get(keyOf(guest, jobId));
    running?.stop.abort();
    await running?.done;
  }

  close(): void {
    for (const running of this.#running.values()) running.stop.abort();
  }
}

const keyOf = (guest: CuaGuest, jobId: string): string => `${guest.folder} ${jobId}`;

/** Never rejects: how it went is the result. */
async function run(guest: CuaGuest, job: MoveJob, stopped: AbortSignal, startedAt: Date): Promise<JobResult> {
  const wall = AbortSignal.timeout(job.wallSeconds * 1_000);
  const signal = AbortSignal.any([stopped, wall]);
  try {
    const moved = job.kind === 'fetch' ? await fetchAll(guest, job, signal) : await collectAll(guest, job, signal);
    return resultOf(job, startedAt, 'exited', { exitCode: 0, ...moved });
  } catch (error) {
    if (wall.aborted && !stopped.aborted) return resultOf(job, startedAt, 'wall-limit', {});
    if (stopped.aborted) return resultOf(job, startedAt, 'stopped', {});
    const message = error instanceof Error ? error.message : String(error);
    return resultOf(job, startedAt, 'exited', { exitCode: 1, message });
  }
}

function resultOf(job: MoveJob, startedAt: Date, end: JobEnd, parts: Partial<JobResult>): JobResult {
  const endedAt = new Date();
  return {
    version: GUEST_CONTRACT_VERSION,
    jobId: job.jobId,
    end,
    exitCode: null,
    signal: null,
    startedAt: startedAt.toISOString(),
    endedAt: endedAt.toISOString(),
    durationSeconds: (endedAt.getTime() - startedAt.getTime()) / 1_000,
    ...{ stdoutBytes: 0, stderrBytes: 0, stdoutTruncated: false, stderrTruncated: false },
    ...{ confirmedDead: true, survivors: 0, message: null },
    ...{ transferredFiles: 0, transferredBytes: 0, sha256OfManifest: null },
    ...parts,
  };
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane));
}

async function fetchAll(
  guest: CuaGuest,
  { listUrl }: Extract<MoveJob, { kind: 'fetch' }>,
  signal: AbortSignal,
): Promise<Moved> {
  const answer = await opened('the list of files', listUrl, signal);
  const list = (await answer.json()) as { items: readonly FetchItem[]; directories: readonly string[] };
  const folders = new Set([...list.directories, ...list.items.map(({ path }) => path.slice(0, path.lastIndexOf('/')))]);
  for (const folder of folders) await guest.client.createDir(folder);
  await eachOf(list.items, async (item) => {
    signal.throwIfAborted();
    await guest.client.upload(item.path, checked(item, signal));
  });
  const executable = list.items.filter((item) => item.executable).map((item) => quotePosix(item.path));
  if (executable.length > 0) {
    const done = await guest.client.exec(`chmod 755 -- ${executable.join(' ')}`, { timeoutSeconds: 60, signal });
    if (done.exitCode !== 0) throw new Error(`files could not be made executable: ${done.stderr.trim()}`);
  }
  const transferredBytes = list.items.reduce((sum, item) => sum + item.sizeBytes, 0);
  return { transferredFiles: list.items.length, transferredBytes, sha256OfManifest: null };
}

async function opened(what: string, url: string, signal: AbortSignal): Promise<Response> {
  const answer = await fetch(url, { signal });
  if (answer.ok) return answer;
  // The URL is left out: it carries its own permission.
  throw new Error(`${what} answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
}

/** The content of an item; the last piece is held back until the whole is known to be right. */
async function* checked(item: FetchItem, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const { body } = await opened(`the source of ${item.path}`, item.url, signal);
  const sha256 = createHash('sha256');
  let sizeBytes = 0;
  let held: Uint8Array | undefined;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    sizeBytes += piece.length;
    if (sizeBytes > item.sizeBytes) break;
    sha256.update(piece);
    if (held !== undefined) yield held;
    held = piece;
  }
  const found = sha256.digest('hex');
  if (sizeBytes !== item.sizeBytes || found !== item.sha256) {
    throw new Error(
      `${item.path}: got ${sizeBytes} bytes with sha256 ${found}, expected ${item.sizeBytes} bytes with ${item.sha256}`,
    );
  }
  if (held !== undefined) yield held;
}

type CollectMove = Extract<MoveJob, { kind: 'collect' }>;

async function collectAll(guest: CuaGuest, job: CollectMove, signal: AbortSignal): Promise<Moved> {
  const listing = await guest.list({ roots: job.roots, limits: job.limits }, signal);
  const roots: CollectManifest['roots'][number][] = [];
  for (const { keyPrefix, missing, entries } of listing.roots) {
    const collected = new Map<ListedEntry, CollectEntry>();
    await eachOf(entries, async (entry) => {
      signal.throwIfAborted();
      collected.set(entry, await collectEntry(guest, job, { entry, keyPrefix }, signal));
    });
    roots.push({ keyPrefix, missing, entries: entries.flatMap((entry) => collected.get(entry) ?? []) });
  }
  const manifest: CollectManifest = { version: GUEST_CONTRACT_VERSION, jobId: job.jobId, roots };
  const body = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
  const key = `${job.grant.keyPrefix}${job.manifestKey}`;
  const sha256OfManifest = await postObject(job.grant, key, {
    sizeBytes: body.length,
    signal,
    send: (put) => put(body),
  });
  const uploaded = roots.flatMap((root) => root.entries.filter((entry) => entry.key !== null));
  const transferredBytes = uploaded.reduce((sum, entry) => sum + entry.sizeBytes, 0);
  return { transferredFiles: uploaded.length, transferredBytes, sha256OfManifest };
}

async function collectEntry(
  { client }: CuaGuest,
  { grant }: CollectMove,
  { entry, keyPrefix }: { readonly entry: ListedEntry; readonly keyPrefix: string },
  signal: AbortSignal,
): Promise<CollectEntry> {
  if ('settled' in entry) return entry.settled;
  const { path, absolute, sizeBytes } = entry.file;
  const found: CollectEntry = { path, kind: 'file', sizeBytes, sha256: null, key: null, target: null, skipped: null };
  if (absolute === null) return { ...found, skipped: 'unreadable' };
  const key = `${grant.keyPrefix}${keyPrefix}${entry.file.key}`;
  try {
    const send = (put: (piece: Uint8Array) => Promise<void>): Promise<unknown> => client.downloadTo(absolute, put);
    return { ...found, key, sha256: await postObject(grant, key, { sizeBytes, signal, send }) };
  } catch (error) {
    if (error instanceof SizeMismatchError) return { ...found, skipped: 'changed-while-read' };
    if (error instanceof Error && error.name === 'CuaCommandError') return { ...found, skipped: 'unreadable' };
    throw error;
  }
}
