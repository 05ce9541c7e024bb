export type MachineState = 'pending' | 'running' | 'stopped' | 'shutting-down' | 'terminated';

export interface Machine {
  readonly instanceId: string;
  /** Of its tags; a machine that is none of ours has none. */
  readonly attemptId: string | null;
  readonly expiresAt: string;
  readonly pool: string;
  readonly vCpus: number;
  readonly launchedAt: number;
  readonly visibleAt: number;
  /** Infinity when it never comes up. */
  readonly runningAt: number;
  readonly endSeconds: number;
  /** Its volume stays when it has ended, until somebody deletes it. */
  keepsVolume: boolean;
  stoppedAt: number | null;
  /** Shutting itself down stops it, and does not end it. */
  isOnlyStopped: boolean;
  /** Without the tag that makes it ours. */
  isDetached: boolean;
  /** When somebody or something began to end it, and what EC2 says of the reason. */
  endedAt: number | null;
  endReason: string | null;
  /** What ended it, as the model knows. */
  endedBy: string | null;
  /** First time a listing showed it. */
  listedAt: number | null;
}

export interface LaunchAsk {
  readonly clientToken: string;
  readonly attemptId: string | null;
  readonly expiresAt: string;
  readonly pool: string;
  readonly vCpus: number;
}

export class CloudError extends Error {
  constructor(name: string, message: string) {
    super(message);
    this.name = name;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof CloudError && error.name === 'InvalidInstanceID.NotFound';
}

export function resourcesOf(instanceId: string) {
  return [
    { kind: 'volume', resourceId: instanceId.replace('i-', 'vol-') },
    { kind: 'interface', resourceId: instanceId.replace('i-', 'eni-') },
  ] as const;
}
