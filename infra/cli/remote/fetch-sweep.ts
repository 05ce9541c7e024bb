import { readFileSync } from 'node:fs';
import { rmdir } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { fetchUnit, PARTS, type FetchedRecord, type FetchJob } from './fetch-records.ts';
import { allPages } from './pages.ts';
import { isSweepId } from './resource-ids.ts';

export interface FetchedSweep {
  readonly records: readonly FetchedRecord[];
  readonly units: number;
  readonly openUnits: number;
  /** Closed attempts of which the host shows nothing. */
  readonly unshown: readonly string[];
}

/** Brings the records of a sweep, or of one unit. @throws RemoteError */
export async function fetchSweep(id: string, job: FetchJob): Promise<FetchedSweep> {
  const units = await unitsOf(id, job);
  const records: FetchedRecord[] = [];
  const unshown: string[] = [];
  for (const [at, { unitId }] of units.entries()) {
    job.tell(`[${String(at + 1)}/${String(units.length)}] ${unitId}`);
    const fetched = await fetchUnit(unitId, job);
    records.push(...fetched.records);
    unshown.push(...fetched.unshown);
  }
  // Parts of files that are still to come stay for the next time.
  await rmdir(path.join(job.folder, PARTS)).catch(() => undefined);
  return { records, unshown, units: units.length, openUnits: units.filter(({ isOpen }) => isOpen).length };
}

async function unitsOf(
  id: string,
  { client }: FetchJob,
): Promise<readonly { readonly unitId: string; readonly isOpen: boolean }[]> {
  if (!isSweepId(id)) {
    const unit = await client.call('getUnit', { params: { unitId: id }, query: { limit: 1 } });
    return [{ unitId: unit.unitId, isOpen: unit.class === 'open' }];
  }
  const units = await allPages(
    client,
    async (query) => await client.call('listUnits', { params: { sweepId: id }, query }),
  );
  return units.map(({ unitId, class: ledgerClass }) => ({ unitId, isOpen: ledgerClass === 'open' }));
}

const ListedFilesSchema = z.object({ files: z.array(z.object({ path: z.string() })) });

/** What records list and the host did not show: files that only other roles may see. */
export function missingFiles(records: readonly FetchedRecord[]): readonly string[] {
  return records.flatMap(({ attemptId, folder, files, hasRecord, damaged }) => {
    if (!hasRecord) return [`${attemptId}: the host shows no record.json to you; nothing of it can be verified`];
    const listed = ListedFilesSchema.parse(JSON.parse(readFileSync(path.join(folder, 'record.json'), 'utf8'))).files
      .length;
    const missing = listed + 1 - files - damaged.length;
    return missing <= 0
      ? []
      : [
          `${attemptId}: ${String(missing)} files of its record are not shown to you (cost.json needs role finance or admin); \`examhall verify\` will call them missing`,
        ];
  });
}
