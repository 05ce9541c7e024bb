import type * as z from 'zod';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import type { VARIABLES, VariableName } from '#contracts/variables';
import { ExamHallError } from '#core/errors';

export type AwsEnvironment = { readonly [Name in VariableName]?: z.output<(typeof VARIABLES)[Name]> };

/**
 * The variables of one function, out of all that its process has: those named `EXAMHALL_*` must be exactly the declared
 * ones.
 * @throws EnvironmentInvalidError naming each problem.
 */
export function readAwsEnvironment(
  { name, env: schema }: Pick<FunctionDeclaration, 'name' | 'env'>,
  env: Readonly<Record<string, string | undefined>>,
): AwsEnvironment {
  const own = Object.entries(env).filter(([key, value]) => key.startsWith('EXAMHALL_') && value !== undefined);
  const parsed = schema.safeParse(Object.fromEntries(own));
  if (parsed.success) return parsed.data as AwsEnvironment;
  const problems = parsed.error.issues.map(describeIssue);
  const message = `the environment of ${name} is not what it declares; ${problems.join('; ')}; deploy it again`;
  throw new ExamHallError('EnvironmentInvalidError', message, { problems });
}

function describeIssue({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`;
}
