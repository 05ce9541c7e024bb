import { recordSha256Of, recordText, type RecordedFile, type Sha256 } from './record.ts';
import { RUN_FILES } from './run-tree.ts';

/** What is wrong with which file. */
export interface RecordProblem {
  readonly path: string;
  readonly kind: 'missing' | 'added' | 'changed' | 'malformed' | 'inconsistent';
  readonly message: string;
}

/** A view of the run folder. `list` names everything in it that is not a folder, links and devices too, and follows none. */
export interface VerifyReader {
  list(): Promise<readonly { readonly path: string; readonly size: number }[]>;
  sha256(path: string): Promise<string>;
  readText(path: string): Promise<string>;
}

/** Says what is wrong with a value; nothing when it is fine. */
export type Check = (value: unknown) => readonly string[];

export interface VerifyOptions {
  readonly sha256: Sha256;
  readonly checks: {
    readonly record: Check;
    readonly run: Check;
    readonly evalResult: Check;
    readonly event: Check;
    readonly guiEvent: Check;
    readonly trajectory: Check;
    readonly cost: Check;
  };
  /** The hash the unit store or a report holds for this record: what proves that nobody rewrote the whole folder. */
  readonly expectedRecordSha256?: string;
}

/**
 * Checks a run folder against its record, offline. Every changed, missing or added file is named, `record.json` too; when the
 * record itself is not as written, it alone is named, since nothing it says can be trusted.
 */
export async function verifyRecord(
  recordJson: string,
  reader: VerifyReader,
  options: VerifyOptions,
): Promise<readonly RecordProblem[]> {
  const listed = await reader.list();
  const own = recordProblems(recordJson, listed, options);
  if (own.length > 0) return own;
  const record: unknown = JSON.parse(recordJson);
  const files = filesOf(record);
  const onDisk = new Map(listed.map((entry) => [entry.path, entry.size]));
  onDisk.delete(RUN_FILES.record);
  const problems: RecordProblem[] = [];
  const intact = new Set<string>();
  for (const file of files) {
    const problem = await fileProblem(file, onDisk.get(file.path), reader);
    onDisk.delete(file.path);
    if (problem === null) intact.add(file.path);
    else problems.push(problem);
  }
  for (const path of onDisk.keys()) {
    problems.push({ path, kind: 'added', message: 'is not in the record' });
  }
  problems.push(...(await contentProblems(record, intact, reader, options)));
  return problems;
}

function recordProblems(
  recordJson: string,
  listed: readonly { readonly path: string; readonly size: number }[],
  options: VerifyOptions,
): readonly RecordProblem[] {
  const path = RUN_FILES.record;
  const at = (kind: RecordProblem['kind'], message: string): RecordProblem[] => [{ path, kind, message }];
  const record = parseJson(recordJson);
  if (record === undefined) return at('malformed', 'is not JSON');
  const malformed = options.checks.record(record);
  if (malformed.length > 0) return malformed.flatMap((message) => at('malformed', message));
  if (recordText(record) !== recordJson) return at('changed', 'is not byte for byte as it was written');
  const entry = listed.find((each) => each.path === path);
  if (entry === undefined) return at('missing', 'is not in the folder that is checked');
  if (entry.size !== recordJson.length) {
    return at('changed', `has ${String(entry.size)} bytes, but ${String(recordJson.length)} were read`);
  }
  const fields = fieldsOf(record);
  const hash = recordSha256Of(fields, options.sha256);
  if (fields['recordSha256'] !== hash)
    return at('changed', `says recordSha256 ${String(fields['recordSha256'])}, its content has ${hash}`);
  if (options.expectedRecordSha256 !== undefined && options.expectedRecordSha256 !== hash) {
    return at('changed', `has recordSha256 ${hash}; expected is ${options.expectedRecordSha256}`);
  }
  return pathProblems(filesOf(record)).flatMap((message) => at('malformed', message));
}

/** A record may name each file once, below its own folder, and never itself. */
function pathProblems(files: readonly RecordedFile[]): readonly string[] {
  const seen = new Set<string>();
  return files.flatMap(({ path }) => {
    const parts = path.split('/');
    const leaves = parts.some((part) => part === '' || part === '.' || part === '..') || path === RUN_FILES.record;
    const twice = seen.has(path);
    seen.add(path);
    if (leaves) return [`names the file ${JSON.stringify(path)}, which is no path below the run folder`];
    return twice ? [`names the file ${JSON.stringify(path)} twice`] : [];
  });
}

async function fileProblem(
  file: RecordedFile,
  size: number | undefined,
  reader: VerifyReader,
): Promise<RecordProblem | null> {
  const { path } = file;
  if (size === undefined) return { path, kind: 'missing', message: 'is in the record but not in the folder' };
  if (size !== file.sizeBytes) {
    return { path, kind: 'changed', message: `has ${String(size)} bytes; the record says ${String(file.sizeBytes)}` };
  }
  const hash = await reader.sha256(path);
  if (hash === file.sha256) return null;
  return { path, kind: 'changed', message: `has sha256 ${hash}; the record says ${file.sha256}` };
}

/** Files that are as recorded must also be well formed, and tell the same story as the record. */
async function contentProblems(
  record: unknown,
  intact: ReadonlySet<string>,
  reader: VerifyReader,
  { checks }: VerifyOptions,
): Promise<readonly RecordProblem[]> {
  const problems: RecordProblem[] = [];
  const fields = fieldsOf(record);
  const grade = fieldsOf(fields['grade']);
  const score = grade['kind'] === 'graded' ? grade['score'] : null;
  const { runId, attemptId } = fieldsOf(fields['ids']);
  const told = {
    [RUN_FILES.run]: { check: checks.run, same: { run_id: runId, status: fields['status'], score } },
    [RUN_FILES.evalResult]: { check: checks.evalResult, same: { eval_status: fields['evalStatus'], score } },
    [RUN_FILES.trajectory]: { check: checks.trajectory, same: {} },
    [RUN_FILES.cost]: { check: checks.cost, same: { attemptId } },
  };
  for (const [path, { check, same }] of Object.entries(told)) {
    if (!intact.has(path)) continue;
    const value = parseJson(await reader.readText(path));
    problems.push(...valueProblems(path, value, check));
    for (const [key, expected] of Object.entries(same)) {
      const seen = fieldsOf(value)[key];
      if (seen === expected) continue;
      const message = `says ${key} ${JSON.stringify(seen)}; the record says ${JSON.stringify(expected)}`;
      problems.push({ path, kind: 'inconsistent', message });
    }
  }
  const lines = { [RUN_FILES.events]: checks.event, [RUN_FILES.guiEvents]: checks.guiEvent };
  for (const [path, check] of Object.entries(lines)) {
    if (!intact.has(path)) continue;
    problems.push(...lineProblems(path, await reader.readText(path), check, path === RUN_FILES.events ? runId : null));
  }
  return problems;
}

/** `runId`, where it is given, is what each line must name. */
function lineProblems(path: string, text: string, check: Check, runId: unknown): readonly RecordProblem[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') return [{ path, kind: 'malformed', message: 'does not end with a line feed' }];
  return lines.flatMap((line, index) => {
    const value = parseJson(line);
    const problems = valueProblems(path, value, check, `line ${String(index + 1)}: `);
    if (problems.length > 0 || runId === null || fieldsOf(value)['run_id'] === runId) return problems;
    return [{ path, kind: 'inconsistent', message: `line ${String(index + 1)}: belongs to another run` } as const];
  });
}

function valueProblems(path: string, value: unknown, check: Check, where = ''): RecordProblem[] {
  if (value === undefined) return [{ path, kind: 'malformed', message: `${where}is not JSON` }];
  return check(value).map((message) => ({ path, kind: 'malformed', message: `${where}${message}` }));
}

function filesOf(record: unknown): readonly RecordedFile[] {
  const files = fieldsOf(record)['files'];
  return Array.isArray(files) ? files.filter(isRecordedFile) : [];
}

function isRecordedFile(value: unknown): value is RecordedFile {
  const { path, sizeBytes, sha256 } = fieldsOf(value);
  return typeof path === 'string' && typeof sizeBytes === 'number' && typeof sha256 === 'string';
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
