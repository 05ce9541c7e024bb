import type { Instance, InstanceStatus } from '@aws-sdk/client-ec2';
import type { SandboxState } from '#ports/sandbox-provider';

/** A new machine may be unknown to EC2 for a while; it is never taken for gone then. */
const VISIBLE_AFTER_SECONDS = 300;

export function mayBeTooNew(launchedAt: string | undefined, now: Date): boolean {
  if (launchedAt === undefined) return false;
  return now.getTime() - Date.parse(launchedAt) < VISIBLE_AFTER_SECONDS * 1000;
}

/** The guest shut itself down: EC2 had no reason of its own. */
const BY_ITSELF = 'Client.InstanceInitiatedShutdown';
/** Somebody called the API of EC2, which no sandbox has a right to. */
const BY_A_CALL: ReadonlySet<string> = new Set(['Client.UserInitiatedShutdown', 'Client.UserInitiatedHibernate']);

/** What EC2 says of one machine; `status` is its health, where that was asked. */
export function stateOf(instance: Instance, status: InstanceStatus | undefined, now: Date): SandboxState {
  const caller = callOf(instance);
  if (caller !== null) {
    const state = instance.State?.Name === 'stopping' || instance.State?.Name === 'stopped' ? 'stopped' : 'gone';
    return { state, evidence: caller, isEndByCall: true };
  }
  const evidence = reasonOf(instance) ?? troubleOf(status, now);
  const still = evidence === null ? {} : { evidence };
  switch (instance.State?.Name) {
    case 'pending':
      return { state: 'pending', ...still };
    case 'running':
      return { state: 'ready', ...still };
    case 'stopping':
    case 'stopped':
      // Nothing comes back by itself: what EC2 has stopped is lost to its attempt.
      return evidence === null ? { state: 'stopped' } : { state: 'gone', evidence, isStillThere: true };
    default:
      return { state: 'gone', evidence };
  }
}

/** No sandbox has a right to its own tags: whoever took ours did so from outside, and that stands whatever else is wrong. */
export function notOurs(seen: SandboxState): SandboxState {
  if (seen.state === 'gone') return seen;
  return { state: seen.state, evidence: seen.evidence ?? NOT_OURS, isNotOurs: true };
}

const NOT_OURS =
  'it was found without the tag that makes it ours, which no sandbox can take from itself: nobody here may reach or end it any more';

/** Who ended or stopped a machine from outside, in the words of EC2; null when nobody did. */
function callOf({ State, StateReason }: Instance): string | null {
  if (State?.Name === 'pending' || State?.Name === 'running') return null;
  const { Code = '', Message = '' } = StateReason ?? {};
  return BY_A_CALL.has(Code) ? `ended through the API of EC2, not from inside (${Code}: ${Message})` : null;
}

/** EC2's own reason for the state that a machine is in. */
function reasonOf({ State, StateReason, StateTransitionReason }: Instance): string | null {
  if (State?.Name === 'pending' || State?.Name === 'running') return null;
  const code = StateReason?.Code ?? '';
  if (code !== '') return code === BY_ITSELF ? null : `${code}: ${StateReason?.Message ?? ''}`;
  const text = StateTransitionReason ?? '';
  return text.startsWith('Server.') ? text : null;
}

/** What fails below the guest: a check of the guest itself fails by what runs in it. */
function troubleOf(status: InstanceStatus | undefined, now: Date): string | null {
  if (status === undefined) return null;
  if (status.SystemStatus?.Status === 'impaired') return 'EC2 reports a failed system status check';
  if (status.AttachedEbsStatus?.Status === 'impaired') return 'EC2 reports a failed check of the attached volumes';
  const event = status.Events?.find(
    ({ NotBefore, Description }) =>
      NotBefore !== undefined && NotBefore <= now && !/^\[(?:Completed|Canceled)\]/u.test(Description ?? ''),
  );
  if (event === undefined) return null;
  return `scheduled event of EC2: ${event.Code ?? 'unnamed'}, ${event.Description ?? 'without a description'}`;
}
