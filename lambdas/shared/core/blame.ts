import { AWS_SIGNATURES, OTHER_CLOUD_SIGNATURES } from './blame-cloud-signatures.ts';
import { DECLARED_SIGNATURES } from './blame-declared-signatures.ts';
import { GUEST_DOUBT_SIGNATURES, GUEST_SILENCE_SIGNATURES, GUEST_WORD_SIGNATURES } from './blame-guest-signatures.ts';
import { HOST_SIGNATURES } from './blame-host-signatures.ts';
import { AGENT_SIGNATURES, GRADER_SIGNATURES, LOSS_SIGNATURES } from './blame-run-signatures.ts';
import {
  AGENT_EXITED,
  AGENT_LIMIT_REACHED,
  AGENT_TIMED_OUT,
  MODEL_CALL_FAILED,
  PLATFORM_RETRY,
  type Consequence,
  type ErrorSighting,
  type Signature,
} from './blame-signature.ts';
import { ERROR_KINDS, ERROR_NAMES } from './errors.ts';

/** What follows an error, and the row that says so. `unknown` errors are the platform's until somebody adds a row. */
export interface Verdict extends Consequence {
  readonly signatureId: string;
  readonly note: string;
  readonly unknown: boolean;
}

/** Every known signature; the first row that fits decides. */
export const SIGNATURES: readonly Signature[] = [
  ...GUEST_WORD_SIGNATURES,
  ...GUEST_DOUBT_SIGNATURES,
  ...LOSS_SIGNATURES,
  ...GUEST_SILENCE_SIGNATURES,
  ...AGENT_SIGNATURES,
  ...GRADER_SIGNATURES,
  ...AWS_SIGNATURES,
  ...OTHER_CLOUD_SIGNATURES,
  ...HOST_SIGNATURES,
  ...DECLARED_SIGNATURES,
];

const SETTLED_NAMES: ReadonlySet<string> = new Set([
  AGENT_EXITED,
  AGENT_LIMIT_REACHED,
  AGENT_TIMED_OUT,
  MODEL_CALL_FAILED,
  ...ERROR_NAMES.filter((name) => ERROR_KINDS[name].blame !== 'platform'),
]);

/** Decides blame, retry and ledger class of an error. Total: an unknown error is the platform's, retried, and flagged. */
export function classify(sighting: ErrorSighting): Verdict {
  const row = SIGNATURES.find((each) => matches(each, sighting));
  if (row !== undefined) return { ...row.then, signatureId: row.id, note: row.note, unknown: false };
  return {
    ...PLATFORM_RETRY,
    signatureId: 'unknown',
    note: `no row answers for ${sighting.name} at ${sighting.stage}; add one to the blame table`,
    unknown: true,
  };
}

function matches({ when }: Signature, seen: ErrorSighting): boolean {
  if (when.names === undefined ? SETTLED_NAMES.has(seen.name) : !when.names.includes(seen.name)) return false;
  if (when.stages !== undefined && !when.stages.includes(seen.stage)) return false;
  if (when.agentActed !== undefined && when.agentActed !== seen.agentActed) return false;
  if (when.evidence !== undefined && when.evidence !== (seen.evidence !== null)) return false;
  if (when.guestTrusted !== undefined && when.guestTrusted !== seen.guestTrusted) return false;
  return when.text === undefined || when.text.test(`${seen.name}: ${seen.message}`);
}

const TRUSTED = 'of a guest that the agent cannot have taken over';
const UNTRUSTED = 'of a guest that the agent may have taken over';

const TABLE_HEAD = [
  '| signature | what it means | seen as | only when | blame | another attempt | the unit counts as |',
  '| --- | --- | --- | --- | --- | --- | --- |',
];

/** The whole table as Markdown, for README. */
export function renderBlameTable(): string {
  return [...TABLE_HEAD, ...SIGNATURES.map(renderRow)].join('\n') + '\n';
}

function renderRow({ id, note, example, when, then }: Signature): string {
  const attempt = then.retry ? (then.countsAsAttempt ? 'yes' : 'yes, not counted') : 'no';
  const counted = then.notRunReason === null ? then.ledgerClass : `${then.ledgerClass} (${then.notRunReason})`;
  const seenAs = `\`${[example.name, example.message].filter((part) => part !== '').join(': ')}\``;
  const cells = [`\`${id}\``, note, seenAs, conditionsOf(when), then.blame, attempt, counted];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function conditionsOf(when: Signature['when']): string {
  const parts: string[] = [];
  if (when.stages !== undefined) parts.push(`at ${when.stages.join(', ')}`);
  if (when.agentActed !== undefined) parts.push(when.agentActed ? 'after the agent acted' : 'before the agent acted');
  if (when.evidence !== undefined) parts.push(when.evidence ? "with the provider's evidence" : 'without evidence');
  if (when.guestTrusted !== undefined) parts.push(when.guestTrusted ? TRUSTED : UNTRUSTED);
  return parts.join(', ');
}
