import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { CliEnd } from './cli-process.ts';

/** A unit as `examhall run --json` gives it. */
export interface UnitOutput {
  readonly unitId: string;
  readonly agent: string;
  readonly task: string;
  readonly variant: number;
  readonly class: string;
  readonly notRunReason: string | null;
  readonly status: string;
  readonly score: number | null;
  readonly attempts: number;
  readonly durationSeconds: number | null;
  readonly runDir: string | null;
}

export interface RunOutput {
  readonly experiment: string;
  readonly output: string;
  readonly report: string;
  readonly executionStatus: string;
  readonly error: string | null;
  readonly skippedUnits: number;
  readonly units: readonly UnitOutput[];
}

/** What a run printed under `--json`: one object on one line and nothing else. @throws with what it said instead. */
export function runOutput({ code, stdout, stderr }: CliEnd): RunOutput {
  if (/^\{.*\}\n$/u.test(stdout)) return JSON.parse(stdout) as RunOutput;
  throw new Error(
    `no JSON on standard output but ${JSON.stringify(stdout)}; exit code ${String(code)}; it said: ${stderr}`,
  );
}

/** The unit of an agent and task. @throws when there is not exactly one. */
export function unitOf({ units }: RunOutput, agent: string, task: string, variant = 0): UnitOutput {
  const found = units.filter((unit) => unit.agent === agent && unit.task === task && unit.variant === variant);
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${String(found.length)} units of ${agent} on ${task}`);
  return only;
}

export interface RecordFile {
  readonly outcome: {
    readonly kind: string;
    readonly exitCode: number | null;
    readonly message: string | null;
  } | null;
  readonly grade: {
    readonly kind: string;
    readonly blame?: string;
    readonly message?: string;
    readonly reason?: string;
  } | null;
  readonly verdict: { readonly blame: string; readonly signatureId: string; readonly retry: boolean };
  readonly error: { readonly name: string; readonly message: string } | null;
  readonly ledgerClass: string;
  readonly isolation: { readonly kind: string } | null;
  readonly files: readonly { readonly path: string; readonly sha256: string }[];
}

/** The record of a unit's run. */
export function recordOf({ output }: RunOutput, { runDir, unitId }: UnitOutput): RecordFile {
  if (runDir === null) throw new Error(`${unitId} has no run folder`);
  return JSON.parse(readFileSync(path.join(output, runDir, 'record.json'), 'utf8')) as RecordFile;
}
