import { costOfAttempt } from '#core/attempt-cost';
import type { BilledMachine, CostFacts } from '#core/cost-facts';
import { PriceSheetSchema, type PriceSheet } from '#core/price-sheet';
import type { CostEntry } from '#core/record';
import type { UsageRow } from '#core/usage-row';
import type { CostFile } from '#contracts/cost-schema';

const price = (usd: number) => ({ usd, source: 'made for tests', verified: false });

/** Round prices of a region that there is not. */
export function priceSheet(changes: Partial<PriceSheet> = {}): PriceSheet {
  return PriceSheetSchema.parse({
    formatVersion: 1,
    region: 'xx-test-1',
    currency: 'USD',
    date: '2026-01-01',
    source: 'made for tests',
    machines: {
      'm9.large': { vCpus: 2, hour: price(0.36), spotHour: price(0.18) },
      'm9.huge': { vCpus: 64, hour: price(36) },
    },
    prices: {
      windowsVCpuHour: price(0.036),
      volumeGiBMonth: price(0.73),
      publicAddressHour: price(0.0036),
      transferOutGiB: price(0.1),
      stateTransition: price(0.00001),
      functionGiBSecond: price(0.00001),
      functionRequest: price(0.000001),
      tableWriteUnit: price(0.000001),
      tableReadUnit: price(0.0000001),
      objectPut: price(0.00001),
      objectGet: price(0.000001),
      event: price(0.000001),
      scheduledInvocation: price(0.000001),
    },
    ...changes,
  });
}

export function billedMachine(changes: Partial<BilledMachine> = {}): BilledMachine {
  return { machineType: 'm9.large', os: 'linux', isSpot: false, volumeGiB: 100, hasPublicAddress: true, ...changes };
}

/** An hour on a machine of a cloud, for an agent with a model that says nothing. */
export function costFacts(changes: Partial<CostFacts> = {}): CostFacts {
  return {
    provider: 'aws',
    machine: billedMachine(),
    machineSeconds: 3600,
    transferOutBytes: null,
    model: 'some-model',
    tokens: null,
    controlPlane: {
      transitions: 22,
      invocations: 20,
      gibSeconds: 10,
      tableWriteUnits: 100,
      tableReadUnits: 80,
      objectPuts: 20,
      objectGets: 30,
      events: 2,
      scheduledInvocations: 0,
    },
    sealedRequests: 0,
    ...changes,
  };
}

export function costFile(): CostFile {
  const facts = costFacts();
  return {
    formatVersion: 1,
    attemptId: 'u.1',
    currency: 'USD',
    priceSheet: 'xx-test-1 2026-01-01',
    parts: [...costOfAttempt(facts, priceSheet())],
    facts,
  };
}

export function usageRow(changes: Partial<UsageRow> = {}, cost: readonly CostEntry[] = costFile().parts): UsageRow {
  return {
    attemptId: 'u.1',
    unitId: 'u',
    sweepId: 's',
    agentId: 'a',
    model: null,
    taskPath: 'demo/copy',
    owner: 'arn:aws:iam::111122223333:role/Operator',
    costCenter: 'research',
    blame: 'agent',
    provider: 'aws',
    machineType: 'm9.large',
    closedAt: '2026-01-01T00:00:00.000Z',
    priceSheet: 'xx-test-1 2026-01-01',
    cost: [...cost],
    ...changes,
  };
}
