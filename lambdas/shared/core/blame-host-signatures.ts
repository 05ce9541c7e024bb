import {
  AGENT_RESULT,
  codes,
  notRun,
  PLATFORM_FINAL,
  PLATFORM_RETRY,
  see,
  signature,
  TASK_FAULT,
  type Signature,
} from './blame-signature.ts';
import { CONFLICT_NAMES, CONNECTION_NAMES, SERVICE_FAULT_NAMES, THROTTLING_NAMES } from './service-faults.ts';

const TIMEOUT = codes('States.Timeout');

/** Step Functions and Lambda, or what stands for them on one computer. */
export const HOST_SIGNATURES: readonly Signature[] = [
  signature('state-timeout-admit', { text: TIMEOUT, stages: ['admit'] }, notRun('deadline'), {
    note: 'the deadline of the sweep passed while the unit waited for a slot',
    example: see('States.Timeout', 'AdmitUnit', 'admit'),
  }),
  signature('state-timeout-setup', { text: TIMEOUT, stages: ['setup'] }, TASK_FAULT, {
    note: 'the set-up of the task did not end in time',
    example: see('States.Timeout', 'StageUnit', 'setup'),
  }),
  signature('state-timeout-run', { text: TIMEOUT, stages: ['run'], agentActed: true, evidence: false }, AGENT_RESULT, {
    note: 'the agent acted and outlived even the limit outside its sandbox',
    example: see('States.Timeout', 'RunAgent', 'run', { agentActed: true }),
  }),
  signature('state-timeout-grade', { text: TIMEOUT, stages: ['grade'] }, TASK_FAULT, {
    note: 'the grading did not end in time',
    example: see('States.Timeout', 'RunGrader', 'grade', { agentActed: true }),
  }),
  signature('state-timeout', { text: TIMEOUT }, PLATFORM_RETRY, {
    note: 'a step of ours did not end in time',
    example: see('States.Timeout', 'ProvisionSandbox', 'provision'),
  }),
  signature('state-heartbeat-lost', { text: codes('States.HeartbeatTimeout') }, PLATFORM_RETRY, {
    note: 'our watcher missed its beats; beats never come from the sandbox',
    example: see('States.HeartbeatTimeout', 'RunAgent', 'run', { agentActed: true }),
  }),
  signature('state-payload-too-large', { text: codes('States.DataLimitExceeded') }, PLATFORM_FINAL, {
    note: 'a state carried more than 256 KiB',
    example: see('States.DataLimitExceeded', 'output of CollectOutput', 'collect'),
  }),
  signature(
    'state-definition-wrong',
    {
      text: codes(
        'States.QueryEvaluationError',
        'States.Runtime',
        'States.NoChoiceMatched',
        'States.ParameterPathFailure',
        'States.ResultPathMatchFailure',
        'States.IntrinsicFailure',
        'States.BranchFailed',
      ),
    },
    PLATFORM_FINAL,
    {
      note: 'the state machine itself is wrong',
      example: see('States.QueryEvaluationError', "The JSONata expression '$x.y' returned nothing", 'stage'),
    },
  ),
  signature(
    'state-forbidden',
    { text: codes('States.Permissions', 'AccessDenied', 'AccessDeniedException', 'UnauthorizedOperation') },
    PLATFORM_FINAL,
    {
      note: 'a role of ours lacks a permission',
      example: see('UnauthorizedOperation', 'not authorized to perform ec2:RunInstances', 'provision'),
    },
  ),
  signature(
    'state-map-failed',
    { text: codes('States.ExceedToleratedFailureThreshold', 'States.ItemReaderFailed', 'States.ResultWriterFailed') },
    PLATFORM_FINAL,
    {
      note: 'the map over the units failed as a whole',
      example: see('States.ItemReaderFailed', 'units.jsonl', 'plan'),
    },
  ),
  signature('state-task-failed', { text: codes('States.TaskFailed') }, PLATFORM_RETRY, {
    note: 'a step failed without saying why',
    example: see('States.TaskFailed', '', 'stage'),
  }),
  signature(
    'function-throttled',
    { text: codes('TooManyRequestsException', 'Lambda.TooManyRequestsException') },
    PLATFORM_RETRY,
    {
      note: 'too many functions at once',
      example: see('Lambda.TooManyRequestsException', 'Rate Exceeded', 'stage'),
    },
  ),
  signature(
    'function-service-fault',
    {
      text: codes(
        'Lambda.ServiceException',
        'Lambda.AWSLambdaException',
        'Lambda.SdkClientException',
        'Lambda.ClientExecutionTimeoutException',
        'Lambda.Unknown',
        'SdkClientException',
      ),
    },
    PLATFORM_RETRY,
    {
      note: 'the function service failed for a moment',
      example: see('Lambda.SdkClientException', 'Unable to execute HTTP request', 'record'),
    },
  ),
  signature('function-timed-out', { text: codes('Sandbox.Timedout', 'Task timed out after') }, PLATFORM_RETRY, {
    note: 'a function of ours ran past its timeout',
    example: see('Sandbox.Timedout', 'RequestId: 1f Error: Task timed out after 60.00 seconds', 'stage'),
  }),
  signature(
    'function-out-of-memory',
    { text: codes('Runtime.OutOfMemory', 'Runtime.ExitError', 'ENOMEM') },
    PLATFORM_RETRY,
    {
      note: 'a function of ours used up its memory or died',
      example: see('Runtime.ExitError', 'RequestId: 1f Error: Runtime exited with error: signal: killed', 'record'),
    },
  ),
  signature(
    'function-broken',
    {
      text: codes(
        'Runtime.ImportModuleError',
        'Runtime.HandlerNotFound',
        'Runtime.UserCodeSyntaxError',
        'ResourceNotFoundException',
      ),
    },
    PLATFORM_FINAL,
    {
      note: 'a function of ours does not load or does not exist',
      example: see('Runtime.ImportModuleError', "Cannot find module 'zod'", 'stage'),
    },
  ),
  signature(
    'service-throttled',
    { text: codes(...THROTTLING_NAMES, 'Throttling.User', 'rateLimitExceeded') },
    PLATFORM_RETRY,
    {
      note: 'the cloud throttled our calls',
      example: see('RequestLimitExceeded', 'Request limit exceeded.', 'provision'),
    },
  ),
  signature('service-fault', { text: codes(...SERVICE_FAULT_NAMES) }, PLATFORM_RETRY, {
    note: 'a service of the cloud failed for a moment',
    example: see('ServiceUnavailable', 'Reduce your request rate.', 'record'),
  }),
  signature('store-conflict', { text: codes('TransactionCanceledException', ...CONFLICT_NAMES) }, PLATFORM_RETRY, {
    note: 'two writers met in a store of ours',
    example: see('TransactionCanceledException', 'TransactionConflict', 'close'),
  }),
  signature(
    'credentials-expired',
    { text: codes('ExpiredToken', 'ExpiredTokenException', 'RequestExpired', 'Request has expired') },
    PLATFORM_RETRY,
    {
      note: 'credentials or a signed URL of ours ran out',
      example: see('StagingFailedError', 'GET input/w2.json: 403 Request has expired', 'stage'),
    },
  ),
  signature('disk-read-only', { text: codes('EROFS', 'read-only file system') }, PLATFORM_FINAL, {
    note: 'a disk of ours cannot be written',
    example: see('RecordFailedError', "EROFS: read-only file system, open 'run.json'", 'record'),
  }),
  signature('handles-exhausted', { text: codes('EMFILE', 'ENFILE') }, PLATFORM_RETRY, {
    note: 'too many open files on our side',
    example: see('Error', 'EMFILE: too many open files', 'stage'),
  }),
  signature('file-forbidden', { text: codes('EACCES', 'EPERM') }, PLATFORM_FINAL, {
    note: 'a file or folder of ours may not be used by the account we run as',
    example: see('Error', "EACCES: permission denied, mkdir '/var/lib/runs'", 'record'),
  }),
  signature('connection-broken', { text: codes(...CONNECTION_NAMES) }, PLATFORM_RETRY, {
    note: 'a connection between parts of ours broke',
    example: see('Error', 'read ECONNRESET', 'record'),
  }),
];
