import { type ConfigReader, isMapping } from './config-reader.ts';
import { type LocatedProblem, type Location, problemAt, type ValuePath } from './located.ts';

/** One task of an experiment and which of its variants to run. */
export interface TaskSelection {
  /** `<domain>/<task>` */
  readonly path: string;
  readonly variants: readonly number[];
  readonly at: Location;
  /** Where each variant is written, in the order of `variants`. */
  readonly variantsAt: readonly Location[];
}

const pathRule = '<domain>/<task>, relative to the tasks folder';

/** A `.txt` list: one path a line, `#` starts a comment anywhere, always variant 0. Nothing is substituted in it. */
export function readTaskLines(text: string, file: string): { tasks: TaskSelection[]; problems: LocatedProblem[] } {
  const tasks: TaskSelection[] = [];
  const problems: LocatedProblem[] = [];
  for (const [index, line] of text.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/).entries()) {
    const before = (line.split('#', 1)[0] ?? '').trimEnd();
    const path = before.trim();
    if (path === '') continue;
    const at = { file, line: index + 1, column: before.length - before.trimStart().length + 1 };
    const fault = pathFault(path);
    if (fault === null) tasks.push({ path: tidy(path), variants: [0], at, variantsAt: [at] });
    else
      problems.push(
        problemAt(at, { what: fault, got: JSON.stringify(path), allowed: pathRule, action: lineAction(path) }),
      );
  }
  return { tasks, problems };
}

/** The entries of a YAML list, a file of its own or inline below `path`. */
export function readTaskEntries(reader: ConfigReader, path: ValuePath = []): TaskSelection[] {
  const value = reader.get(path);
  if (!Array.isArray(value)) {
    reader.fail(path, {
      what: 'the task list is not a list',
      allowed: 'a list of {path, variants} entries',
      action: 'write each task as "- path: <domain>/<task>"',
    });
    return [];
  }
  return value.flatMap((_, index) => readEntry(reader, [...path, index]) ?? []);
}

function readEntry(reader: ConfigReader, path: ValuePath): TaskSelection | null {
  if (!isMapping(reader.get(path))) {
    reader.fail(path, {
      what: 'a task entry is not a mapping',
      allowed: '{path, variants}',
      action: 'write it as "- path: <domain>/<task>"',
    });
    return null;
  }
  reader.onlyKeys(path, ['path', 'variants'], 'the task entry');
  const variants = readVariants(reader, [...path, 'variants']);
  const taskPath = readPath(reader, [...path, 'path']);
  if (taskPath === null) return null;
  const at = reader.source.locate([...path, 'path']);
  const variantsAt = variants.map((_, index) =>
    reader.has([...path, 'variants']) ? reader.source.locate([...path, 'variants', index]) : at,
  );
  return { path: taskPath, variants, at, variantsAt };
}

function readPath(reader: ConfigReader, path: ValuePath): string | null {
  const before = reader.problems.length;
  const text = reader.text(path, pathRule);
  if (text === null) {
    if (reader.problems.length === before) reader.missing(path, pathRule, 'add "path: <domain>/<task>" to the entry');
    return null;
  }
  const fault = pathFault(text);
  if (fault === null) return tidy(text);
  reader.fail(path, { what: fault, allowed: pathRule, action: 'name the task as `examhall list` prints it' });
  return null;
}

function readVariants(reader: ConfigReader, path: ValuePath): readonly number[] {
  if (!reader.has(path)) return [0];
  const value = reader.get(path);
  if (Array.isArray(value) && value.length > 0 && value.every(isVariant)) return value;
  reader.fail(path, {
    what: '"variants" is not a list of variant indices',
    allowed: 'a non-empty list of whole numbers 0 or more',
    action: 'write it as [0, 1], or remove it for variant 0',
  });
  return [];
}

function isVariant(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** What makes a text no task path, or null. */
function pathFault(path: string): string | null {
  const segments = tidy(path).split('/');
  if (path.startsWith('/')) return 'a task path is absolute';
  if (/[\0-\x1f\\]/.test(path)) return 'a task path has a backslash or control character';
  if (segments.some((segment) => segment === '..' || segment === '.' || segment === ''))
    return 'a task path has an empty, "." or ".." part';
  return segments.length < 2 ? 'a task path has no domain' : null;
}

/** Without trailing slashes, which mean nothing. */
function tidy(path: string): string {
  return path.replace(/\/+$/, '');
}

function lineAction(path: string): string {
  return path.includes('${env:')
    ? 'write it out: nothing is substituted in .txt lists (use a .yaml list for that)'
    : 'write one <domain>/<task> a line, as `examhall list` prints it';
}
