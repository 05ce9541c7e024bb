import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { ApiClient, CallAnswer } from './api-client.ts';
import { download, LinkExpiredError, WrongBytesError, type DownloadOptions, type LinkedFile } from './download.ts';
import { isLoopback } from './http-exchange.ts';
import { RemoteError } from './remote-error.ts';
import { foldedPath, safeSegments } from './safe-path.ts';

type Attempt = CallAnswer<'getUnit'>['attemptList'][number];

/** What was brought of one attempt. */
export interface FetchedRecord {
  readonly unitId: string;
  readonly attemptId: string;
  readonly folder: string;
  readonly files: number;
  readonly sentBytes: number;
  /** False when the host shows no record.json, so that nothing can be verified. */
  readonly hasRecord: boolean;
  /** Files that came with other bytes than the record says, with what was seen. */
  readonly damaged: readonly string[];
}

export interface FetchJob {
  readonly client: ApiClient;
  readonly folder: string;
  readonly timeoutSeconds: number;
  readonly tell: (line: string) => void;
}

/** Where files lie until they are whole: not among the files of a record. */
export const PARTS = '.parts';
const FILES_A_PAGE = 200;
const DOWNLOADS_AT_ONCE = 4;
const MOST_FILES = 200_000;
const MOST_LINK_RENEWALS = 200;

/** What was brought of one unit, and its attempts of which the host shows nothing. */
export interface FetchedUnit {
  readonly records: readonly FetchedRecord[];
  readonly unshown: readonly string[];
}

/** Brings the records of every closed attempt of a unit below a folder, each as the run tree has it. @throws RemoteError */
export async function fetchUnit(unitId: string, job: FetchJob): Promise<FetchedUnit> {
  const unit = await job.client.call('getUnit', { params: { unitId }, query: { limit: 1 } });
  const closed = unit.attemptList.filter(({ closedAt }) => closedAt !== null);
  const records: FetchedRecord[] = [];
  for (const attempt of closed) {
    if (attempt.runDir !== null && attempt.files.length > 0) records.push(await fetchAttempt(unitId, attempt, job));
  }
  const shown = new Set(records.map(({ attemptId }) => attemptId));
  return { records, unshown: closed.flatMap(({ attemptId }) => (shown.has(attemptId) ? [] : [attemptId])) };
}

async function fetchAttempt(unitId: string, { attemptId, runDir }: Attempt, job: FetchJob): Promise<FetchedRecord> {
  const below = safeSegments(runDir ?? '');
  if (below[0] === PARTS) throw new RemoteError('host', `the host names ${PARTS} as the folder of a record`);
  await makeFolders(job.folder, [PARTS]);
  await makeFolders(job.folder, below);
  const folder = path.join(job.folder, ...below);
  const attempt = attemptNumber(unitId, attemptId);
  const work: PageWork = {
    attemptId,
    folder,
    job,
    arrived: new Set(),
    names: new Map(),
    sums: { files: 0, sentBytes: 0 },
    damaged: new Map(),
  };
  let cursor: string | null = null;
  let renewals = 0;
  for (;;) {
    const page: Attempt = await filesPage(job.client, unitId, { attempt, cursor, attemptId });
    if (await fetchPage(page.files, work)) {
      if (page.filesCursor === null) break;
      cursor = page.filesCursor;
    } else if ((renewals += 1) > MOST_LINK_RENEWALS) {
      throw new RemoteError(
        'host',
        `${attemptId}: the links of its files end before they can be used; is the clock of the host right?`,
      );
    }
    if (work.names.size > MOST_FILES)
      throw new RemoteError('host', `${attemptId} has more than ${String(MOST_FILES)} files; no record has`);
  }
  return {
    unitId,
    attemptId,
    folder,
    ...work.sums,
    hasRecord: work.arrived.has('record.json'),
    damaged: [...work.damaged.values()],
  };
}

interface PageWork {
  readonly attemptId: string;
  readonly folder: string;
  readonly job: FetchJob;
  readonly arrived: Set<string>;
  /** Names by what a disk may take them for. */
  readonly names: Map<string, string>;
  readonly sums: { files: number; sentBytes: number };
  readonly damaged: Map<string, string>;
}

/** False when links ended meanwhile; what had come is kept, and the page is to be asked for again. */
async function fetchPage(files: readonly LinkedFile[], work: PageWork): Promise<boolean> {
  for (const { path: name } of files) refuseTwin(name, work);
  const queue = files.filter(({ path: name }) => !work.arrived.has(name) && !work.damaged.has(name));
  let isExpired = false;
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      try {
        await fetchFile(next, work);
      } catch (error) {
        if (error instanceof WrongBytesError) {
          work.damaged.set(next.path, error.message);
          continue;
        }
        queue.length = 0;
        if (!(error instanceof LinkExpiredError)) throw error;
        isExpired = true;
      }
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: DOWNLOADS_AT_ONCE }, worker));
  const failed = ended.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return !isExpired;
}

async function fetchFile(file: LinkedFile, { attemptId, folder, job, arrived, sums }: PageWork): Promise<void> {
  const segments = safeSegments(file.path);
  await makeFolders(folder, segments.slice(0, -1));
  const name = createHash('sha256').update(`${attemptId}\n${file.path}`).digest('hex');
  const places = { target: path.join(folder, ...segments), part: path.join(job.folder, PARTS, name) };
  const options: DownloadOptions = {
    timeoutSeconds: job.timeoutSeconds,
    allowsLoopback: isLoopback(job.client.baseUrl),
  };
  sums.sentBytes += await download(file, places, options);
  sums.files += 1;
  arrived.add(file.path);
  job.tell(`${attemptId}: ${String(sums.files)} files, ${(sums.sentBytes / 1024 / 1024).toFixed(1)} MiB`);
}

/** Two names that this system takes for one would overwrite each other. */
function refuseTwin(name: string, { names, attemptId }: PageWork): void {
  safeSegments(name);
  const folded = process.platform === 'linux' ? name : foldedPath(name);
  const twin = names.get(folded);
  if (twin !== undefined && twin !== name) {
    throw new RemoteError(
      'request',
      `${attemptId} has files whose names this system takes for one: ${JSON.stringify([twin, name])}; fetch it on Linux`,
    );
  }
  names.set(folded, name);
}

async function filesPage(
  client: ApiClient,
  unitId: string,
  {
    attempt,
    cursor,
    attemptId,
  }: { readonly attempt: number; readonly cursor: string | null; readonly attemptId: string },
): Promise<Attempt> {
  const query = { attempt, limit: FILES_A_PAGE, ...(cursor === null ? {} : { cursor }) };
  const { attemptList } = await client.call('getUnit', { params: { unitId }, query });
  const found = attemptList.find((each) => each.attemptId === attemptId);
  if (found !== undefined) return found;
  throw new RemoteError('host', `${client.baseUrl.host} no longer shows attempt ${attemptId}`);
}

function attemptNumber(unitId: string, attemptId: string): number {
  const number = attemptId.startsWith(`${unitId}.`) ? Number(attemptId.slice(unitId.length + 1)) : Number.NaN;
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new RemoteError(
    'host',
    `the host gives unit ${unitId} an attempt that is none of it: ${JSON.stringify(attemptId.slice(0, 200))}`,
  );
}

/** Makes folders one by one, and goes through none that is a link to elsewhere. */
async function makeFolders(root: string, segments: readonly string[]): Promise<void> {
  await mkdir(root, { recursive: true });
  let at = root;
  for (const segment of segments) {
    at = path.join(at, segment);
    await mkdir(at).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    });
    if (!(await lstat(at)).isDirectory()) {
      throw new RemoteError(
        'request',
        `${at} is no folder; nothing is written through it. Move it away, or fetch into another folder`,
      );
    }
  }
}
