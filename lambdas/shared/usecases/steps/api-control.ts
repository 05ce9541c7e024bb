import { ApiRefusal } from '#core/api-refusal';
import { rowKeys } from '#core/keys';
import type { Permission } from '#core/policy';
import type { SweepRow } from '#core/rows';
import { withConflictRetry } from '#core/stored-rows';
import type { SweepSummary } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { knownSweep, sweepSummary } from './api-sweeps.ts';

type Needs = Pick<Ports, 'unitStore' | 'events' | 'clock' | 'log'>;

export type Control = 'cancel' | 'pause' | 'resume';

const CHANGES: Readonly<Record<Control, Partial<SweepRow>>> = {
  cancel: { cancelled: true },
  pause: { paused: true },
  resume: { paused: false },
};

/**
 * Cancels, pauses or resumes a sweep: its row says so, and who grants and who watches goes by the row. Saying it again is
 * no error.
 * @throws ApiRefusal StateConflictError for a sweep that is closed, or resumed after it was cancelled.
 */
export async function controlSweep(
  asked: {
    readonly sweepId: string;
    readonly control: Control;
    readonly principalArn: string;
    readonly permissions: ReadonlySet<Permission>;
  },
  ports: Needs,
): Promise<SweepSummary> {
  const { sweepId, control, principalArn, permissions } = asked;
  const row = await withConflictRetry(async () => {
    const { value, version } = await knownSweep(ports.unitStore, sweepId);
    refuseControl(value, control);
    const changed: SweepRow = { ...value, ...CHANGES[control], ...endOf(value, control, ports) };
    await ports.unitStore.write([{ put: { ...rowKeys.sweep(sweepId), body: changed }, when: { version } }]);
    return changed;
  });
  await ports.events.publish('sweep.changed', { sweepId });
  ports.log.info('sweep.controlled', { sweepId, control, by: principalArn });
  return sweepSummary(row, permissions);
}

/** A sweep whose start was cut off before its machine ran has nobody else to close it. */
function endOf({ status, executionArn }: SweepRow, control: Control, { clock }: Needs): Partial<SweepRow> {
  if (control !== 'cancel' || status !== 'accepted' || executionArn !== null) return {};
  return { status: 'closed', closedAt: clock.now().toISOString() };
}

function refuseControl({ sweepId, status, closedAt, cancelled }: SweepRow, control: Control): void {
  if (status === 'closed' || status === 'failed') {
    const when = closedAt === null ? '' : ` since ${closedAt}`;
    throw new ApiRefusal(
      'StateConflictError',
      `sweep ${sweepId} is ${status}${when}; only an open one can be told to ${control}`,
    );
  }
  if (cancelled && control !== 'cancel') {
    throw new ApiRefusal('StateConflictError', `sweep ${sweepId} was cancelled; it ends by itself`);
  }
}
