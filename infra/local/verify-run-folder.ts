import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { RECORD_CHECKS } from '#contracts/schema-files';
import { RUN_FILES } from '#core/run-tree';
import { verifyRecord, type RecordProblem, type VerifyReader } from '#core/verify';

/** Checks a run folder against its own record. A folder without a readable record has one problem: that. */
export async function verifyRunFolder(folder: string, expectedSha256?: string): Promise<readonly RecordProblem[]> {
  let text: string;
  try {
    text = await readFile(path.join(folder, RUN_FILES.record), 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [{ path: RUN_FILES.record, kind: 'missing', message: `cannot be read: ${why}` }];
  }
  const options = {
    sha256: sha256Of,
    checks: RECORD_CHECKS,
    ...(expectedSha256 === undefined ? {} : { expectedRecordSha256: expectedSha256 }),
  };
  return await verifyRecord(text, readerOf(folder), options);
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function readerOf(folder: string): VerifyReader {
  return {
    list: async () => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      const found = [];
      for (const entry of entries) {
        if (entry.isDirectory()) continue;
        const full = path.join(entry.parentPath, entry.name);
        found.push({ path: path.relative(folder, full).split(path.sep).join('/'), size: (await lstat(full)).size });
      }
      return found;
    },
    sha256: async (file) => {
      const hash = createHash('sha256');
      await pipeline(createReadStream(path.join(folder, file)), hash);
      return hash.digest('hex');
    },
    readText: async (file) => await readFile(path.join(folder, file), 'utf8'),
  };
}
