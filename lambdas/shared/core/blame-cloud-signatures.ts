import {
  AGENT_RESULT,
  codes,
  PLATFORM_FINAL,
  PLATFORM_RETRY,
  see,
  signature,
  type Signature,
} from './blame-signature.ts';

/** EC2 and Systems Manager. */
export const AWS_SIGNATURES: readonly Signature[] = [
  signature(
    'ec2-no-capacity',
    {
      text: codes(
        'InsufficientInstanceCapacity',
        'InsufficientHostCapacity',
        'InsufficientCapacityOnHost',
        'InsufficientReservedInstanceCapacity',
      ),
    },
    PLATFORM_RETRY,
    {
      note: 'no machine of that type is free in any zone of the list',
      example: see(
        'InsufficientInstanceCapacity',
        'We currently do not have sufficient m7i.xlarge capacity in eu-west-1a',
        'provision',
      ),
    },
  ),
  signature('ec2-vcpu-quota', { text: codes('VcpuLimitExceeded', 'InstanceLimitExceeded') }, PLATFORM_RETRY, {
    note: 'the vCPU quota of the account is used up',
    example: see(
      'VcpuLimitExceeded',
      'You have requested more vCPU capacity than your current vCPU limit of 64',
      'provision',
    ),
  }),
  signature('ec2-spot-quota', { text: codes('MaxSpotInstanceCountExceeded', 'SpotMaxPriceTooLow') }, PLATFORM_RETRY, {
    note: 'no more spot machines for this account now',
    example: see('MaxSpotInstanceCountExceeded', 'Max spot instance count exceeded', 'provision'),
  }),
  signature('ec2-not-visible-yet', { text: codes('InvalidInstanceID.NotFound') }, PLATFORM_RETRY, {
    note: 'a new machine cannot be described yet, or is gone before the agent acted',
    example: see('InvalidInstanceID.NotFound', "The instance ID 'i-0a1' does not exist", 'await'),
  }),
  signature(
    'ec2-token-used-up',
    { text: codes('IdempotentInstanceTerminated', 'IdempotentParameterMismatch') },
    PLATFORM_RETRY,
    {
      note: 'the launch token belongs to another or to a terminated machine',
      example: see('IdempotentInstanceTerminated', 'The request token belongs to a terminated instance', 'provision'),
    },
  ),
  signature(
    'ec2-image-missing',
    { text: codes('InvalidAMIID.NotFound', 'InvalidAMIID.Unavailable', 'InvalidAMIID.Malformed') },
    PLATFORM_FINAL,
    {
      note: 'the machine image does not exist here',
      example: see('InvalidAMIID.NotFound', "The image id '[ami-0a1]' does not exist", 'provision'),
    },
  ),
  signature(
    'ec2-no-addresses',
    { text: codes('InsufficientFreeAddressesInSubnet', 'AddressLimitExceeded') },
    PLATFORM_RETRY,
    {
      note: 'the subnet or the account has no address left',
      example: see('InsufficientFreeAddressesInSubnet', 'Not enough free addresses in subnet-0a1', 'provision'),
    },
  ),
  signature(
    'ec2-volume-quota',
    { text: codes('VolumeLimitExceeded', 'MaxIOPSLimitExceeded', 'InsufficientVolumeCapacity') },
    PLATFORM_RETRY,
    {
      note: 'the volume quota of the account is used up',
      example: see('VolumeLimitExceeded', 'You have exceeded your maximum gp3 storage limit of 50 TiB', 'provision'),
    },
  ),
  signature(
    'ec2-disk-key-unusable',
    { text: codes('Client.InternalError', 'Client.InvalidKMSKey.InvalidState') },
    PLATFORM_FINAL,
    {
      note: 'the key of an encrypted volume cannot be used',
      example: see(
        'ProvisionFailedError',
        'i-0a1 terminated at launch: Client.InternalError: Client error on launch',
        'provision',
      ),
    },
  ),
  signature('ec2-launch-fault', { text: codes('Server.InternalError') }, PLATFORM_RETRY, {
    note: 'the machine failed inside EC2 while it started',
    example: see(
      'ProvisionFailedError',
      'i-0a1 terminated at launch: Server.InternalError: Internal error on launch',
      'provision',
    ),
  }),
  signature(
    'ssm-not-registered',
    { text: codes('InvalidInstanceId', 'InvalidInstanceID', 'not in a valid state for account', 'TargetNotConnected') },
    PLATFORM_RETRY,
    {
      note: 'the machine runs but never reported to Systems Manager',
      example: see('InvalidInstanceId', 'Instances [[i-0a1]] not in a valid state for account 111122223333', 'await'),
    },
  ),
  signature('ssm-undeliverable', { text: codes('Undeliverable') }, PLATFORM_RETRY, {
    note: 'a command could not reach the machine before the agent acted',
    example: see('Undeliverable', 'command 9c1 to i-0a1', 'stage'),
  }),
  signature('ssm-delivery-timed-out', { text: codes('DeliveryTimedOut', 'Delivery Timed Out') }, PLATFORM_RETRY, {
    note: 'a command was not taken up in time before the agent acted',
    example: see('DeliveryTimedOut', 'command 9c1 to i-0a1: Delivery Timed Out', 'stage'),
  }),
  signature(
    'ssm-run-timed-out',
    { text: codes('ExecutionTimedOut', 'Execution Timed Out'), stages: ['run'], agentActed: true, evidence: false },
    AGENT_RESULT,
    {
      note: 'the agent acted and outlived even the limit of the command that waits for it',
      example: see('ExecutionTimedOut', 'command 9c1 on i-0a1: Execution Timed Out', 'run', { agentActed: true }),
    },
  ),
  signature('ssm-execution-timed-out', { text: codes('ExecutionTimedOut', 'Execution Timed Out') }, PLATFORM_RETRY, {
    note: 'a command of ours ran past its limit',
    example: see('ExecutionTimedOut', 'command 9c1 on i-0a1: Execution Timed Out', 'stage'),
  }),
  signature('ssm-terminated', { text: codes('Terminated') }, PLATFORM_RETRY, {
    note: 'a command was dropped with its machine before the agent acted',
    example: see('Terminated', 'command 9c1 to i-0a1', 'stage'),
  }),
  signature('ssm-invocation-missing', { text: codes('InvocationDoesNotExist') }, PLATFORM_RETRY, {
    note: 'a command that was just sent is not visible yet',
    example: see('InvocationDoesNotExist', 'command 9c1 on i-0a1', 'stage'),
  }),
];

/** Other clouds. */
export const OTHER_CLOUD_SIGNATURES: readonly Signature[] = [
  signature(
    'gcp-no-capacity',
    { text: codes('ZONE_RESOURCE_POOL_EXHAUSTED', 'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS', 'stockout') },
    PLATFORM_RETRY,
    {
      note: 'no machine of that type is free in the zone',
      example: see(
        'ZONE_RESOURCE_POOL_EXHAUSTED',
        "The zone 'us-central1-a' does not have enough resources",
        'provision',
      ),
    },
  ),
  signature('gcp-quota', { text: codes('QUOTA_EXCEEDED', 'quotaExceeded', 'RESOURCE_EXHAUSTED') }, PLATFORM_RETRY, {
    note: 'a quota of the project is used up',
    example: see('QUOTA_EXCEEDED', "Quota 'C4_CPUS' exceeded. Limit: 24.0 in region us-central1", 'provision'),
  }),
  signature(
    'gcp-not-ready',
    { text: codes('RESOURCE_NOT_READY', 'resourceNotReady', 'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE') },
    PLATFORM_RETRY,
    {
      note: 'a resource of the project is busy',
      example: see('resourceNotReady', 'The resource is not ready', 'provision'),
    },
  ),
  signature(
    'alibaba-no-stock',
    { text: codes('OperationDenied.NoStock', 'Zone.NotOnSale', 'InvalidInstanceType.NotSupported', 'NoInstanceStock') },
    PLATFORM_RETRY,
    {
      note: 'no machine of that type is on sale in the zone',
      example: see('OperationDenied.NoStock', 'The requested resource is sold out in the specified zone', 'provision'),
    },
  ),
  signature(
    'alibaba-quota',
    { text: codes('QuotaExceed.ElasticQuota', 'QuotaExceed.AfterpayInstance', 'InstanceQuotaExceeded') },
    PLATFORM_RETRY,
    {
      note: 'a quota of the account is used up',
      example: see('QuotaExceed.ElasticQuota', 'The number of vCPUs exceeds the quota', 'provision'),
    },
  ),
  signature(
    'alibaba-account',
    { text: codes('InvalidAccountStatus.NotEnoughBalance', 'Account.Arrearage', 'RealNameAuthenticationError') },
    PLATFORM_FINAL,
    {
      note: 'the account may not buy machines',
      example: see('InvalidAccountStatus.NotEnoughBalance', 'Your account does not have enough balance', 'provision'),
    },
  ),
  signature(
    'alibaba-initializing',
    { text: codes('IncorrectInstanceStatus', 'IncorrectInstanceStatus.Initializing') },
    PLATFORM_RETRY,
    {
      note: 'the machine cannot be changed while it starts',
      example: see(
        'IncorrectInstanceStatus.Initializing',
        'The current status of the resource does not support this operation',
        'release',
      ),
    },
  ),
];
