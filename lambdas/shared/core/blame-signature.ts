import type { LedgerClass, NotRunReason } from './denominators.ts';
import type { Blame, Stage } from './errors.ts';

/**
 * An error as it was met. `agentActed`: the agent had made a model call or an action. `evidence`: the provider's own reason
 * (spot notice, failed status check, host event), or proof that the bug is ours; never something the sandbox said.
 * `guestTrusted`: the guest's runner belongs to somebody that the agent cannot have become, so what it reports is so.
 */
export interface ErrorSighting {
  readonly name: string;
  readonly message: string;
  readonly stage: Stage;
  readonly agentActed: boolean;
  readonly evidence: string | null;
  readonly guestTrusted: boolean;
}

/**
 * All conditions that are present must hold. `text` is tried on `<name>: <message>`. A row without `names` never answers for
 * a name that settles the blame by itself (an agent's or a task's), since agents and tasks choose the words of those messages.
 */
export interface SignatureMatch {
  readonly names?: readonly string[];
  readonly text?: RegExp;
  readonly stages?: readonly Stage[];
  readonly agentActed?: boolean;
  readonly evidence?: boolean;
  readonly guestTrusted?: boolean;
}

/**
 * What follows. `retry`: another attempt, up to the cap. `countsAsAttempt`: the lost attempt uses up one of the cap.
 * `ledgerClass`: where the unit stands if this was its last attempt; `scored` means that grading goes on.
 */
export interface Consequence {
  readonly blame: Blame;
  readonly retry: boolean;
  readonly countsAsAttempt: boolean;
  readonly ledgerClass: LedgerClass;
  readonly notRunReason: NotRunReason | null;
}

export interface Signature {
  readonly id: string;
  readonly when: SignatureMatch;
  readonly then: Consequence;
  /** One clause for people. */
  readonly note: string;
  /** A sighting that this row, and no earlier one, answers. */
  readonly example: ErrorSighting;
}

const NO_RETRY = { retry: false, countsAsAttempt: true, notRunReason: null } as const;

export const PLATFORM_RETRY: Consequence = {
  blame: 'platform',
  retry: true,
  countsAsAttempt: true,
  ledgerClass: 'lost',
  notRunReason: null,
};
export const PLATFORM_FINAL: Consequence = { ...NO_RETRY, blame: 'platform', ledgerClass: 'lost' };
export const TASK_FAULT: Consequence = { ...NO_RETRY, blame: 'task', ledgerClass: 'task_fault' };
/** The agent's own doing, and what it left is graded like any other output. */
export const AGENT_RESULT: Consequence = { ...NO_RETRY, blame: 'agent', ledgerClass: 'scored' };
/** The agent's own doing, and there is nothing to grade. */
export const AGENT_FORFEIT: Consequence = { ...NO_RETRY, blame: 'agent', ledgerClass: 'forfeited' };

export function notRun(reason: NotRunReason): Consequence {
  return { ...NO_RETRY, blame: 'caller', ledgerClass: 'not_run', notRunReason: reason };
}

/** A sighting before the agent acted, without evidence and of a trusted guest, unless told otherwise. */
export function see(
  name: string,
  message: string,
  stage: Stage,
  more: { readonly agentActed?: boolean; readonly evidence?: string; readonly guestTrusted?: boolean } = {},
): ErrorSighting {
  const { agentActed = false, evidence = null, guestTrusted = true } = more;
  return { name, message, stage, agentActed, evidence, guestTrusted };
}

export function signature(
  id: string,
  when: SignatureMatch,
  then: Consequence,
  told: { readonly note: string; readonly example: ErrorSighting },
): Signature {
  return { id, when, then, ...told };
}

/** How agents end, as sightings. Their messages may quote what an agent printed, so they prove nothing. */
export const AGENT_EXITED = 'AgentExited';
export const AGENT_TIMED_OUT = 'AgentTimedOut';
export const AGENT_LIMIT_REACHED = 'AgentLimitReached';
export const MODEL_CALL_FAILED = 'ModelCallFailed';

/** Matches any of these codes as whole words in `<name>: <message>`. */
export function codes(...words: readonly string[]): RegExp {
  const alternatives = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/gu, '\\$&')).join('|');
  return new RegExp(`(?<![A-Za-z0-9_])(?:${alternatives})(?![A-Za-z0-9_])`, 'u');
}
