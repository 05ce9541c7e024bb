import type { Grade } from './grade.ts';
import { maskSecrets } from './mask-secrets.ts';
import { toSeconds } from './run-tree.ts';
import { taskSlug } from './slugs.ts';
import {
  evalStatusOf,
  scoreOf,
  unitStatusOf,
  type AttemptEnd,
  type EvalStatus,
  type Phase,
  type UnitStatus,
} from './status.ts';
import { terminationOf, type Termination, type TerminationError } from './termination.ts';
import type { FinalMetrics } from './trajectory.ts';

/** Upstream's `run.json`, schema version 2. */
export interface RunJson {
  readonly schema_version: 2;
  readonly run_id: string;
  readonly timestamp_utc: string;
  readonly agent: {
    readonly id: string;
    readonly class: string;
    readonly name: string;
    readonly version: string | null;
    readonly model: string | null;
    readonly executor: string;
    readonly config_repr: Readonly<Record<string, unknown>>;
  };
  readonly task: {
    readonly slug: string;
    readonly path: string;
    readonly variant_index: number;
    readonly revision: string | null;
  };
  readonly environment: Readonly<Record<string, unknown>>;
  readonly status: UnitStatus;
  readonly score: number | null;
  readonly termination: Termination;
  readonly timings: { readonly duration_s: number | null };
  readonly usage: FinalMetrics | null;
}

/** Upstream's `eval_result.json`. */
export interface EvalResult {
  readonly eval_status: EvalStatus;
  readonly score: number | null;
  readonly eval_duration_s: number | null;
  readonly error: TerminationError | null;
}

export interface RunJsonInput {
  readonly runId: string;
  /** ISO-8601 UTC of writing. */
  readonly at: string;
  readonly agent: {
    readonly id: string;
    /** Upstream's dotted class, or the harness where there is none. */
    readonly class: string;
    readonly name: string;
    readonly version: string | null;
    readonly model: string | null;
    readonly executor: string;
    /** Unmasked; what looks like a secret is masked on the way. */
    readonly config: Readonly<Record<string, unknown>>;
  };
  readonly task: { readonly path: string; readonly variant: number; readonly revision: string | null };
  readonly environment: {
    readonly provider: string;
    readonly snapshot: string;
    readonly image: string;
    readonly imageRevision: string | null;
    readonly network: string;
    readonly privilege: string;
  };
  readonly end: AttemptEnd;
  /** Where the attempt ended; ignored for a completed one. */
  readonly phase: Phase | null;
  readonly error: TerminationError | null;
  /** From the granted slot to the start of the evaluation; null when it did not come to that. */
  readonly durationSeconds: number | null;
  readonly usage: FinalMetrics | null;
}

export function buildRunJson(input: RunJsonInput): RunJson {
  const status = unitStatusOf(input.end);
  const { config, ...agent } = input.agent;
  const { environment } = input;
  return {
    schema_version: 2,
    run_id: input.runId,
    timestamp_utc: toSeconds(input.at),
    agent: { ...agent, config_repr: maskSecrets(config) },
    task: {
      slug: taskSlug(input.task.path),
      path: `tasks/${input.task.path}`,
      variant_index: input.task.variant,
      revision: input.task.revision,
    },
    environment: {
      provider: environment.provider,
      snapshot: environment.snapshot,
      image: environment.image,
      image_revision: environment.imageRevision,
      network: environment.network,
      privilege: environment.privilege,
    },
    status,
    score: scoreOf(input.end.grade),
    termination: terminationOf(status, input.phase, input.error, errorTextOf(input)),
    timings: { duration_s: hundredths(input.durationSeconds) },
    usage: input.usage,
  };
}

/** Upstream classes the text of the first thing that went wrong: the error, the agent's message, the evaluation's. */
function errorTextOf({ error, end }: RunJsonInput): string | null {
  if (error !== null) return error.message;
  return end.outcome?.message ?? (end.grade?.kind === 'ungraded' ? end.grade.message : null);
}

/** `error` is there only when the evaluation itself ran and failed. */
export function buildEvalResult(grade: Grade | null, durationSeconds: number | null): EvalResult {
  const status = evalStatusOf(grade);
  const failed = grade?.kind === 'ungraded' && status !== 'not_executed';
  return {
    eval_status: status,
    score: scoreOf(grade),
    eval_duration_s: hundredths(durationSeconds),
    error: failed ? { type: grade.reason, message: grade.message, traceback: grade.message } : null,
  };
}

/** The text of a file of ours: two spaces of indentation and a line feed at the end. */
export function jsonFile(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function hundredths(seconds: number | null): number | null {
  return seconds === null ? null : Math.round(seconds * 100) / 100;
}
