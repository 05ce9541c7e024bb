import {
  AGENT_EXITED,
  AGENT_FORFEIT,
  AGENT_LIMIT_REACHED,
  AGENT_RESULT,
  AGENT_TIMED_OUT,
  codes,
  MODEL_CALL_FAILED,
  notRun,
  PLATFORM_FINAL,
  PLATFORM_RETRY,
  see,
  signature,
  TASK_FAULT,
  type Signature,
} from './blame-signature.ts';
import type { Stage } from './errors.ts';

const WITH_AGENT: readonly Stage[] = ['run', 'collect'];
const LOST = codes(
  'SandboxLostError',
  'ChannelUnavailableError',
  'Undeliverable',
  'DeliveryTimedOut',
  'Delivery Timed Out',
  'Terminated',
  'InvalidInstanceID.NotFound',
  'InvalidInstanceId',
  'not in a valid state for account',
  'ConnectionLost',
  'TargetNotConnected',
);
const NO_SPACE = codes('ENOSPC', 'EDQUOT', 'No space left on device', 'There is not enough space on the disk');
const RATE_LIMITED = /\b429\b|rate.?limit|too many requests|insufficient_quota/iu;
const KEY_REFUSED = /\b401\b|\b403\b|invalid.api.key|authentication.(?:error|failed)|unauthorized/iu;
const MODEL_DOWN = /\b50[0234]\b|\b529\b|overloaded|service unavailable|bad gateway/iu;
const FROM_MODEL = [AGENT_EXITED, MODEL_CALL_FAILED];

/** Losing the sandbox, and full disks: decided by whether the agent had acted and whether the provider gives evidence. */
export const LOSS_SIGNATURES: readonly Signature[] = [
  signature(
    'spot-interrupted',
    {
      text: codes(
        'SpotInterruption',
        'Spot Instance Interruption Warning',
        'Instance was preempted',
        'preempted',
        'InstanceRecycling',
      ),
      evidence: true,
    },
    PLATFORM_RETRY,
    {
      note: 'the provider took a spot machine back and said so',
      example: see('SandboxLostError', 'EC2 Spot Instance Interruption Warning: terminate', 'run', {
        agentActed: true,
        evidence: 'EC2 Spot Instance Interruption Warning',
      }),
    },
  ),
  signature('sandbox-lost-evident', { text: LOST, evidence: true }, PLATFORM_RETRY, {
    note: 'the sandbox is gone and the provider gives the reason',
    example: see('SandboxLostError', 'machine i-0a1 is stopped', 'run', {
      agentActed: true,
      evidence: 'system status check impaired',
    }),
  }),
  signature(
    'sandbox-lost-by-agent',
    { text: LOST, stages: WITH_AGENT, agentActed: true, evidence: false },
    AGENT_FORFEIT,
    {
      note: 'the sandbox is gone after the agent acted, and the provider knows of no fault',
      example: see('SandboxLostError', 'machine i-0a1 does not answer', 'run', { agentActed: true }),
    },
  ),
  signature(
    'disk-filled-by-agent',
    { text: NO_SPACE, stages: WITH_AGENT, agentActed: true, evidence: false },
    AGENT_FORFEIT,
    {
      note: 'the disk of the sandbox is full after the agent acted',
      example: see('CollectFailedError', 'write /tmp/manifest.json: ENOSPC: no space left on device', 'collect', {
        agentActed: true,
      }),
    },
  ),
  signature(
    'collect-prevented-by-agent',
    {
      names: ['CollectFailedError'],
      text: codes('runner-lost', 'wall-limit', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'),
      stages: ['collect'],
      agentActed: true,
      evidence: false,
    },
    AGENT_FORFEIT,
    {
      note: 'the sandbox does not let its output out after the agent acted, and the provider knows of no fault',
      example: see('CollectFailedError', 'runner-lost (exit code null): the supervisor of the job is gone', 'collect', {
        agentActed: true,
      }),
    },
  ),
  signature('disk-full-ours', { text: NO_SPACE }, PLATFORM_FINAL, {
    note: 'a disk of ours is full; free space, then run again',
    example: see('StagingFailedError', 'write input/w2.json: ENOSPC: no space left on device', 'stage'),
  }),
];

/** How agents end. Text an agent printed changes the blame only when the provider's evidence says the same. */
export const AGENT_SIGNATURES: readonly Signature[] = [
  signature('model-rate-limited-evident', { names: FROM_MODEL, text: RATE_LIMITED, evidence: true }, PLATFORM_RETRY, {
    note: 'the model provider throttled us, as its gateway saw',
    example: see(MODEL_CALL_FAILED, '429 rate limit exceeded', 'run', {
      agentActed: true,
      evidence: 'gateway: 14 x 429',
    }),
  }),
  signature(
    'model-key-refused-at-start',
    { names: FROM_MODEL, text: KEY_REFUSED, evidence: true, agentActed: false },
    notRun('refused'),
    {
      note: 'the model provider refuses the key, as its gateway saw, before the agent could act',
      example: see(MODEL_CALL_FAILED, '401 invalid api key', 'run', { evidence: 'gateway: 401' }),
    },
  ),
  signature(
    'model-key-refused-midway',
    { names: FROM_MODEL, text: KEY_REFUSED, evidence: true, agentActed: true },
    PLATFORM_FINAL,
    {
      note: 'the model provider stopped accepting the key during the run',
      example: see(MODEL_CALL_FAILED, '403 key disabled', 'run', {
        agentActed: true,
        evidence: 'gateway: 403 after 31 calls',
      }),
    },
  ),
  signature('model-outage-evident', { names: FROM_MODEL, text: MODEL_DOWN, evidence: true }, PLATFORM_RETRY, {
    note: 'the model provider was down, as its gateway saw',
    example: see(MODEL_CALL_FAILED, '529 overloaded', 'run', { agentActed: true, evidence: 'gateway: 9 x 529' }),
  }),
  signature('agent-says-rate-limited', { names: FROM_MODEL, text: RATE_LIMITED, evidence: false }, AGENT_RESULT, {
    note: 'only the agent says that its model was throttled',
    example: see(AGENT_EXITED, 'exit code 1: API Error 429 rate limit', 'run', { agentActed: true }),
  }),
  signature('agent-says-key-refused', { names: FROM_MODEL, text: KEY_REFUSED, evidence: false }, AGENT_RESULT, {
    note: 'only the agent says that its key was refused',
    example: see(AGENT_EXITED, 'exit code 1: Invalid API key', 'run'),
  }),
  signature(
    'agent-command-missing',
    { names: [AGENT_EXITED], text: /exit code 12[67]\b/u, agentActed: false },
    PLATFORM_RETRY,
    {
      note: 'the launch command was not found or not executable',
      example: see(AGENT_EXITED, 'exit code 127: node: not found', 'run'),
    },
  ),
  signature('agent-killed', { names: [AGENT_EXITED], text: /signal (?:SIG)?KILL|exit code 137\b/u }, AGENT_RESULT, {
    note: 'the agent was killed inside its sandbox, as a rule for its memory',
    example: see(AGENT_EXITED, 'exit code 137', 'run', { agentActed: true }),
  }),
  signature('agent-failed', { names: [AGENT_EXITED] }, AGENT_RESULT, {
    note: 'the agent ended with an exit code other than 0',
    example: see(AGENT_EXITED, 'exit code 1', 'run', { agentActed: true }),
  }),
  signature('agent-timed-out', { names: [AGENT_TIMED_OUT] }, AGENT_RESULT, {
    note: 'the wall time of the agent ran out',
    example: see(AGENT_TIMED_OUT, 'no result after 7200 s', 'run', { agentActed: true }),
  }),
  signature('agent-limit-reached', { names: [AGENT_LIMIT_REACHED] }, AGENT_RESULT, {
    note: 'the agent used up its turns, tokens or money',
    example: see(AGENT_LIMIT_REACHED, 'costUsd 5.01 of 5.00', 'run', { agentActed: true }),
  }),
];

/** How graders fail. */
export const GRADER_SIGNATURES: readonly Signature[] = [
  signature('grader-hung', { names: ['GraderFailedError'], text: /timed? ?out|time limit/iu }, TASK_FAULT, {
    note: 'the grader ran past its time limit',
    example: see('GraderFailedError', 'evaluate timed out after 300 s', 'grade', { agentActed: true }),
  }),
  signature('grader-out-of-memory', { names: ['GraderFailedError'], text: /memory|heap/iu }, TASK_FAULT, {
    note: 'the grader used up its memory',
    example: see('GraderFailedError', 'evaluate reached its memory limit of 512 MiB', 'grade', { agentActed: true }),
  }),
  signature('grader-value-invalid', { names: ['GraderFailedError'], text: /returned|score/iu }, TASK_FAULT, {
    note: 'the grader returned something that is no score in [0,1]',
    example: see('GraderFailedError', 'evaluate returned 1.7; a score lies in [0,1]', 'grade', { agentActed: true }),
  }),
];
