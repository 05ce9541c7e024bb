import { isErrorNamed } from '#core/errors';
import { objectKeys } from '#core/keys';
import { encodeCursor } from '#core/page-cursor';
import type { Permission } from '#core/policy';
import type { AttemptRow } from '#core/rows';
import { RUN_FILES } from '#core/run-tree';
import { utf8Bytes } from '#core/utf8';
import { RecordFilesSchema, type RecordFiles } from '#contracts/api-record-files';
import type { UnitDetail } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { LINK_SECONDS } from './api-links.ts';
import { lastKeyIn } from './api-pages.ts';

type Needs = Pick<Ports, 'artifacts' | 'digest'>;
type Files = Pick<UnitDetail['attemptList'][number], 'files' | 'filesCursor'>;
type RecordFile = RecordFiles['files'][number];

export interface FilesAsked {
  readonly permissions: ReadonlySet<Permission>;
  /** From a page before. */
  readonly cursor: string | undefined;
  readonly limit: number;
  /** Of the answer's JSON; a page ends before the file that would pass it, and holds at least one. */
  readonly maxBytes: number;
}

/**
 * Files of an attempt's record in path order, each under a link; of an open attempt its events as they are now. Who may not
 * see costs gets no file that holds amounts.
 * @throws InvalidRequestError for a cursor of another attempt.
 */
export async function recordFiles(attempt: AttemptRow, asked: FilesAsked, ports: Needs): Promise<Files> {
  const query = ['files', attempt.attemptId];
  const after = lastKeyIn(query, asked.cursor);
  const { runDir } = attempt;
  if (runDir === null) return { files: [], filesCursor: null };
  const isOpen = attempt.closedAt === null;
  const all = isOpen
    ? await liveFiles(runDir, ports)
    : await filesOfRecord({ runDir, cost: attempt.cost }, asked.permissions.has('readCosts'), ports);
  const left = after === null ? all : all.filter(({ path }) => path > after);
  const files = await linksTo(left, runDir, asked, ports);
  const last = files.at(-1);
  return {
    files,
    filesCursor: left.length > files.length && last !== undefined ? encodeCursor(query, last.path) : null,
  };
}

async function linksTo(
  left: readonly RecordFile[],
  runDir: string,
  { limit, maxBytes }: FilesAsked,
  { artifacts }: Needs,
): Promise<Files['files']> {
  const files: Files['files'] = [];
  let bytes = 0;
  for (const { path, sizeBytes, sha256 } of left.slice(0, limit)) {
    const ref = { bucket: 'artifacts', key: objectKeys.run(runDir, path) } as const;
    const file = { path, sizeBytes, sha256, url: await artifacts.signGet(ref, LINK_SECONDS) };
    bytes += utf8Bytes(JSON.stringify(file)) + 1;
    if (files.length > 0 && bytes > maxBytes) break;
    files.push(file);
  }
  return files;
}

async function liveFiles(runDir: string, { artifacts }: Needs): Promise<readonly RecordFile[]> {
  const path = RUN_FILES.events;
  const found = await artifacts.head({ bucket: 'artifacts', key: objectKeys.run(runDir, path) });
  return found === undefined ? [] : [{ path, sizeBytes: found.sizeBytes, sha256: found.sha256 }];
}

/** Hold the sum of money that the agent itself names for its tokens, where it does. */
const FILES_OF_USAGE: ReadonlySet<string> = new Set([RUN_FILES.run, RUN_FILES.trajectory]);

async function filesOfRecord(
  attempt: Pick<AttemptRow, 'cost'> & { readonly runDir: string },
  seesCosts: boolean,
  ports: Needs,
): Promise<readonly RecordFile[]> {
  const bytes = await readRecord(attempt.runDir, ports);
  const record = bytes === null ? null : parse(bytes);
  if (bytes === null || record === null) return [];
  const own = { path: RUN_FILES.record, sizeBytes: bytes.byteLength, sha256: ports.digest.sha256(bytes) };
  return [...record.files, own]
    .filter(({ path }) => seesCosts || !holdsAmounts(path, record, attempt))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

function holdsAmounts(path: string, record: RecordFiles, attempt: Pick<AttemptRow, 'cost'>): boolean {
  if (path === RUN_FILES.record) return record.cost?.some(({ usd }) => typeof usd === 'number') === true;
  return path === RUN_FILES.cost || (FILES_OF_USAGE.has(path) && namesPrice(record, attempt));
}

/** Whether the agent has named a sum of money; taken to have where nothing is recorded of tokens. */
function namesPrice(record: RecordFiles, { cost }: Pick<AttemptRow, 'cost'>): boolean {
  const tokens = [...(cost ?? []), ...(record.cost ?? [])].filter(({ part }) => part === 'tokens');
  return tokens.length === 0 || tokens.some(({ basis, usd }) => basis === 'estimated' || (usd ?? 0) > 0);
}

async function readRecord(runDir: string, { artifacts }: Needs): Promise<Uint8Array | null> {
  try {
    return await artifacts.get({ bucket: 'artifacts', key: objectKeys.run(runDir, RUN_FILES.record) });
  } catch (error) {
    if (isErrorNamed(error, 'ObjectNotFoundError')) return null;
    throw error;
  }
}

function parse(bytes: Uint8Array): RecordFiles | null {
  try {
    return RecordFilesSchema.safeParse(JSON.parse(new TextDecoder().decode(bytes))).data ?? null;
  } catch {
    return null;
  }
}
