import type { CleanupMode } from '#core/cleanup-mode';
import { rowKeys } from '#core/keys';
import { SIGHTING_GAP_SECONDS } from '#core/reaping';
import { TeardownRowSchema, type TeardownRow } from '#core/rows';
import type { ExecutionEvent } from '#local/asl/host';
import type { VirtualClock } from '#local/clock';
import type { EmbeddedHost } from '#local/embedded-host';
import type { Log } from '#ports/ports';
import { expiryTimer } from '#usecases/steps/release';
import type { Chance } from './chance.ts';
import type { Cloud } from './cloud.ts';
import type { LaunchAsk, Machine } from './cloud-machine.ts';
import type { LeanStore } from './lean-store.ts';
import type { Schedule } from './schedule.ts';
import type { Truth } from './truth.ts';

export const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} };

/** What the checks see of the world they are part of. */
interface CheckedWorld {
  readonly schedule: Schedule;
  readonly chance: Chance;
  readonly clock: VirtualClock;
  readonly cloud: Cloud;
  readonly host: EmbeddedHost;
  readonly store: LeanStore;
  readonly truth: Truth;
}

/** What ends a machine besides functions. */
const BY_NOBODY_OF_OURS = ['agent', 'a loss'];
/** What a machine has come to in the words of the ledger. */
const LEFT = { stop: 'stopped', keep: 'kept', detach: 'detached' } as const;
/** Longest a machine may live before it is lost, when it is drawn to be. */
const LOSS_SECONDS = 400;
const ORPHAN = 'ghost__scripted__none__copy__v0.1';

/** The attempt that a payload is about, if it is about one. */
export function attemptOf(payloadJson: string): string | null {
  const payload = JSON.parse(payloadJson) as Readonly<Record<string, unknown>>;
  const { attemptId, unitId, attempt, jobId, gradeId } = payload;
  if (typeof attemptId === 'string') return attemptId;
  if (typeof unitId === 'string' && typeof attempt === 'number') return `${unitId}.${String(attempt)}`;
  if (typeof jobId === 'string') return jobId.slice(0, jobId.indexOf('~'));
  return typeof gradeId === 'string' ? gradeId.replace(/\.g\d+$/u, '') : null;
}

/** Rows that nothing should be left of after a sweep, and counters that count something. */
export function leftRows(store: LeanStore): readonly string[] {
  const rows = ['wait#', 'slots', 'open-attempts', rowKeys.activeSweep('').pk].flatMap((prefix) =>
    store.partitions(prefix).flatMap((pk) => store.rowsIn(pk).map(({ sk }) => `row ${pk} ${sk}`)),
  );
  // What was launched in a minute is no count of what is held.
  const { launches: _, ...held } = store.peek(rowKeys.slotCounters())?.body ?? {};
  const counters = Object.values(held);
  const counts = counters.flatMap((each) => (typeof each === 'object' && each !== null ? Object.entries(each) : []));
  return [...rows, ...counts.map(([name, count]) => `counter of ${name}: ${String(count)}`)];
}

/** What the ledger says of a machine: how it left our care, null when it is there still or was never written down. */
export function ledgerEnd(store: LeanStore, { attemptId, instanceId }: Machine): TeardownRow['end'] {
  if (attemptId === null) return null;
  const row = store.peek(rowKeys.teardown(attemptId, 'machine', instanceId));
  return row === undefined ? null : TeardownRowSchema.parse(row.body).end;
}

/** Whether a machine is as its ledger says that it was left, and as its sweep asked for. */
export function isLeftAsAsked({ store, cloud }: CheckedWorld, mode: CleanupMode, machine: Machine): boolean {
  if (mode === 'delete' || ledgerEnd(store, machine) !== LEFT[mode]) return false;
  const state = cloud.stateOf(machine);
  // Its own timer may have stopped it since, or its provider may have taken it.
  if (machine.endedBy === 'a loss') return true;
  return mode === 'stop' ? state === 'stopped' : state !== 'terminated' && machine.isDetached === (mode === 'detach');
}

/** Machines that the ledger calls left and that somebody has ended who had no right to. */
export function wronglyEnded({ store, cloud }: CheckedWorld): readonly string[] {
  return [...cloud.machines.values()].flatMap((machine) => {
    const end = ledgerEnd(store, machine);
    const isLeft = end !== null && end !== 'gone';
    if (!isLeft || cloud.stateOf(machine) !== 'terminated' || machine.endedBy === 'a loss') return [];
    return [`${machine.instanceId} is ${end} by its ledger, and was ended by ${String(machine.endedBy)}`];
  });
}

/** Before each launch: what would end the machine without us is there, and no other machine is. */
export function checkLaunch({ store, cloud, truth, host }: CheckedWorld, { attemptId }: LaunchAsk): void {
  if (attemptId === null) return;
  const rows = store.rowsIn(rowKeys.teardown(attemptId, '', '').pk);
  if (!rows.some(({ body }) => body['kind'] === 'intent')) truth.violate(`${attemptId} is launched without an intent`);
  const other = cloud.alive(attemptId).find(({ endedAt }) => endedAt === null);
  if (other !== undefined) truth.violate(`${attemptId} is launched beside ${other.instanceId}`);
  void host.ports.timers.exists(expiryTimer(attemptId)).then((isThere) => {
    if (!isThere) truth.violate(`${attemptId} is launched without a schedule that ends it`);
  });
}

/** Draws when a machine is lost, and whether its provider will say why. */
export function drawLoss(world: CheckedWorld, machine: Machine): void {
  const { chance, clock, cloud, truth } = world;
  const { attemptId } = machine;
  if (attemptId === null) return;
  if (machine.runningAt === Infinity) truth.strike('neverOnline', attemptId);
  const name = `loss of ${attemptId} ${machine.pool}`;
  const isEvident = chance.strikes('lostEvident', name);
  if (!isEvident && !chance.strikes('lostSilent', name)) return;
  clock.setTimer(chance.next(name) * LOSS_SECONDS * 1000, () => {
    if (!chance.isOn || machine.endedAt !== null) return;
    const attempt = truth.of(attemptId);
    if (isEvident) truth.strike('lostEvident', attemptId);
    else if (attempt.agentStartedAt === null) truth.strike('lostBeforeAgent', attemptId);
    else attempt.isLostSilently = true;
    cloud.end(machine, isEvident ? 'Server.SpotInstanceTermination' : '', 'a loss');
  });
}

/** One machine that is none of ours, and now and then one of ours that no row knows. */
export function launchStrangers({ chance, clock, cloud }: CheckedWorld): void {
  const common = { expiresAt: '2026-01-20T00:00:00.000Z', pool: 'm7i.large a', vCpus: 0 };
  cloud.plant({ ...common, clientToken: 'foreign', attemptId: null });
  if (!chance.marks('orphan', 'orphan')) return;
  clock.setTimer(chance.at('orphan time') * 300_000, () => {
    cloud.plant({ ...common, clientToken: 'orphan', attemptId: ORPHAN });
  });
}

/** Nothing ends a machine that is wanted and in time but its own path, and nothing an unknown one at its first sight. */
export function checkEnding({ store, truth }: CheckedWorld, machine: Machine, by: string): void {
  const { attemptId, instanceId, listedAt } = machine;
  if (attemptId === null) {
    truth.violate(`${instanceId}, which is none of ours, is ended by ${by}`);
    return;
  }
  if (attemptId === ORPHAN) {
    if (listedAt === null || truth.now - listedAt < SIGHTING_GAP_SECONDS * 1000)
      truth.violate(`${instanceId} is ended by ${by} at its first sight`);
    return;
  }
  const end = ledgerEnd(store, machine);
  if (end !== null && BY_NOBODY_OF_OURS.every((each) => each !== by))
    truth.violate(`${instanceId} of ${attemptId} is ended by ${by} although its ledger calls it ${end}`);
  if (by !== 'reap-sandboxes' && by !== 'expire-sandbox') return;
  if (truth.now >= Date.parse(machine.expiresAt)) {
    truth.strike('endedByUs', attemptId);
    return;
  }
  const row = store.peek(rowKeys.attempt(attemptId));
  if (row?.body['closedAt'] === null) truth.violate(`${instanceId} of the open ${attemptId} is ended by ${by}`);
}

/** A unit whose machine run has ended well has nothing that runs but what its sweep asked to be left. */
export function checkClosedUnit(world: CheckedWorld, { stateMachineName, input }: ExecutionEvent): void {
  const { cloud, truth, schedule } = world;
  if (stateMachineName !== 'sweep/RunUnits') return;
  const { unitId } = JSON.parse(input) as { readonly unitId: string };
  for (const attemptId of truth.attempts.keys()) {
    if (attemptId.slice(0, attemptId.lastIndexOf('.')) !== unitId) continue;
    for (const machine of cloud.alive(attemptId))
      if (!isLeftAsAsked(world, schedule.cleanupMode, machine))
        truth.violate(`${unitId} is closed while ${machine.instanceId} of ${attemptId} runs`);
  }
}
