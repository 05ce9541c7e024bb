import { AGENT_FORFEIT, see, signature, type Signature, type SignatureMatch } from './blame-signature.ts';

/**
 * Errors that our own functions, their stores and the services of the cloud have names for. No guest brings one about by what
 * it says or leaves unsaid: a reply that is late, wrong or missing has other names, and so has a function that it held up.
 */
const OUR_CALLS: readonly string[] = [
  'StoreUnavailableError',
  'ConditionFailedError',
  'RowTooLargeError',
  'StorageFullError',
  'StorageReadOnlyError',
  'ObjectNotFoundError',
  'ObjectExistsError',
  'ChecksumMismatchError',
  'PayloadInvalidError',
  'EnvironmentInvalidError',
  'RecordConflictError',
  'HeartbeatLostError',
  'HostRestartedError',
  'ExecutionAbortedError',
  'States.HeartbeatTimeout',
  'States.Permissions',
  'States.DataLimitExceeded',
  'States.QueryEvaluationError',
  'States.Runtime',
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.TooManyRequestsException',
  'Runtime.ImportModuleError',
  'Runtime.HandlerNotFound',
  'Runtime.UserCodeSyntaxError',
  'AccessDenied',
  'AccessDeniedException',
  'UnauthorizedOperation',
  'ResourceNotFoundException',
  'RequestLimitExceeded',
  'Throttling',
  'ThrottlingException',
  'ThrottledException',
  'TooManyRequestsException',
  'ProvisionedThroughputExceededException',
  'SlowDown',
  'TransactionCanceledException',
  'TransactionConflictException',
  'TransactionInProgressException',
  'ConditionalRequestConflict',
  'ExpiredToken',
  'ExpiredTokenException',
  'RequestExpired',
  'InternalError',
  'InternalFailure',
  'InternalServerError',
  'InternalServerException',
  'ServiceUnavailable',
];

/** An agent that may be root speaks with its guest's voice: nothing the guest says or leaves unsaid excuses it. */
const UNTRUSTED = { agentActed: true, evidence: false, guestTrusted: false } as const satisfies SignatureMatch;
const SEEN_UNTRUSTED = { agentActed: true, guestTrusted: false } as const;

/** What nobody tells but a guest that its agent may have taken over. First: its words are anything. */
export const GUEST_WORD_SIGNATURES: readonly Signature[] = [
  signature(
    'untrusted-guest-reports',
    { names: ['CollectFailedError', 'AgentLaunchError'], stages: ['run', 'collect', 'grade'], ...UNTRUSTED },
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

/** What such a guest leaves unsaid. */
export const GUEST_SILENCE_SIGNATURES: readonly Signature[] = [
  signature(
    'untrusted-guest-stalls',
    { exceptNames: OUR_CALLS, stages: ['run', 'collect'], ...UNTRUSTED },
    AGENT_FORFEIT,
    {
      note: 'the guest held us up, or answered what we could not use',
      example: see('States.Timeout', 'CollectOutput', 'collect', SEEN_UNTRUSTED),
    },
  ),
];
