import type { AttemptRow, TeardownRow } from '#core/rows';
import { isNotIn, isStillThere, madeRow, type ReleaseFacts } from '#core/teardown';
import type { Ports } from '#ports/ports';
import type { ReleaseMode, SandboxProvider, SandboxSummary, SandboxToRelease } from '#ports/sandbox-provider';
import { storedSandbox } from './attempt-stages.ts';
import { isThere } from './detached.ts';
import { mayAppear } from './launch-log.ts';
import { teardownWrite } from './teardown.ts';

type Needs = Pick<Ports, 'unitStore' | 'providers' | 'clock'>;

/** A sandbox of which nothing is known but that its release failed. */
export interface Failure {
  readonly sandboxId: string;
  readonly error: unknown;
}

/** What all sandboxes of an attempt have come to; `rows` is the ledger, with what had to be noted before a release. */
export interface Released extends Pick<ReleaseFacts, 'rows' | 'reports' | 'isUncertain'> {
  readonly failures: readonly Failure[];
}

interface Asked {
  readonly mode: ReleaseMode;
  /** The ledger as it was. */
  readonly before: readonly TeardownRow[];
}

/** Asks the provider to release every sandbox of an attempt: its own, or without a handle all that anybody knows of. */
export async function releaseSandboxes(ports: Needs, attempt: AttemptRow, { mode, before }: Asked): Promise<Released> {
  const provider = ports.providers.get(attempt.provider);
  const stored = storedSandbox(attempt);
  const shown = stored === null ? await listed(ports, attempt) : [stored];
  const sandboxes = stored === null ? [...shown, ...onlyNamed(attempt, before, shown)] : shown;
  const rows = [...before];
  const reports: ReleaseFacts['reports'][number][] = [];
  const failures: Failure[] = [];
  for (const sandbox of sandboxes) {
    const { sandboxId } = sandbox;
    try {
      if (stored === null && mode === 'detach')
        rows.push(...(await noteIfThere(ports, attempt, { sandboxId, before })));
      reports.push({ sandboxId, resources: await provider.release(sandbox, mode) });
    } catch (error) {
      failures.push({ sandboxId, error });
    }
  }
  const isSeen = shown.length > 0 || reports.some(({ resources }) => resources.some(({ fate }) => fate !== 'gone'));
  const isUncertain = !isSeen && (await mayAppear(ports, attempt.attemptId));
  return { rows, reports, failures, isUncertain };
}

/** No list names what has been detached, and no handle was stored: unless the ledger has it first, a repeat would not know of it. */
async function noteIfThere(
  { unitStore, providers, clock }: Needs,
  attempt: AttemptRow,
  { sandboxId, before }: Pick<Asked, 'before'> & Pick<SandboxToRelease, 'sandboxId'>,
): Promise<readonly TeardownRow[]> {
  const row = madeRow({ ...attempt, madeAt: clock.now().toISOString() }, { kind: 'machine', resourceId: sandboxId });
  // What is left of a machine is listed too, and is none.
  const isNew = isNotIn(before)(row) && isThere(await providers.get(attempt.provider).describe({ sandboxId }));
  if (isNew) await unitStore.write([teardownWrite(row)]);
  return isNew ? [row] : [];
}

/** Machines that the ledger names from an earlier call and that are not shown now: they may be gone, or ours no more. */
function onlyNamed(
  { attemptId }: AttemptRow,
  before: readonly TeardownRow[],
  shown: readonly SandboxToRelease[],
): readonly SandboxToRelease[] {
  return before
    .filter((row) => row.kind === 'machine' && isStillThere(row))
    .filter(({ resourceId }) => !shown.some(({ sandboxId }) => sandboxId === resourceId))
    .map(({ resourceId }) => ({ sandboxId: resourceId, attemptId, resources: [] }));
}

async function listed({ providers }: Needs, { attemptId, provider }: AttemptRow): Promise<readonly SandboxToRelease[]> {
  const found: SandboxToRelease[] = [];
  for await (const sandbox of sandboxesOf(providers.get(provider)))
    if (sandbox.attemptId === attemptId) found.push({ sandboxId: sandbox.sandboxId, attemptId, resources: [] });
  return found;
}

/** Everything of ours that a provider knows of, page by page. */
export async function* sandboxesOf(provider: SandboxProvider): AsyncGenerator<SandboxSummary> {
  let cursor: string | undefined;
  do {
    const page = await provider.list(cursor);
    yield* page.sandboxes;
    cursor = page.cursor;
  } while (cursor !== undefined);
}
