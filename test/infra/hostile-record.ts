import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RecordSchema } from '#contracts/record-schema';
import type { RunRecord } from '#core/record';
import type { AttemptRow } from '#core/rows';
import type { RecordProblem } from '#core/verify';
import { verifyRunFolder } from '#local/verify-run-folder';

/** A record as somebody who fetched it has it. */
export interface FetchedRecord {
  readonly record: RunRecord;
  /** What `examhall verify` finds wrong. */
  readonly problems: readonly RecordProblem[];
  /** A file that the record names by its hash. @throws Error when it names none, or several. */
  text(ending: string): string;
}

/** Brings an attempt's run folder to disk, and checks it as `examhall verify` does against the hash that the row holds. */
export async function fetchRecord(
  files: ReadonlyMap<string, Buffer>,
  { runDir, recordSha256 }: Pick<AttemptRow, 'runDir' | 'recordSha256'>,
): Promise<FetchedRecord> {
  if (runDir === null || recordSha256 === null) throw new Error('the attempt has no record');
  const mine = [...files].filter(([file]) => file.startsWith(`${runDir}/`));
  const texts = new Map(mine.map(([file, content]) => [file.slice(runDir.length + 1), content.toString('utf8')]));
  const folder = await mkdtemp(path.join(tmpdir(), 'examhall-fetched-'));
  try {
    for (const [file, content] of mine) {
      const target = path.join(folder, file.slice(runDir.length + 1));
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, content);
    }
    const problems = await verifyRunFolder(folder, recordSha256);
    const record = RecordSchema.parse(JSON.parse(texts.get('record.json') ?? ''));
    const text = (ending: string): string => {
      const found = record.files.filter((file) => file.path.endsWith(ending));
      const [only] = found;
      if (only === undefined || found.length > 1)
        throw new Error(`the record names ${String(found.length)} files that end in ${ending}`);
      return texts.get(only.path) ?? '';
    };
    return { record, problems, text };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
