import type { Chance } from './chance.ts';
import type { Schedule } from './schedule.ts';

/** What an agent does with its machine. */
export type Deed =
  | 'finishes'
  | 'fails'
  | 'runsOut'
  | 'killsRunner'
  | 'reboots'
  | 'shutsDown'
  | 'fillsDisk'
  | 'survives'
  | 'mutes'
  | 'cries'
  | RootDeed;

/** What only root can do: answer in the place of the guest's runner. */
type RootDeed = 'garbles' | 'stalls' | 'forgesCollect' | 'forgesLaunch';

/**
 * `scored`: what it leaves is graded. `forfeited`: it has ended its own run, and there is nothing to grade. Either way it
 * earns no other attempt.
 */
export const CLASS_OF_DEED: Readonly<Record<Deed, 'scored' | 'forfeited'>> = {
  finishes: 'scored',
  fails: 'scored',
  runsOut: 'scored',
  killsRunner: 'scored',
  reboots: 'scored',
  shutsDown: 'forfeited',
  fillsDisk: 'forfeited',
  survives: 'forfeited',
  mutes: 'forfeited',
  cries: 'scored',
  garbles: 'forfeited',
  stalls: 'forfeited',
  forgesCollect: 'forfeited',
  forgesLaunch: 'forfeited',
};

const WEIGHTS: readonly (readonly [Deed, number])[] = [
  ['finishes', 40],
  ['fails', 8],
  ['runsOut', 6],
  ['killsRunner', 8],
  ['reboots', 6],
  ['shutsDown', 8],
  ['fillsDisk', 8],
  ['survives', 8],
  ['mutes', 8],
  ['cries', 8],
];

const ROOT_WEIGHTS: typeof WEIGHTS = [
  ['garbles', 12],
  ['stalls', 12],
  ['forgesCollect', 12],
  ['forgesLaunch', 12],
];

export function drawDeed(chance: Chance, attemptId: string, privilege: Schedule['privilege']): Deed {
  const weights = privilege === 'upstream' ? [...WEIGHTS, ...ROOT_WEIGHTS] : WEIGHTS;
  return chance.pick(`deed ${attemptId}`, weights, 'finishes');
}
