import type { ApiCode } from './api-status.ts';

/** One thing that is wrong with a request. `path` begins with `body`, `query`, `header` or `path`. */
export interface RequestProblem {
  readonly path: string;
  readonly message: string;
}

/** Why the API does not do what it was asked; `name` decides the status. All that is wrong comes at once. */
export class ApiRefusal extends Error {
  override readonly name: ApiCode;
  readonly problems: readonly RequestProblem[];

  constructor(code: ApiCode, detail: string, problems: readonly RequestProblem[] = []) {
    super(detail);
    this.name = code;
    this.problems = problems;
  }
}

/** @throws ApiRefusal RequestRefusedError (422) when there is a problem. */
export function refuseIfAny(problems: readonly RequestProblem[]): void {
  const [first, ...others] = problems;
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` (and ${String(others.length)} more, see problems)`;
  throw new ApiRefusal('RequestRefusedError', `${first.path}: ${first.message}${more}`, problems);
}
