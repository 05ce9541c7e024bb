import type { CleanupMode } from '#core/cleanup-mode';
import { NO_FAULTS, type FaultRates } from './chance.ts';

/** One sweep, and how often what goes wrong in it. */
export interface Schedule {
  readonly seed: number;
  readonly rates: FaultRates;
  readonly units: number;
  readonly gradingMode: 'light' | 'same-sandbox';
  readonly maxAttempts: number;
  /** vCPUs that may run at once. */
  readonly vCpuQuota: number;
  readonly privilege: 'restricted' | 'upstream';
  readonly cleanupMode: CleanupMode;
}

/** Nothing goes wrong by itself. */
export const CALM: Schedule = {
  seed: 1,
  rates: NO_FAULTS,
  units: 1,
  gradingMode: 'light',
  maxAttempts: 2,
  vCpuQuota: 64,
  privilege: 'restricted',
  cleanupMode: 'delete',
};
