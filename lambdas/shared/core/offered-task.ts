import {
  solutionFilesPrefix,
  TASK_LIMITS,
  taskFilesPrefix,
  type PublishedFile,
  type PublishedReferences,
  type PublishedSolutions,
  type PublishedTask,
  type PublishedVariant,
} from './catalog.ts';
import type { RequestProblem } from './api-refusal.ts';
import { canonicalJson } from './canonical-json.ts';
import { formatProblem } from './located.ts';
import { fileProblems, type OfferedFile } from './offered-files.ts';
import { readTaskCard } from './task-card.ts';
import { revisionText, type RevisionRecord } from './task-revision.ts';

type Sha256 = (content: string) => string;

/** A task revision as a publisher offers it. */
export interface OfferedTask {
  readonly task: PublishedTask;
  readonly references: PublishedReferences;
  readonly solutions: PublishedSolutions;
  /** Every file of the task's folder, published or not. */
  readonly source: readonly RevisionRecord[];
}

/** Folders of a task's folder whose files are published, by variant. */
const FILED = ['input', 'software', 'reference', 'solution'] as const;
type FiledKind = (typeof FILED)[number];

/** What of a task is data that `load` returned or its card says. */
type Description = Pick<PublishedTask, 'card' | 'hasStart'> & {
  readonly variants: readonly Pick<PublishedVariant, 'name' | 'prompt' | 'metadata'>[];
};

/**
 * The revision of a task: over every file of its folder, its compiled code, which also depends on the grading library, and
 * what `load` returned. So all that a manifest says follows from it.
 */
export function taskRevision(
  { source, modules }: { readonly source: readonly RevisionRecord[]; readonly modules: readonly RevisionRecord[] },
  { card, hasStart, variants }: Description,
  sha256: Sha256,
): string {
  const said = variants.map(({ name, prompt, metadata }) => ({ name, prompt, metadata }));
  const value = sha256(canonicalJson({ card, hasStart, variants: said }));
  const records: RevisionRecord[] = [...source, ...modules, { path: 'task.mjs', kind: 'loaded', value }];
  return `sha256:${sha256(revisionText(records))}`;
}

/** Every file of an offered task; solutions lie apart from what agents may see, references in a bucket of their own. */
export function offeredTaskFiles({ task, references, solutions }: OfferedTask): readonly OfferedFile[] {
  const { taskId, revision } = task;
  const keyPrefix = taskFilesPrefix(taskId, revision);
  const compiled = (place: string, file: PublishedFile, suffix: string): OfferedFile => ({
    place: `body.task.${place}`,
    bucket: 'tasks',
    keyPrefix,
    suffix,
    name: suffix.split('/').at(-1) ?? suffix,
    file,
    record: { path: suffix, kind: 'module', value: file.sha256 },
  });
  return [
    compiled('module', task.module, 'task.mjs'),
    ...Object.entries(task.services).map(([name, file]) => compiled(`services.${name}`, file, `services/${name}.mjs`)),
    ...task.variants.flatMap(({ name, input, software }, at) => {
      const variant = { name, place: `body.task.variants[${String(at)}]`, bucket: 'tasks', keyPrefix } as const;
      return [...filed(variant, 'input', input), ...filed(variant, 'software', software)];
    }),
    ...references.variants.flatMap(({ name, reference }, at) => {
      const place = `body.references.variants[${String(at)}]`;
      return filed({ name, place, bucket: 'references', keyPrefix }, 'reference', reference);
    }),
    ...solutions.variants.flatMap(({ name, solution }, at) => {
      const place = `body.solutions.variants[${String(at)}]`;
      const solutionPrefix = solutionFilesPrefix(taskId, revision);
      return filed({ name, place, bucket: 'tasks', keyPrefix: solutionPrefix }, 'solution', solution);
    }),
  ];
}

interface Filing {
  readonly name: string;
  readonly place: string;
  readonly bucket: 'tasks' | 'references';
  readonly keyPrefix: string;
}

function filed(filing: Filing, kind: FiledKind, files: readonly PublishedFile[]): readonly OfferedFile[] {
  const { name, bucket, keyPrefix, place } = filing;
  return files.map((file, at): OfferedFile => {
    const common = { place: `${place}.${kind}[${String(at)}]`, bucket, keyPrefix, file };
    // One script may stand for the solution of every variant without files of its own.
    if (kind === 'solution' && file.key === `${keyPrefix}solve.mjs`) {
      return {
        ...common,
        suffix: 'solve.mjs',
        name: 'solve.mjs',
        record: { path: 'solve.mjs', kind: 'module', value: file.sha256 },
      };
    }
    const record = { kind: file.executable ? 'executable' : 'file', value: file.sha256 } as const;
    return {
      ...common,
      name: null,
      suffix: `${name}/${kind}/${file.path}`,
      record: { ...record, path: `${kind}/${name}/${file.path}` },
    };
  });
}

/** Everything that is wrong with an offered task; a revision that its content does not have is. */
export function taskProblems(offer: OfferedTask, sha256: Sha256): readonly RequestProblem[] {
  const files = offeredTaskFiles(offer);
  const problems = [
    ...fileProblems(files),
    ...identityProblems(offer),
    ...variantProblems(offer),
    ...sourceProblems(offer, files),
  ];
  const card = readTaskCard(offer.task.card).problems;
  problems.push(...card.map((problem) => ({ path: 'body.task.card', message: formatProblem(problem) })));
  const modules = new Map(
    files.filter(({ record }) => record.kind === 'module').map(({ record }) => [record.path, record]),
  );
  const revision = taskRevision({ source: offer.source, modules: [...modules.values()] }, offer.task, sha256);
  if (offer.task.revision !== revision)
    problems.push({ path: 'body.task.revision', message: `is not the revision of what is offered, ${revision}` });
  return problems;
}

function identityProblems({ task, references, solutions }: OfferedTask): readonly RequestProblem[] {
  return Object.entries({ references, solutions }).flatMap(([place, { taskId, revision }]) => [
    ...(taskId === task.taskId ? [] : [{ path: `body.${place}.taskId`, message: `must be ${task.taskId}` }]),
    ...(revision === task.revision ? [] : [{ path: `body.${place}.revision`, message: `must be ${task.revision}` }]),
  ]);
}

function variantProblems({ task, references, solutions }: OfferedTask): readonly RequestProblem[] {
  const problems: RequestProblem[] = [];
  const names = task.variants.map(({ name }) => name);
  if (names.length > TASK_LIMITS.variants) {
    const message = `are ${String(names.length)}; at most ${String(TASK_LIMITS.variants)} are allowed: split the task`;
    problems.push({ path: 'body.task.variants', message });
  }
  if (new Set(names).size < names.length) problems.push({ path: 'body.task.variants', message: 'have a name twice' });
  for (const [place, { variants }] of Object.entries({ references, solutions })) {
    const own = variants.map(({ name }) => name);
    if (own.length !== names.length || own.some((name, at) => name !== names[at]))
      problems.push({ path: `body.${place}.variants`, message: 'must be those of the task, in the same order' });
  }
  task.variants.forEach(({ name, index, hasReference, hasSolution }, at) => {
    const place = `body.task.variants[${String(at)}]`;
    if (name.length > TASK_LIMITS.variantNameLength) {
      const message = `has ${String(name.length)} characters; at most ${String(TASK_LIMITS.variantNameLength)} are allowed`;
      problems.push({ path: `${place}.name`, message });
    }
    if (index !== at) problems.push({ path: `${place}.index`, message: `must be ${String(at)}, its place` });
    if (hasReference !== (references.variants[at]?.reference ?? []).length > 0)
      problems.push({ path: `${place}.hasReference`, message: 'does not fit the references' });
    if (hasSolution !== (solutions.variants[at]?.solution ?? []).length > 0)
      problems.push({ path: `${place}.hasSolution`, message: 'does not fit the solutions' });
  });
  return problems;
}

/** What is published must be what lies in the folder, and all of it. */
function sourceProblems({ source }: OfferedTask, files: readonly OfferedFile[]): readonly RequestProblem[] {
  const problems: RequestProblem[] = [];
  const records = new Map<string, RevisionRecord>();
  for (const [at, record] of source.entries()) {
    if (records.has(record.path)) problems.push({ path: `body.source[${String(at)}].path`, message: 'is there twice' });
    records.set(record.path, record);
  }
  const published = new Set<string>();
  for (const { place, record } of files) {
    if (record.kind === 'module') continue;
    published.add(record.path);
    const own = records.get(record.path);
    if (own?.kind === record.kind && own.value === record.value) continue;
    problems.push({ path: place, message: `is not what source says of ${JSON.stringify(record.path.slice(0, 200))}` });
  }
  for (const [at, { path }] of source.entries()) {
    const [folder, variant, ...rest] = path.split('/');
    if (!FILED.some((kind) => kind === folder) || variant === undefined || rest.length === 0) continue;
    if (published.has(path)) continue;
    problems.push({
      path: `body.source[${String(at)}]`,
      message: `${JSON.stringify(path.slice(0, 200))} is not published`,
    });
  }
  return problems;
}
