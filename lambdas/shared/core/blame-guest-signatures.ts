import { AGENT_FORFEIT, see, signature, type Signature, type SignatureMatch } from './blame-signature.ts';

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
 * What such a guest leaves unsaid: it keeps a state or a function of ours waiting until its time is over. What it answers that
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
