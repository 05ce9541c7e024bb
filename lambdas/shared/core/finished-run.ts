/** What a run folder says of a run that has ended. */
export interface FinishedRunFacts {
  readonly status: string;
  readonly revision: string | null;
  readonly score: number | null;
  readonly ledgerClass: string | null;
}

/**
 * Reads a folder's `run.json` and `record.json`, null for one that is absent. Null when the run has not ended: upstream's
 * own runs have no record, but one that is there and cannot be read proves nothing.
 */
export function readFinishedRun(runText: string | null, recordText: string | null): FinishedRunFacts | null {
  const run = parseObject(runText);
  if (run === null || typeof run['status'] !== 'string') return null;
  const record = parseObject(recordText);
  if (record === null && recordText !== null) return null;
  const task = run['task'];
  const revision = isObject(task) && typeof task['revision'] === 'string' ? task['revision'] : null;
  const score = typeof run['score'] === 'number' ? run['score'] : null;
  const ledgerClass = typeof record?.['ledgerClass'] === 'string' ? record['ledgerClass'] : null;
  return { status: run['status'], revision, score, ledgerClass };
}

function parseObject(text: string | null): Readonly<Record<string, unknown>> | null {
  if (text === null) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
