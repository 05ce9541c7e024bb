import { attemptCostUsd } from '#core/attempt-cost';
import type { BilledMachine } from '#core/cost-facts';
import { shapeOf, type SandboxShape } from '#core/sandbox-shape';
import type { TaskCard } from '#core/task-card';
import type { UnitRow } from '#core/rows';
import { priceSheetOf } from '#contracts/price-sheets';
import type { SweepRequest } from '#contracts/sweep-request';
import type { Ports } from '#ports/ports';
import type { SandboxOffer } from '#ports/sandbox-provider';

type Needs = Pick<Ports, 'providers' | 'region'>;
type Snapshot = SweepRequest['snapshots'][string];

/** What a sandbox for a task will take of quota, seats and money, as its provider says before anything is launched. */
export interface Taken {
  readonly vCpus: number;
  readonly seat: UnitRow['seat'];
  /** What an attempt of so many seconds may cost at most; null where no price says so. */
  costUsd(lifeSeconds: number): number | null;
}

export function takenBy(card: TaskCard, snapshot: Snapshot, network: SweepRequest['network'], ports: Needs): Taken {
  const shape = shapeOf(card, snapshot);
  const offer = offerOf(shape, snapshot, network, ports);
  const seats = offer?.seats ?? null;
  return {
    vCpus: offer?.vCpus ?? shape.vCpus,
    seat: seats === null ? null : { name: `${snapshot.provider} ${snapshot.image}`, limit: seats },
    costUsd: (lifeSeconds) => largestUsd(snapshot.provider, offer?.machines ?? [], lifeSeconds, ports.region),
  };
}

function offerOf(
  { machineType, vCpus, memoryMiB, gpus }: SandboxShape,
  { provider, image }: Snapshot,
  network: SweepRequest['network'],
  { providers }: Needs,
): SandboxOffer | null {
  const offering = providers.all().find(({ name }) => name === provider);
  const wish = { image, machineType, vCpus, memoryMiB, gpu: gpus > 0, network };
  return offering?.offer?.(wish) ?? null;
}

/** Of the dearest machine it may get; one without a price makes the whole unknown. */
function largestUsd(
  provider: string,
  machines: readonly BilledMachine[],
  lifeSeconds: number,
  region: string | null,
): number | null {
  const sheet = priceSheetOf(region);
  const costs = (machines.length === 0 ? [null] : machines).map((machine) =>
    attemptCostUsd({ provider, machine, lifeSeconds }, sheet),
  );
  return costs.reduce<number | null>((most, cost) => (most === null || cost === null ? null : Math.max(most, cost)), 0);
}
