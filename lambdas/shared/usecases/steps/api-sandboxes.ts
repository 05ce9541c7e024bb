import { ApiRefusal } from '#core/api-refusal';
import { decodeCursor, encodeCursor } from '#core/page-cursor';
import type { AttemptRow, DetachedRow } from '#core/rows';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import type { Ports } from '#ports/ports';
import type { SandboxProvider, SandboxSummary } from '#ports/sandbox-provider';
import type { Page } from './api-pages.ts';
import { storedSandbox } from './attempt-stages.ts';
import { DETACHED_ROWS, detachedRow, stateOfDetached } from './detached.ts';
import { forEachGuarded } from './for-each.ts';
import { findAttempt, seeSandbox, type SeenSandbox } from './reaping.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'clock'>;

const CURSOR_OF = ['sandboxes'];

/** Stands behind the last provider: what was left running and no provider lists any more. */
const DETACHED = '';
const DETACHED_AT_A_TIME = 50;

/**
 * What one provider lists at once, with what is stored of each; the cursor leads on to the next page and the next provider, and
 * at last to what is ours no more.
 * @throws ApiRefusal InvalidRequestError for a cursor that leads nowhere.
 */
export async function pageOfSandboxes(
  { cursor }: { readonly cursor?: string | undefined },
  ports: Needs,
): Promise<Page<SandboxEntry>> {
  const providers = ports.providers.all().toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const from = cursor === undefined ? { name: providers[0]?.name, behind: undefined } : placeOf(cursor);
  if (from.name === undefined || from.name === DETACHED) return await pageOfDetached(from.behind, ports);
  const at = providers.findIndex(({ name }) => name === from.name);
  const provider = providers[at];
  if (provider === undefined) throw unknownPlace();
  const page = await provider.list(from.behind);
  const items = await entriesOf(page.sandboxes, provider, ports);
  const next = providers[at + 1];
  const after = page.cursor === undefined ? [next === undefined ? DETACHED : next.name] : [provider.name, page.cursor];
  if (after[0] === DETACHED) {
    const last = await pageOfDetached(undefined, ports);
    return { items: [...items, ...last.items], cursor: last.cursor };
  }
  return { items, cursor: encodeCursor(CURSOR_OF, JSON.stringify(after)) };
}

function placeOf(cursor: string): { readonly name: string; readonly behind: string | undefined } {
  const [name, behind] = parsed(decodeCursor(CURSOR_OF, cursor));
  if (typeof name !== 'string' || (behind !== undefined && typeof behind !== 'string')) throw unknownPlace();
  return { name, behind };
}

function parsed(text: string): readonly unknown[] {
  try {
    const place: unknown = JSON.parse(text);
    return Array.isArray(place) ? place : [];
  } catch {
    return [];
  }
}

function unknownPlace(): ApiRefusal {
  return new ApiRefusal('InvalidRequestError', 'the cursor is damaged; leave it out to start again', [
    { path: 'query.cursor', message: 'is none that a page gave' },
  ]);
}

/** In the order of the provider. */
async function entriesOf(
  sandboxes: readonly SandboxSummary[],
  provider: SandboxProvider,
  ports: Needs,
): Promise<readonly SandboxEntry[]> {
  const entries = new Map<SandboxSummary, SandboxEntry>();
  const look = async (sandbox: SandboxSummary): Promise<void> => {
    entries.set(sandbox, entryOf(await seeSandbox(ports, sandbox), provider.name, ports.clock.now()));
  };
  await forEachGuarded(sandboxes, look, { onFailure: () => undefined });
  return sandboxes.flatMap((sandbox) => entries.get(sandbox) ?? []);
}

/** One that is gone is not told of. */
async function pageOfDetached(behind: string | undefined, ports: Needs): Promise<Page<SandboxEntry>> {
  const query = { pk: DETACHED_ROWS, limit: DETACHED_AT_A_TIME };
  const page = await ports.unitStore.query(behind === undefined ? query : { ...query, cursor: behind });
  const rows = page.rows.map(detachedRow);
  const entries = new Map<DetachedRow, SandboxEntry>();
  const look = async (row: DetachedRow): Promise<void> => {
    const entry = await detachedEntry(row, ports);
    if (entry.state !== 'gone') entries.set(row, entry);
  };
  await forEachGuarded(rows, look, { onFailure: () => undefined });
  const cursor = page.cursor === undefined ? null : encodeCursor(CURSOR_OF, JSON.stringify([DETACHED, page.cursor]));
  return { items: rows.flatMap((row) => entries.get(row) ?? []), cursor };
}

async function detachedEntry(row: DetachedRow, ports: Needs): Promise<SandboxEntry> {
  const { attemptId, sandboxId, provider, detachedAt } = row;
  const asked = `its attempt left it running at ${detachedAt} (cleanup mode detach)`;
  const attempt = await findAttempt(ports, attemptId);
  const known = factsOf(sandboxId, attempt, ports.clock.now());
  return {
    provider,
    sandboxId,
    state: await stateOfDetached(row, ports),
    owner: 'detached',
    attemptId,
    ...known,
    expiresAt: null,
    orphanSince: null,
    reaper: 'keep',
    why: row.why === null ? `${asked}; it is ours no more, and nobody ends it` : `${row.why} (since ${detachedAt})`,
  };
}

/** What is stored of a sandbox. */
function factsOf(
  sandboxId: string,
  attempt: AttemptRow | undefined,
  now: Date,
): Pick<SandboxEntry, 'unitId' | 'sweepId' | 'os' | 'launchedAt' | 'ageSeconds'> {
  const stored = attempt === undefined ? null : storedSandbox(attempt);
  const own = stored?.sandboxId === sandboxId ? stored : null;
  const launchedAt = own === null ? null : (own.launchedAt ?? attempt?.stageStartedAt['provision'] ?? null);
  return {
    unitId: attempt?.unitId ?? null,
    sweepId: attempt?.sweepId ?? null,
    os: own?.os ?? null,
    launchedAt,
    ageSeconds: launchedAt === null ? null : Math.floor((now.getTime() - Date.parse(launchedAt)) / 1000),
  };
}

function entryOf(seen: SeenSandbox, provider: string, now: Date): SandboxEntry {
  const { sandbox, owner, attempt, firstSeenAt, decision, why } = seen;
  return {
    provider,
    sandboxId: sandbox.sandboxId,
    state: sandbox.state,
    owner,
    attemptId: sandbox.attemptId === '' ? null : sandbox.attemptId,
    ...factsOf(sandbox.sandboxId, attempt, now),
    expiresAt: isoOf(sandbox.expiresAt),
    orphanSince: owner === 'orphan' ? firstSeenAt : null,
    reaper: decision,
    why,
  };
}

/** Tags are what somebody has written. */
function isoOf(text: string): string | null {
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
