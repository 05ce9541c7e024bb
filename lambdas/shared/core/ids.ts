/** Ids of sweeps, units, attempts and jobs. All are made of `A-Za-z0-9_.-` and safe in keys, tags and file names. */

export interface UnitIdentity {
  readonly agentSlug: string;
  readonly modelSlug: string;
  readonly taskSlug: string;
  readonly variant: number;
  /** 1-based. */
  readonly trial: number;
}

/** Slug-safe sweep id of an experiment on one computer: stable over runs, so that attempts go on counting. */
export function localSweepId(experimentName: string): string {
  const safe = experimentName
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_-]+/gu, '-')
    .replace(/^-+|-+$/gu, '')
    .slice(0, 48);
  if (safe === experimentName && safe !== '') return safe;
  return `${safe === '' ? 'x' : safe}-${codeOf(experimentName)}`;
}

function codeOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  return hash.toString(36).padStart(7, '0');
}

/** `<sweepId>__<agent>__<model>__<task>__v<i>`, and `__t<nnn>` after the first trial. */
export function unitId(sweepId: string, unit: UnitIdentity): string {
  const base = [sweepId, unit.agentSlug, unit.modelSlug, unit.taskSlug, `v${String(unit.variant)}`].join('__');
  return unit.trial === 1 ? base : `${base}__t${String(unit.trial).padStart(3, '0')}`;
}

/** `<unitId>.<n>`, n from 1. */
export function attemptId(unit: string, attempt: number): string {
  return `${unit}.${String(attempt)}`;
}

/** @throws TypeError when the text is not an attempt id. */
export function parseAttemptId(id: string): { readonly unitId: string; readonly attempt: number } {
  const match = /^(.+)\.([1-9]\d*)$/u.exec(id);
  const unit = match?.[1];
  const attempt = match?.[2];
  if (unit === undefined || attempt === undefined) {
    throw new TypeError(`not an attempt id: ${JSON.stringify(id)}; expected <unitId>.<n> with n from 1`);
  }
  return { unitId: unit, attempt: Number(attempt) };
}

export type JobPurpose = 'stage' | 'run' | 'collect';

/** `<attemptId>~<purpose>`, and `.<n>` from the second try on; an event that names the job names its attempt. */
export function jobId(attempt: string, purpose: JobPurpose, tryNumber = 1): string {
  return `${attempt}~${purpose}${tryNumber === 1 ? '' : `.${String(tryNumber)}`}`;
}

/** @throws TypeError when the text is not a job id. */
export function parseJobId(id: string): { readonly attemptId: string; readonly purpose: JobPurpose } {
  const match = /^(.+)~(stage|run|collect)(?:\.[1-9]\d*)?$/u.exec(id);
  const attempt = match?.[1];
  const purpose = match?.[2];
  if (attempt === undefined || (purpose !== 'stage' && purpose !== 'run' && purpose !== 'collect')) {
    throw new TypeError(`not a job id: ${JSON.stringify(id)}; expected <attemptId>~stage|run|collect[.<try>]`);
  }
  return { attemptId: attempt, purpose };
}

/** `<attemptId>.g<n>`: one grading of one attempt. */
export function gradeId(attempt: string, number: number): string {
  return `${attempt}.g${String(number)}`;
}

/** A service of a task, or the transfer that brings its code; neither is ever waited for by an event. */
export function serviceJobId(attempt: string, part: 'service' | 'service-code', name: string): string {
  return `${attempt}~${part}-${name}`;
}
