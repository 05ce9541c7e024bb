import { attemptCostUsd } from '#core/attempt-cost';
import type { BilledMachine } from '#core/cost-facts';
import { shapeOf } from '#core/sandbox-shape';
import { sandboxWishOf, type AskedOfAll } from '#core/sandbox-wish';
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

/**
 * Why the provider cannot give a task the sandbox it asks for, as far as that is known before anything is launched: no image, no
 * machine of that size, no driver for a GPU, licensed software of which nobody has said how many seats there are, a grader that
 * would run on Windows.
 */
export function sandboxRefusal(
  card: TaskCard,
  snapshot: Snapshot,
  asked: AskedOfAll,
  { providers }: Pick<Needs, 'providers'>,
): string | null {
  const { provider, image } = snapshot;
  const offering = providers.all().find(({ name }) => name === provider);
  const wish = sandboxWishOf(card, snapshot, asked);
  const refusal = offering?.refusal?.(wish) ?? null;
  if (refusal !== null) return refusal;
  const offer = offering?.offer?.(wish) ?? null;
  if (card.grading.mode === 'same-sandbox' && isWindows(snapshot, offer))
    return `grading mode same-sandbox runs in the agent's account after its stop, where nothing runs on Windows any more, and image ${image} of provider ${provider} is Windows: use a task whose grading mode is light, or a Linux image`;
  if (offering?.offer === undefined || !isLicensed(card.snapshot ?? '') || (offer?.seats ?? null) !== null) return null;
  return `snapshot ${card.snapshot ?? ''} is licensed software, and image ${image} of provider ${provider} says nothing of its seats: set seats of sandboxes.images.${image} in the settings`;
}

/** By the request or, as its provider has it, by the image. */
function isWindows({ os }: Snapshot, offer: SandboxOffer | null): boolean {
  return os === 'windows' || (offer?.machines.some((machine) => machine.os === 'windows') ?? false);
}

/** Upstream's tags of snapshots with licensed software. */
function isLicensed(snapshot: string): boolean {
  return /(?:^|-)license$/u.test(snapshot);
}

export function takenBy(card: TaskCard, snapshot: Snapshot, asked: AskedOfAll, ports: Needs): Taken {
  const shape = shapeOf(card, snapshot);
  const offer = offerOf(card, snapshot, asked, ports);
  const seats = offer?.seats ?? null;
  return {
    vCpus: offer?.vCpus ?? shape.vCpus,
    seat: seats === null ? null : { name: `${snapshot.provider} ${offer?.seatOf ?? snapshot.image}`, limit: seats },
    costUsd: (lifeSeconds) => largestUsd(snapshot.provider, offer?.machines ?? [], lifeSeconds, ports.region),
  };
}

function offerOf(card: TaskCard, snapshot: Snapshot, asked: AskedOfAll, { providers }: Needs): SandboxOffer | null {
  const offering = providers.all().find(({ name }) => name === snapshot.provider);
  return offering?.offer?.(sandboxWishOf(card, snapshot, asked)) ?? null;
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
