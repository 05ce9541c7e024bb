import type { EventCode, InstanceStateName, RunInstancesRequest } from '@aws-sdk/client-ec2';
import type { MachineFault } from './cloud-faults.ts';

export type Tags = Map<string, string>;

export interface Part {
  readonly id: string;
  readonly zone: string;
  readonly subnetId: string;
  readonly tags: Tags;
  readonly deleteOnTermination: boolean;
  readonly madeAt: number;
  /** Null once the machine it belonged to is gone. */
  instanceId: string | null;
}

export interface VolumeRecord extends Part {
  readonly device: string;
  readonly sizeGiB: number;
  readonly isEncrypted: boolean;
  readonly kmsKeyId: string | undefined;
}

export interface InterfaceRecord extends Part {
  readonly privateIp: string;
  readonly groups: readonly string[];
}

/** One instance, as the cloud keeps it. Times are milliseconds of the cloud's clock. */
export interface MachineRecord {
  readonly instanceId: string;
  /** Request and template, joined. */
  readonly launch: RunInstancesRequest;
  readonly type: string;
  readonly zone: string;
  readonly subnetId: string;
  readonly os: 'linux' | 'windows';
  readonly privateIp: string;
  readonly publicIp: string | undefined;
  readonly tags: Tags;
  readonly launchedAt: number;
  readonly fault: MachineFault;
  state: InstanceStateName;
  hiddenLooks: number;
  onlineAt: number;
  reason: { readonly code: string; readonly message: string } | null;
  transition: string;
  /** When it was told to end, or was lost. */
  endingAt: number | null;
  terminatedAt: number | null;
  /** Codes of events that the provider announces. */
  events: readonly EventCode[];
  isImpaired: boolean;
  /** What becomes of it when its own system shuts down. */
  shutdownBehavior: 'stop' | 'terminate';
  cancelTimer: () => void;
}

export const STATE_CODES: Readonly<Record<InstanceStateName, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

export function vCpusOf(type: string): number {
  const size = type.split('.')[1] ?? '';
  const many = /^(\d+)xlarge$/u.exec(size)?.[1];
  if (many !== undefined) return Number(many) * 4;
  return size === 'xlarge' ? 4 : 2;
}
