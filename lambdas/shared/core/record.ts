import { canonicalJson, canonicalJsonText, type Json } from './canonical-json.ts';
import type { LedgerClass, NotRunReason } from './denominators.ts';
import type { Blame, Stage } from './errors.ts';
import type { Grade } from './grade.ts';
import type { GuiEventCounts } from './gui-event.ts';
import type { Outcome } from './outcome.ts';
import type { EvalStatus, UnitStatus } from './status.ts';

/** Version of `record.json`; a changed shape needs a new one and a reader for the old. */
export const RECORD_FORMAT_VERSION = 1;

/** What must be equal for two scores to be compared. */
export const LOCK_KEYS = [
  'code',
  'data',
  'image',
  'shape',
  'harness',
  'model',
  'limits',
  'network',
  'privilege',
  'grader',
  'promptSuffix',
  'retryRule',
] as const;
export type LockKey = (typeof LOCK_KEYS)[number];

/** `sha256` is over the bytes the value stands for; null when there are none or they were not at hand. */
export interface LockEntry {
  readonly value: Json;
  readonly sha256: string | null;
}
export type Lock = Readonly<Record<LockKey, LockEntry>>;

export const COST_PARTS = ['machine', 'disk', 'address', 'transfer', 'orchestration', 'tokens'] as const;
export type CostPart = (typeof COST_PARTS)[number];

/** `note` says where the number comes from, and never holds an amount. */
export type CostEntry = {
  readonly part: CostPart;
  readonly note: string | null;
} & (
  { readonly basis: 'observed' | 'estimated'; readonly usd: number } | { readonly basis: 'unknown'; readonly usd: null }
);

/** A part whose amount lies in `cost.json`, because not everybody who reads the record may see it. */
export type CostBasis = Pick<CostEntry, 'part' | 'basis' | 'note'>;

export interface RecordedVerdict {
  readonly signatureId: string;
  readonly blame: Blame;
  readonly retry: boolean;
  readonly countsAsAttempt: boolean;
  readonly ledgerClass: LedgerClass;
  readonly notRunReason: NotRunReason | null;
  readonly unknown: boolean;
  readonly note: string;
}

export interface RecordedError {
  readonly name: string;
  readonly message: string;
  readonly stage: Stage;
  /** The provider's own reason for a loss. */
  readonly evidence: string | null;
}

export interface EarlierAttempt {
  readonly attemptId: string;
  readonly runDir: string | null;
  readonly status: UnitStatus;
  readonly verdict: RecordedVerdict | null;
}

export interface StageTiming {
  readonly stage: Stage;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly seconds: number | null;
}

export interface RecordedFile {
  /** Relative to the run folder, with `/`. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/** What the sandbox really was, as its provider reports. */
export interface RecordedIsolation {
  readonly kind: 'machine' | 'namespaces' | 'none';
  readonly network: 'own' | 'host';
  readonly reason: string | null;
}

/**
 * What was seen of a screen. Pictures of steps and GUI events come from the agent's side. The final picture was asked for by
 * us, of a server that the agent could have put in the place of the real one.
 */
export interface RecordedScreen {
  /** Pictures of the trajectory's steps, in `screenshots/`. */
  readonly screenshots: number;
  /** Null for a sandbox without a desktop; `path` is null when no picture could be taken, for the reason given. */
  readonly final: {
    readonly path: string | null;
    readonly takenAt: string;
    readonly problem: string | null;
  } | null;
  /** Of `gui_events.jsonl`; null when the agent left none. */
  readonly guiEvents: GuiEventCounts | null;
}

/** Something of the sandbox that was left on purpose. */
export interface RecordedLeft {
  readonly kind: string;
  readonly resourceId: string;
  readonly end: 'stopped' | 'kept' | 'detached';
  readonly why: string;
}

/** Everything that proves one attempt's end, but the files it names. */
export interface RecordContent {
  readonly ids: {
    readonly sweepId: string;
    readonly run: number;
    readonly unitId: string;
    readonly attemptId: string;
    readonly runId: string;
    readonly agentId: string;
    readonly model: string | null;
    readonly taskPath: string;
    readonly variant: number;
    readonly variantName: string;
    readonly trial: number;
  };
  readonly lock: Lock;
  readonly isolation: RecordedIsolation | null;
  /** Absent when there was neither a desktop nor a picture. */
  readonly screen?: RecordedScreen;
  readonly outcome: Outcome | null;
  readonly grade: Grade | null;
  /** Where the unit stands if this attempt is its last. */
  readonly ledgerClass: LedgerClass;
  readonly status: UnitStatus;
  readonly evalStatus: EvalStatus;
  readonly error: RecordedError | null;
  readonly verdict: RecordedVerdict | null;
  /** The grader's answer as it came, before anyone judged it; null when no grader ran. */
  readonly rawGraderOutput: Json;
  readonly attemptsBefore: readonly EarlierAttempt[];
  /** Absent when nothing was left on purpose. */
  readonly leftBehind?: readonly RecordedLeft[];
  /** With amounts, or all without them. */
  readonly cost: readonly CostEntry[] | readonly CostBasis[];
  readonly timings: readonly StageTiming[];
  /** `examHall`, `node`, `agent`, `guestRunner` and whatever else has a version. */
  readonly versions: Readonly<Record<string, string | null>>;
  /** Parts of what was used that no check has proved here. */
  readonly unverified: readonly string[];
}

export interface RunRecord extends RecordContent {
  readonly formatVersion: typeof RECORD_FORMAT_VERSION;
  /** Every file of the run folder but `record.json`, in path order. */
  readonly files: readonly RecordedFile[];
  /** SHA-256 of the canonical JSON of the record without this field. */
  readonly recordSha256: string;
}

/** SHA-256 of a text's UTF-8 bytes, as 64 lower-case hex digits. */
export type Sha256 = (text: string) => string;

/** Completes a record with its files and its own hash. Files are put in path order, whatever order they come in. */
export function buildRecord(content: RecordContent, files: readonly RecordedFile[], sha256: Sha256): RunRecord {
  const ordered = [...files].sort((left, right) => (left.path < right.path ? -1 : 1));
  const body = { formatVersion: RECORD_FORMAT_VERSION, ...content, files: ordered } as const;
  return { ...body, recordSha256: sha256(canonicalJson(body)) };
}

/** The hash a record should carry. */
export function recordSha256Of(record: Readonly<Record<string, unknown>>, sha256: Sha256): string {
  const { recordSha256: _own, ...body } = record;
  return sha256(canonicalJson(body));
}

/** The one text of `record.json`: ordered keys, ASCII only, so that no byte can change unseen. */
export function recordText(record: unknown): string {
  return canonicalJsonText(record);
}

/** Hash of a whole lock; equal for comparable scores. */
export function lockSha256(lock: Lock, sha256: Sha256): string {
  return sha256(canonicalJson(lock));
}

/** The parts in which two locks differ; empty when their scores may be compared. */
export function lockDifferences(left: Lock, right: Lock): readonly LockKey[] {
  return LOCK_KEYS.filter((key) => canonicalJson(left[key]) !== canonicalJson(right[key]));
}

/** Cost known so far, and whether a part is missing from it. */
export function totalCost(cost: readonly CostEntry[]): { readonly usd: number; readonly complete: boolean } {
  const known = COST_PARTS.map((part) => cost.filter((entry) => entry.part === part));
  return {
    usd: cost.reduce((sum, entry) => sum + (entry.usd ?? 0), 0),
    complete: known.every((entries) => entries.length > 0 && entries.every((entry) => entry.usd !== null)),
  };
}
