import { attemptId } from '#core/ids';
import { rowKeys } from '#core/keys';
import { SlotRowSchema, type AdmitWait } from '#core/rows';
import type { AdmitPayload } from '#contracts/payloads';
import type { Ports } from '#ports/ports';
import { findRow, readUnit } from './steps/rows.ts';

type Needs = Pick<Ports, 'unitStore' | 'clock' | 'events'>;

/** Asks for a slot: stores the token where grant-slots finds it. A repeat replaces the token and keeps the grant. */
export async function admitUnit(payload: AdmitPayload, ports: Needs): Promise<void> {
  const { value: unit } = await readUnit(ports.unitStore, payload.sweepId, payload.unitId);
  const wanted = attemptId(payload.unitId, payload.attempt);
  const held = await findRow(ports.unitStore, rowKeys.slot(wanted), SlotRowSchema);
  const wait: AdmitWait = {
    token: payload.token,
    sweepId: payload.sweepId,
    unitId: payload.unitId,
    agentId: unit.agentId,
    attempt: payload.attempt,
    run: payload.run,
    vCpus: unit.vCpus,
    provider: unit.provider,
    seat: unit.seat,
    askedAt: ports.clock.now().toISOString(),
    grantedAttemptId: held === undefined ? null : wanted,
  };
  await ports.unitStore.write([
    { put: { ...rowKeys.admitWait(payload.sweepId, payload.unitId), body: wait }, when: 'any' },
  ]);
  await ports.events.publish('unit.waiting', { sweepId: payload.sweepId });
}
