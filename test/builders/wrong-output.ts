import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';

const EditSchema = z.union([
  z.strictObject({ file: z.string(), find: z.string(), replace: z.string() }),
  z.strictObject({ file: z.string(), pointer: z.string(), set: z.json() }),
  z.strictObject({ file: z.string(), pointer: z.string(), remove: z.literal(true) }),
  z.strictObject({ file: z.string(), pointer: z.string(), copy: z.string() }),
  z.strictObject({ file: z.string(), line: z.int().positive(), times: z.int().nonnegative() }),
  z.strictObject({ file: z.string(), delete: z.literal(true) }),
  z.strictObject({ file: z.string(), rename: z.string() }),
]);

/** `wrong.json`: an output folder that is wrong, the score it must get, and why. */
export const WrongCaseSchema = z.strictObject({
  score: z.number().min(0).lt(1),
  why: z.string().min(20),
  /** Where the output starts from: the files beside `wrong.json`, the solution's output, or a folder of the input. */
  from: z.enum(['files', 'solution', 'input']).default('files'),
  folder: z.string().optional(),
  edits: z.array(EditSchema).default([]),
});

export type WrongCase = z.infer<typeof WrongCaseSchema>;

interface Sources {
  /** Folder of the case. */
  readonly wrong: string;
  readonly solution: string;
  readonly input: string;
}

/** Builds the output folder of a wrong case at `target`. An edit that changes nothing is an error. */
export async function buildWrongOutput(wrongCase: WrongCase, sources: Sources, target: string): Promise<void> {
  const from = {
    files: sources.wrong,
    solution: sources.solution,
    input: path.join(sources.input, wrongCase.folder ?? ''),
  }[wrongCase.from];
  await mkdir(target, { recursive: true });
  await cp(from, target, { recursive: true, filter: (file) => path.basename(file) !== 'wrong.json' });
  for (const edit of wrongCase.edits) await applyEdit(edit, target);
}

async function applyEdit(edit: WrongCase['edits'][number], target: string): Promise<void> {
  const file = path.join(target, edit.file);
  if ('delete' in edit) return rm(file);
  if ('rename' in edit) return rename(file, path.join(target, edit.rename));
  const before = await readFile(file, 'utf8');
  const after = editText(before, edit);
  if (after === before) throw new Error(`the edit of ${edit.file} changes nothing: ${JSON.stringify(edit)}`);
  await writeFile(file, after);
}

function editText(
  text: string,
  edit: Exclude<WrongCase['edits'][number], { delete: true } | { rename: string }>,
): string {
  if ('find' in edit) return replaceOnce(text, edit);
  return 'line' in edit ? repeatLine(text, edit) : editJson(text, edit);
}

/** Writes line number `line` (from 1) `times` times instead of once. */
function repeatLine(text: string, edit: { readonly line: number; readonly times: number }): string {
  return text
    .split('\n')
    .flatMap((line, index) => Array.from({ length: index + 1 === edit.line ? edit.times : 1 }, () => line))
    .join('\n');
}

function replaceOnce(
  text: string,
  edit: { readonly file: string; readonly find: string; readonly replace: string },
): string {
  const pieces = text.split(edit.find);
  if (pieces.length !== 2)
    throw new Error(`${JSON.stringify(edit.find)} occurs ${pieces.length - 1} times in ${edit.file}`);
  return pieces.join(edit.replace);
}

interface JsonEdit {
  readonly pointer: string;
  readonly set?: unknown;
  readonly remove?: true;
  readonly copy?: string;
}

/** Sets, removes or copies the member that a JSON pointer (RFC 6901) names; the parent must exist. */
function editJson(text: string, edit: JsonEdit): string {
  const document: unknown = JSON.parse(text);
  const value = edit.copy === undefined ? edit.set : memberOf(document, namesOf(edit.copy));
  const names = namesOf(edit.pointer);
  const last = names.pop();
  if (last === undefined) return `${JSON.stringify(value, null, 2)}\n`;
  const parent = memberOf(document, names);
  if (edit.remove === true) Reflect.deleteProperty(parent, last);
  else parent[last] = value;
  return `${JSON.stringify(document, null, 2)}\n`;
}

const namesOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

function memberOf(document: unknown, names: readonly string[]): Record<string, unknown> {
  let member: unknown = document;
  for (const name of names) member = (member as Record<string, unknown>)[name];
  return member as Record<string, unknown>;
}
