import { rowKeys } from '#core/keys';
import { reapDecision, reapReason, type ReapDecision } from '#core/reaping';
import { AttemptRowSchema, SightingSchema, type AttemptRow, type Sighting } from '#core/rows';
import { isKept, isSetAside } from '#core/teardown';
import { readBody } from '#core/stored-rows';
import type { Ports } from '#ports/ports';
import type { ReleaseMode, SandboxProvider, SandboxSummary, TeardownResource } from '#ports/sandbox-provider';
import { storedSandbox } from './attempt-stages.ts';
import { noteEndedByUs } from './evidence.ts';
import { readRequest } from './inputs.ts';
import { releaseAttempt } from './release.ts';
import { allRows, findRow } from './rows.ts';
import { teardownRows } from './teardown.ts';

type SightPorts = Pick<Ports, 'unitStore' | 'clock'>;
type ReapPorts = Pick<Ports, 'unitStore' | 'artifacts' | 'providers' | 'timers' | 'clock' | 'log'>;

/** By then a machine has been ended by its timer or by the reaper, unless something keeps both from it. */
const OVERDUE_SECONDS = 900;

/** Rights to end a machine ask for both tags, so that what somebody else tagged with the stage alone is safe from us. */
const UNATTRIBUTED =
  'it has the tag of this deployment and none of an attempt: no role here may end it; look whose it is, and end it by hand or tag it otherwise';

/** A sandbox of a provider, with what we know of it. */
export interface SeenSandbox {
  readonly sandbox: SandboxSummary;
  /** `attempt`: an open attempt uses it; `kept`: its attempt left it on purpose; `orphan`: nobody wants it. */
  readonly owner: 'attempt' | 'kept' | 'orphan';
  /** The one its tags name; undefined when there is none. */
  readonly attempt: AttemptRow | undefined;
  readonly firstSeenAt: string | null;
  readonly decision: ReapDecision;
  readonly why: string;
}

/** What the reaper thinks of a sandbox now. Changes nothing. */
export async function seeSandbox(ports: SightPorts, sandbox: SandboxSummary): Promise<SeenSandbox> {
  const { unitStore, clock } = ports;
  const { sandboxId, attemptId, expiresAt, state } = sandbox;
  const before = await findRow(unitStore, rowKeys.sighting(sandboxId), SightingSchema);
  const attempt = await findAttempt(ports, attemptId);
  const open = attemptId === '' ? undefined : await unitStore.get(rowKeys.openAttempt(attemptId));
  const isUsed = open !== undefined && (attempt === undefined || isOwn(attempt, sandboxId));
  const rows = await teardownRows(ports, attemptId);
  const left = isSetAside(rows) ? rows.find(isKept) : undefined;
  const firstSeenAt = before?.value.firstSeenAt ?? null;
  const known = {
    sandbox,
    attempt,
    owner: left !== undefined ? 'kept' : isUsed ? 'attempt' : 'orphan',
    firstSeenAt,
  } as const;
  if (state === 'gone') return { ...known, decision: 'keep', why: 'it is gone' };
  if (attemptId === '') return { ...known, decision: 'keep', why: UNATTRIBUTED };
  if (left !== undefined) {
    const { why, goneAt } = left;
    const since = goneAt === null ? '' : ` since ${goneAt}`;
    return {
      ...known,
      decision: 'keep',
      why: `its attempt left it on purpose${since}${why === null ? '' : ` (${why})`}`,
    };
  }
  const seen = { nowIso: clock.now().toISOString(), expiresAt, isWanted: isUsed, firstSeenAt };
  return { ...known, decision: reapDecision(seen), why: reapReason(seen) };
}

/** One that the attempt has not stored yet may be its own too. */
function isOwn(attempt: AttemptRow, sandboxId: string): boolean {
  const stored = storedSandbox(attempt);
  return stored === null || stored.sandboxId === sandboxId;
}

/** Looks at one sandbox of a provider, and writes down or ends what nobody wants. One that names no attempt is only told of. */
export async function reapIfUnwanted(
  ports: ReapPorts,
  provider: SandboxProvider,
  sandbox: SandboxSummary,
): Promise<void> {
  if (sandbox.state === 'gone') return;
  const seen = await seeSandbox(ports, sandbox);
  const { decision, owner, firstSeenAt } = seen;
  const { sandboxId, attemptId, expiresAt } = sandbox;
  if (attemptId === '') {
    ports.log.warn('sandbox.unattributed', { sandboxId });
    return;
  }
  const overdueSeconds = (ports.clock.now().getTime() - Date.parse(expiresAt)) / 1000;
  if (decision === 'reap' && overdueSeconds >= OVERDUE_SECONDS)
    ports.log.warn('sandbox.overdue', { sandboxId, attemptId, overdueSeconds });
  if (decision === 'note') {
    const seenAt = ports.clock.now().toISOString();
    const sighting: Sighting = { sandboxId, provider: provider.name, firstSeenAt: seenAt };
    ports.log.warn('sandbox.orphan-seen', { sandboxId, attemptId });
    await ports.unitStore.write([{ put: { ...rowKeys.sighting(sandboxId), body: sighting }, when: 'any' }]);
    return;
  }
  const isReaped = decision === 'reap' && (await reap(ports, provider, seen));
  if (firstSeenAt !== null && (isReaped || owner !== 'orphan')) await forgetSighting(ports, sandboxId);
}

/** @returns whether all of it was seen gone; what is left is ended again when it is seen again. */
async function reap(ports: ReapPorts, provider: SandboxProvider, { sandbox, attempt }: SeenSandbox): Promise<boolean> {
  const { sandboxId, attemptId, expiresAt } = sandbox;
  const left = await endSandbox(ports, provider, { sandboxId, attempt, expiresAt });
  if (left.length === 0) ports.log.warn('sandbox.reaped', { sandboxId, attemptId, by: 'reaper' });
  else ports.log.warn('sandbox.release-left', { sandboxId, attemptId, by: 'reaper', left: left.map(nameOf) });
  return left.length === 0;
}

type Named = Pick<TeardownResource, 'resourceId'> & { readonly kind: string };

const nameOf = ({ kind, resourceId }: Named): string => `${kind} ${resourceId}`;

/** @returns what is still there. */
async function endSandbox(
  ports: ReapPorts,
  provider: SandboxProvider,
  { sandboxId, attempt, expiresAt }: Pick<SandboxSummary, 'sandboxId' | 'expiresAt'> & Pick<SeenSandbox, 'attempt'>,
): Promise<readonly Named[]> {
  if (attempt === undefined || !isOwn(attempt, sandboxId)) {
    const report = await provider.release({ sandboxId, resources: [] }, 'delete');
    return report.filter(({ fate }) => fate !== 'gone');
  }
  const mode = await modeOf(ports, attempt);
  if (mode === 'delete')
    await noteEndedByUs(ports, attempt, `the reaper found it, with a time that ended at ${expiresAt}`);
  return await releaseAttempt(ports, attempt, mode);
}

/**
 * How the reaper releases what an attempt still has: as its sweep asked once the attempt itself has tried to, so that a machine
 * that should stay is not deleted for a call that was refused; and for good when its time is over, or was never come.
 */
export async function modeOf(
  { artifacts, clock }: Pick<Ports, 'artifacts' | 'clock'>,
  { expiresAt, requestKey, stageStartedAt }: AttemptRow,
): Promise<ReleaseMode> {
  const isOver = Date.parse(expiresAt) <= clock.now().getTime();
  if (isOver || stageStartedAt['release'] === undefined) return 'delete';
  return (await readRequest(artifacts, requestKey)).cleanupMode;
}

async function forgetSighting({ unitStore }: Pick<Ports, 'unitStore'>, sandboxId: string): Promise<void> {
  await unitStore.write([{ remove: rowKeys.sighting(sandboxId), when: 'any' }]);
}

/** Sightings of sandboxes that their provider, listed whole, knows no more: they are gone. */
export async function forgetGone(
  { unitStore }: Pick<Ports, 'unitStore'>,
  { name }: SandboxProvider,
  seen: ReadonlySet<string>,
): Promise<void> {
  for await (const row of allRows(unitStore, { pk: rowKeys.sighting('').pk })) {
    const { provider, sandboxId } = readBody(SightingSchema, row);
    if (provider === name && !seen.has(sandboxId)) await forgetSighting({ unitStore }, sandboxId);
  }
}

/** A provider may know of a name that is none of ours. */
export async function findAttempt(
  { unitStore }: Pick<Ports, 'unitStore'>,
  attemptId: string,
): Promise<AttemptRow | undefined> {
  if (!/\.[1-9]\d*$/u.test(attemptId)) return undefined;
  return (await findRow(unitStore, rowKeys.attempt(attemptId), AttemptRowSchema))?.value;
}
