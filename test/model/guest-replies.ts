import { ExamHallError } from '#core/errors';
import type { HostClock } from '#local/clock';
import type { Chance, FaultKind } from './chance.ts';
import { BACKGROUND, type Truth } from './truth.ts';

export type Verb = 'start' | 'wait' | 'status' | 'stop' | 'call';

/** Faults of ours that one guest meets once its agent has begun, unless its store fails; more would be a guest that is lost. */
const MOST_AFTER_START = 2;
/** How long one waits for a reply that does not come. */
export const PATIENCE_SECONDS = 75;
/** Verbs that a guest is asked before its agent begins: a runner that is broken from its boot is found out by them. */
const FIRST_VERBS: readonly Verb[] = ['start', 'status'];
const FAULTS = ['guestSilent', 'replyNever', 'replySlow', 'replyMalformed'] as const satisfies readonly FaultKind[];
type ReplyFault = (typeof FAULTS)[number];

export interface GuestRepliesOptions {
  readonly clock: HostClock;
  readonly chance: Chance;
  readonly truth: Truth;
}

export interface Asked {
  readonly verb: Verb;
  readonly sandboxId: string;
  readonly attemptId: string;
  /** What is asked for begins only once the reply lies where it is looked for, as the guest runner does with jobs. */
  readonly isAnsweredFirst: boolean;
}

/** Replies of guests that get lost, come late, or are not as agreed, through no fault of an agent. */
export class GuestReplies {
  readonly #options: GuestRepliesOptions;
  readonly #met = new Map<string, number>();
  /** Calls of functions that have met a fault: one meets no second. */
  readonly #struck = new WeakSet();

  constructor(options: GuestRepliesOptions) {
    this.#options = options;
  }

  async ask<T>(asked: Asked, work: () => Promise<T>): Promise<T> {
    const { clock, chance, truth } = this.#options;
    const { verb, attemptId, sandboxId } = asked;
    if (this.#isBroken(asked)) {
      truth.strike('runnerBroken', attemptId);
      throw unreachable(sandboxId, `what it answers to ${verb} is not as agreed`);
    }
    const fault = this.#draw(asked);
    if (fault === null) return await work();
    const isDone = chance.next(`${attemptId} half`) < 0.5;
    truth.tell(`fault: ${fault} at ${verb} of ${attemptId}${isDone ? ', once it was done' : ''}`);
    if (fault === 'replySlow') {
      await clock.sleep((1 + chance.next(`${attemptId} slow`) * (PATIENCE_SECONDS - 5)) * 1000);
      return await work();
    }
    // Nobody waits for the answer to a `wait`.
    if (verb !== 'wait') truth.strike(this.#isBackground ? 'lookFailed' : 'guestSilent', attemptId);
    if (isDone && (fault === 'replyMalformed' || !asked.isAnsweredFirst)) await work();
    if (fault === 'replyNever') await clock.sleep(PATIENCE_SECONDS * 1000);
    const why =
      fault === 'replyMalformed' ? `what it answers to ${verb} is not as agreed` : 'it did not answer this once';
    throw unreachable(sandboxId, why);
  }

  /** Whether its runner does not know one of its verbs, from its boot on. */
  #isBroken({ verb, attemptId }: Asked): boolean {
    const { chance } = this.#options;
    if (!chance.marks('runnerBroken', attemptId)) return false;
    return FIRST_VERBS[Math.floor(chance.at(`broken verb ${attemptId}`) * FIRST_VERBS.length)] === verb;
  }

  #draw({ verb, attemptId, sandboxId }: Asked): ReplyFault | null {
    const { chance, truth } = this.#options;
    const call = truth.running.getStore();
    const met = this.#met.get(sandboxId) ?? 0;
    const hasBegun = truth.of(attemptId).agentStartedAt !== null;
    const isSpared = hasBegun && (met >= MOST_AFTER_START || chance.marks('uploadFails', attemptId));
    if (isSpared || (call !== undefined && this.#struck.has(call))) return null;
    const fault = FAULTS.find((kind) => chance.strikes(kind, `${attemptId} ${verb}`)) ?? null;
    if (fault === null) return null;
    if (call !== undefined) this.#struck.add(call);
    if (hasBegun) this.#met.set(sandboxId, met + 1);
    return fault;
  }

  get #isBackground(): boolean {
    return BACKGROUND.has(this.#options.truth.running.getStore()?.name ?? '');
  }
}

export function unreachable(sandboxId: string, why: string): ExamHallError {
  return new ExamHallError('ChannelUnavailableError', `the guest of ${sandboxId} cannot be used: ${why}`);
}
