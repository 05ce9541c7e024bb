import { ExamHallError } from '#core/errors';
import { callService, isPassingName } from './aws-service-fault.ts';

const EC2 = 'EC2';

/** Any call of EC2. @throws StoreUnavailableError when EC2 is busy or away after the SDK's own retries. */
export async function askEc2<R>(call: () => Promise<R>): Promise<R> {
  return await callService(EC2, call);
}

/** What the refusal of a launch means for the launches after it. */
export type LaunchFault =
  /** This pool has none now; another may. */
  | 'capacity'
  /** No pool may give one to this account. */
  | 'quota'
  /** This pool never has that type. */
  | 'not-offered'
  | 'image'
  /** The machine of this token has ended. */
  | 'token-ended'
  /** The token was used with other parameters: those of a deployment before this one. */
  | 'token-differs'
  | 'throttled'
  | 'other';

const FAULTS: Readonly<Record<string, LaunchFault>> = {
  InsufficientInstanceCapacity: 'capacity',
  InsufficientHostCapacity: 'capacity',
  InsufficientCapacityOnHost: 'capacity',
  InsufficientReservedInstanceCapacity: 'capacity',
  InsufficientFreeAddressesInSubnet: 'capacity',
  InsufficientVolumeCapacity: 'capacity',
  VcpuLimitExceeded: 'quota',
  InstanceLimitExceeded: 'quota',
  MaxSpotInstanceCountExceeded: 'quota',
  VolumeLimitExceeded: 'quota',
  AddressLimitExceeded: 'quota',
  NetworkInterfaceLimitExceeded: 'quota',
  Unsupported: 'not-offered',
  InvalidInstanceType: 'not-offered',
  'InvalidAMIID.NotFound': 'image',
  'InvalidAMIID.Unavailable': 'image',
  'InvalidAMIID.Malformed': 'image',
  IdempotentInstanceTerminated: 'token-ended',
  IdempotentParameterMismatch: 'token-differs',
  RequestLimitExceeded: 'throttled',
  RequestThrottled: 'throttled',
  EC2ThrottledException: 'throttled',
  Throttling: 'throttled',
};

export function launchFault(error: unknown): LaunchFault {
  const name = error instanceof Error ? error.name : '';
  if (Object.hasOwn(FAULTS, name)) return FAULTS[name] ?? 'other';
  return isPassingName(name) && name.includes('Throttl') ? 'throttled' : 'other';
}

export function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** @throws ReleaseFailedError for an answer that no later look at the same call will change by itself. */
export function releaseFailed(resourceId: string, error: unknown): ExamHallError {
  const message = `EC2 does not end ${resourceId}: ${textOf(error)}; it is tried again, and the reaper goes on after that`;
  return new ExamHallError('ReleaseFailedError', message, { resourceId }, error);
}
