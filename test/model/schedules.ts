import fc from 'fast-check';
import { FAULT_KINDS, NO_FAULTS, type FaultKind, type FaultRates } from './chance.ts';
import type { Schedule } from './schedule.ts';

/** Most, in percent, that each kind of fault is drawn with. */
const MOST: Readonly<Record<FaultKind, number>> = {
  eventLost: 60,
  eventTwice: 60,
  eventLate: 60,
  storeConflict: 8,
  storeDown: 2,
  functionFails: 15,
  functionDies: 8,
  noCapacity: 60,
  throttled: 10,
  answerLost: 40,
  seenLate: 80,
  neverOnline: 15,
  endsSlowly: 60,
  keepsVolume: 60,
  lostEvident: 40,
  lostSilent: 15,
  guestSilent: 20,
  replyNever: 15,
  replySlow: 30,
  replyMalformed: 20,
  runnerBroken: 15,
  uploadFails: 40,
  graderUnavailable: 40,
  orphan: 60,
};

/** Each kind is absent from half of the schedules, so that few faults meet each other in most. */
const rates: fc.Arbitrary<FaultRates> = fc
  .record(
    Object.fromEntries(
      FAULT_KINDS.map((kind) => [kind, fc.oneof(fc.constant(0), fc.integer({ min: 1, max: MOST[kind] }))]),
    ) as Record<FaultKind, fc.Arbitrary<number>>,
  )
  .map((drawn) => ({ ...NO_FAULTS, ...drawn }));

/** A machine that is left running takes its vCPUs with it. */
const PLENTY = 64;

export const schedules: fc.Arbitrary<Schedule> = fc
  .record({
    seed: fc.integer({ min: 0, max: 2 ** 31 }),
    rates,
    units: fc.integer({ min: 1, max: 3 }),
    gradingMode: fc.constantFrom('light', 'same-sandbox'),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    vCpuQuota: fc.constantFrom(2, 4, PLENTY),
    privilege: fc.constantFrom('restricted', 'upstream'),
    cleanupMode: fc.constantFrom('delete', 'delete', 'stop', 'keep', 'detach'),
  })
  .map((drawn) => (isLeftRunning(drawn) ? { ...drawn, vCpuQuota: PLENTY } : drawn));

function isLeftRunning({ cleanupMode }: Pick<Schedule, 'cleanupMode'>): boolean {
  return cleanupMode === 'keep' || cleanupMode === 'detach';
}
