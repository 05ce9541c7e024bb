import { AsyncLocalStorage } from 'node:async_hooks';
import type { HostClock } from '#local/clock';
import type { Deed } from './deeds.ts';

/** Functions that no attempt waits for by itself. */
export const BACKGROUND: ReadonlySet<string> = new Set([
  'grant-slots',
  'watch-runs',
  'reap-sandboxes',
  'on-run-finished',
  'on-execution-failed',
  'expire-sandbox',
]);

/** What the model did to an attempt that may cost it, by name. */
export type Cause =
  | 'functionFails'
  | 'functionDies'
  | 'capacity'
  | 'requestFailed'
  | 'guestSilent'
  | 'lookFailed'
  | 'runnerBroken'
  | 'uploadFails'
  | 'graderUnavailable'
  | 'lostEvident'
  | 'lostBeforeAgent'
  | 'neverOnline'
  | 'endedByUs'
  | 'killed';

/**
 * From how many of a cause on an attempt may be called the platform's loss: one more than its states try again. What is
 * not here (lost events, late sightings, slow ends) must never cost an attempt.
 */
const ENOUGH: Readonly<Record<Cause, number>> = {
  functionFails: 6,
  functionDies: 2,
  capacity: 7,
  requestFailed: 1,
  guestSilent: 3,
  // A guest that answers nobody's look for ten minutes is lost; looks come two to four minutes apart by then.
  lookFailed: 4,
  runnerBroken: 1,
  uploadFails: 3,
  graderUnavailable: 3,
  lostEvident: 1,
  lostBeforeAgent: 1,
  neverOnline: 1,
  endedByUs: 1,
  killed: 1,
};

export interface AttemptTruth {
  readonly deed: Deed;
  /** When its agent began to run, and when it had done what it was to do. */
  agentStartedAt: number | null;
  deedDoneAt: number | null;
  agentStarts: number;
  /** Its machine went away without a word after the agent had begun: by the rule that is the agent's doing. */
  isLostSilently: boolean;
  readonly struck: Map<string, number>;
  readonly causes: Map<Cause, number>;
}

interface Running {
  readonly name: string;
  readonly attemptId: string | null;
  /** Meets no faults. */
  readonly isSpared: boolean;
}

const RUNNING = new AsyncLocalStorage<Running>();

/** What really happened, as the model itself knows it; verdicts are measured by it. */
export class Truth {
  readonly attempts = new Map<string, AttemptTruth>();
  /** What must never happen and did. */
  readonly violations: string[] = [];
  /** One for all worlds: each storage costs every promise of the process. */
  readonly running = RUNNING;
  readonly #lines: { readonly at: number; readonly text: string }[] = [];
  readonly #clock: HostClock;
  readonly #deedOf: (attemptId: string) => Deed;

  constructor(clock: HostClock, deedOf: (attemptId: string) => Deed) {
    this.#clock = clock;
    this.#deedOf = deedOf;
  }

  get now(): number {
    return this.#clock.now().getTime();
  }

  of(attemptId: string): AttemptTruth {
    const known = this.attempts.get(attemptId);
    if (known !== undefined) return known;
    const fresh: AttemptTruth = {
      deed: this.#deedOf(attemptId),
      agentStartedAt: null,
      deedDoneAt: null,
      agentStarts: 0,
      isLostSilently: false,
      struck: new Map(),
      causes: new Map(),
    };
    this.attempts.set(attemptId, fresh);
    return fresh;
  }

  /** Notes a fault that hit an attempt, by default the one whose function runs. Counts of one function do not add to another's. */
  strike(cause: Cause, attemptId: string | null = this.running.getStore()?.attemptId ?? null): void {
    const name = this.running.getStore()?.name ?? 'outside';
    this.tell(`fault ${cause} in ${name}${attemptId === null ? '' : ` for ${attemptId}`}`);
    if (attemptId === null) return;
    const attempt = this.of(attemptId);
    const key = `${cause} ${name}`;
    const count = (attempt.struck.get(key) ?? 0) + 1;
    attempt.struck.set(key, count);
    attempt.causes.set(cause, Math.max(count, attempt.causes.get(cause) ?? 0));
  }

  /** Whether the model did enough to this attempt for it to be the platform's loss. */
  isExcused(attemptId: string): boolean {
    return [...this.of(attemptId).causes].some(([cause, count]) => count >= ENOUGH[cause]);
  }

  violate(what: string): void {
    this.violations.push(what);
    this.tell(`VIOLATION ${what}`);
  }

  tell(text: string): void {
    this.#lines.push({ at: this.now, text });
  }

  /** One line each, with the time since the start; those that name one of `about`, or all. */
  timeline(about: readonly string[] = []): string {
    const first = this.#lines[0]?.at ?? 0;
    const wanted = this.#lines.filter(({ text }) => about.length === 0 || about.some((name) => text.includes(name)));
    return wanted.map(({ at, text }) => `${clockTime(at - first)} ${text}`).join('\n');
  }
}

function clockTime(milliseconds: number): string {
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const seconds = milliseconds / 1000;
  return `+${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}
