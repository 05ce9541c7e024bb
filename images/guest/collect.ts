import type { FileHandle } from 'node:fs/promises';
import {
  GUEST_CONTRACT_VERSION,
  type CollectEntry,
  type CollectJob,
  type CollectManifest,
  type CollectRoot,
  type GuestAccount,
  type GuestJob,
  type UploadGrant,
} from '#contracts/guest';
import {
  allowanceOf,
  isFolder,
  isFolderOfFolders,
  openRegular,
  textOf,
  walk,
  type Allowance,
  type Found,
} from './collect-walk.ts';
import { eachOf, type FetchReport } from './fetch-files.ts';
import { objectKeyOf } from './object-key.ts';
import { bufferSource, FileChangedError, fileSource, FileUnreadableError, uploadObject } from './upload-object.ts';

type RootReport = CollectManifest['roots'][number];

/** What the inner part hands to the supervisor: the agent's folders, done. */
export interface CollectReport extends FetchReport {
  readonly roots: readonly RootReport[];
  readonly filesLeft: number;
  readonly bytesLeft: number;
}

const AT_ONCE = 4;

/** Where the agent's folders are read by somebody who may read more than the agent. */
const readsForeign = (platform: NodeJS.Platform): boolean => platform === 'win32';

/**
 * Whom a job's command runs as. On Windows the runner collects itself: the account has been ended by then, and what its session
 * said would be the agent's own word.
 */
export function readerOf(job: GuestJob, platform: NodeJS.Platform = process.platform): GuestAccount | null {
  return job.kind === 'collect' && readsForeign(platform) ? null : job.account;
}

/**
 * Uploads the folders that are read with the agent's eyes, as whoever runs this. Somebody who may read more (`isForeign`) reads
 * nothing that the agent has only named: no folder that a link leads to, and no file that has another name elsewhere.
 */
export async function collectAsAgent(
  job: CollectJob,
  isForeign = readsForeign(process.platform),
): Promise<CollectReport> {
  const allowance = allowanceOf(job.limits);
  const roots = await collectRoots(job, { as: 'agent', isForeign }, allowance);
  return { roots, ...sumOf(roots), message: null, filesLeft: allowance.files, bytesLeft: allowance.bytes };
}

/** Uploads the folders that only the runner can read, then the manifest of all, in the order of the job. */
export async function collectAsRunner(
  job: CollectJob,
  agents: CollectReport,
): Promise<FetchReport & { readonly sha256OfManifest: string }> {
  const allowance: Allowance = { ...allowanceOf(job.limits), files: agents.filesLeft, bytes: agents.bytesLeft };
  const own = await collectRoots(job, { as: 'runner', isForeign: false }, allowance);
  const queues = { agent: [...agents.roots], runner: [...own] };
  const roots = job.roots.flatMap((root) => queues[root.as].shift() ?? []);
  const manifest: CollectManifest = { version: GUEST_CONTRACT_VERSION, jobId: job.jobId, roots };
  const body = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
  const sha256OfManifest = await uploadObject(
    job.grant,
    `${job.grant.keyPrefix}${job.manifestKey}`,
    bufferSource(body),
  );
  return { ...sumOf(roots), message: null, sha256OfManifest };
}

interface Reading {
  readonly as: CollectRoot['as'];
  readonly isForeign: boolean;
}

async function collectRoots(job: CollectJob, reading: Reading, allowance: Allowance): Promise<RootReport[]> {
  const reports: RootReport[] = [];
  for (const root of job.roots)
    if (root.as === reading.as) reports.push(await collectRoot(root, job.grant, { allowance, reading }));
  return reports;
}

async function collectRoot(
  root: CollectRoot,
  grant: UploadGrant,
  { allowance, reading }: { readonly allowance: Allowance; readonly reading: Reading },
): Promise<RootReport> {
  const isThere = reading.isForeign ? await isFolderOfFolders(root.path) : await isFolder(root.path);
  if (!isThere) return { keyPrefix: root.keyPrefix, missing: true, entries: [] };
  const found: Found[] = [];
  for await (const each of walk(Buffer.from(root.path), allowance)) found.push(each);
  const entries = new Map<Found, CollectEntry>();
  await eachOf(found, AT_ONCE, async (each) => {
    const prefix = `${grant.keyPrefix}${root.keyPrefix}`;
    entries.set(each, each.kind === 'settled' ? each.entry : await uploadFound(each, grant, { prefix, reading }));
  });
  return { keyPrefix: root.keyPrefix, missing: false, entries: found.flatMap((each) => entries.get(each) ?? []) };
}

async function uploadFound(
  found: Extract<Found, { kind: 'file' }>,
  grant: UploadGrant,
  { prefix, reading }: { readonly prefix: string; readonly reading: Reading },
): Promise<CollectEntry> {
  const entry: CollectEntry = {
    path: textOf(found.relative),
    kind: 'file',
    sizeBytes: found.sizeBytes,
    sha256: null,
    key: null,
    target: null,
    skipped: null,
  };
  const file = await openRegular(found.absolute, { hasOneName: reading.isForeign });
  if (typeof file === 'string') return { ...entry, skipped: file };
  try {
    const key = `${prefix}${objectKeyOf(found.relative)}`;
    const sha256 = await uploadUnchanged(file, found.sizeBytes, grant, key);
    return sha256 === undefined ? { ...entry, skipped: 'changed-while-read' } : { ...entry, sha256, key };
  } catch (error) {
    if (error instanceof FileChangedError) return { ...entry, skipped: 'changed-while-read' };
    if (error instanceof FileUnreadableError) return { ...entry, skipped: 'unreadable' };
    throw error;
  } finally {
    await file.close();
  }
}

/** Undefined when the file was another one before, or has changed meanwhile. */
async function uploadUnchanged(
  file: FileHandle,
  sizeBytes: number,
  grant: UploadGrant,
  key: string,
): Promise<string | undefined> {
  const before = await file.stat({ bigint: true });
  if (before.size !== BigInt(sizeBytes)) return undefined;
  const sha256 = await uploadObject(grant, key, fileSource(file, sizeBytes));
  const after = await file.stat({ bigint: true });
  const isSame = after.size === before.size && after.mtimeNs === before.mtimeNs && after.ctimeNs === before.ctimeNs;
  return isSame ? sha256 : undefined;
}

function sumOf(roots: readonly RootReport[]): { readonly files: number; readonly bytes: number } {
  const uploaded = roots.flatMap((root) => root.entries.filter((entry) => entry.key !== null));
  return { files: uploaded.length, bytes: uploaded.reduce((sum, entry) => sum + entry.sizeBytes, 0) };
}
