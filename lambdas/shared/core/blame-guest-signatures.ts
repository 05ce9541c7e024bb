import {
  AGENT_FORFEIT,
  PLATFORM_FINAL,
  see,
  signature,
  type Signature,
  type SignatureMatch,
} from './blame-signature.ts';

/** An agent that may be root speaks with its guest's voice: nothing the guest says or leaves unsaid excuses it. */
const UNTRUSTED = { agentActed: true, evidence: false, guestTrusted: false } as const satisfies SignatureMatch;
const SEEN_UNTRUSTED = { agentActed: true, guestTrusted: false } as const;

/** What nobody tells but a guest that its agent may have taken over. First: its words are anything. */
export const GUEST_WORD_SIGNATURES: readonly Signature[] = [
  signature(
    'untrusted-guest-reports',
    {
      names: ['CollectFailedError', 'AgentLaunchError', 'StopUnconfirmedError'],
      stages: ['run', 'collect', 'grade'],
      ...UNTRUSTED,
    },
    AGENT_FORFEIT,
    {
      note: 'nobody but the guest says what went wrong',
      example: see('CollectFailedError', 'it ended with exit code 1: upload: HTTP 500', 'collect', SEEN_UNTRUSTED),
    },
  ),
  signature(
    'untrusted-guest-fails-grader',
    { names: ['SandboxLostError', 'ChannelUnavailableError'], stages: ['grade'], ...UNTRUSTED },
    AGENT_FORFEIT,
    {
      note: 'the guest left its own grader without an answer',
      example: see('ChannelUnavailableError', 'the guest of i-0a1 cannot be used', 'grade', SEEN_UNTRUSTED),
    },
  ),
];

/**
 * A guest that its agent cannot have taken over, silent or unsure while its machine is there. Nobody knows why: services fail,
 * and whoever may only start processes can starve a whole machine with them. So the agent neither answers for it with a result
 * nor earns another attempt by it. Rows by name, so that a guest's words in a message change nothing.
 */
const BELIEVED = { agentActed: true, evidence: false, guestTrusted: true } as const satisfies SignatureMatch;

export const GUEST_DOUBT_SIGNATURES: readonly Signature[] = [
  signature(
    'trusted-guest-unsure',
    { names: ['StopUnconfirmedError'], stages: ['collect'], ...BELIEVED },
    PLATFORM_FINAL,
    {
      note: 'nobody could tell whether the agent had ended: its machine is there, and was silent, too slow, or could not look',
      example: see('StopUnconfirmedError', 'the machine is there (ready), and its guest does not answer', 'collect', {
        agentActed: true,
      }),
    },
  ),
  signature(
    'trusted-guest-silent',
    { names: ['ChannelUnavailableError'], stages: ['run'], ...BELIEVED },
    PLATFORM_FINAL,
    {
      note: 'the machine is there, and its guest has answered nobody for ten minutes under its agent',
      example: see('ChannelUnavailableError', 'since 10:00: no answer', 'run', { agentActed: true }),
    },
  ),
];

/**
 * What a guest leaves unsaid that its agent may have taken over: it keeps a state or a function of ours waiting until its time is over. What it answers that
 * nobody can use is a channel that is lost, of which the rows of losses speak. Nothing else is a guest's doing: a function
 * that dies or throws has met a bug of ours, since what guests answer is bounded and looked at before it is used.
 */
export const GUEST_SILENCE_SIGNATURES: readonly Signature[] = [
  signature(
    'untrusted-guest-stalls',
    { names: ['States.Timeout', 'Sandbox.Timedout'], stages: ['run', 'collect'], ...UNTRUSTED },
    AGENT_FORFEIT,
    {
      note: 'the guest kept us waiting until our time was over',
      example: see('States.Timeout', 'CollectOutput', 'collect', SEEN_UNTRUSTED),
    },
  ),
];
