import { readFile } from 'node:fs/promises';
import type * as z from 'zod';
import { ExamHallError, type ErrorName } from '#core/errors';

/** Reads a JSON file of an author. @throws the named error, with the file and each problem. */
export async function readJsonFile(file: string, errorName: ErrorName): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ExamHallError(errorName, `${file} cannot be read: ${reason}`, { file }, error);
  }
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ExamHallError(errorName, `${file} is no JSON: ${reason}`, { file }, error);
  }
}

/** Checks a value read from a file. @throws the named error, with one line per problem. */
export function checkFile<Output>(
  file: string,
  value: unknown,
  { schema, errorName }: { readonly schema: z.ZodType<Output>; readonly errorName: ErrorName },
): Output {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const lines = parsed.error.issues.map(({ path, message }) => `${file}: ${path.join('.') || 'the file'}: ${message}`);
  throw new ExamHallError(errorName, lines.join('\n'), { file });
}
