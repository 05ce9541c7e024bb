import { imageFamily } from './image-family.ts';
import { shapeOf } from './sandbox-shape.ts';
import { effectivePrivilege, type TaskCard } from './task-card.ts';

/** The route of a card's snapshot, as a request or an environment file has it. */
interface Route {
  readonly provider: string;
  readonly image: string;
  /** Of images that no family names. */
  readonly os?: 'linux' | 'windows';
  readonly resolution: string | null;
  readonly knobs: Readonly<Record<string, unknown>>;
}

/** What holds for all tasks of a request. */
export interface AskedOfAll {
  readonly network: 'open' | 'sealed';
  readonly privilege: Parameters<typeof effectivePrivilege>[1];
}

/** What a task asks of its provider, as far as that is known before there is an attempt. */
export function sandboxWishOf(card: TaskCard, route: Route, { network, privilege }: AskedOfAll) {
  const { image, resolution, knobs } = route;
  const { machineType, vCpus, memoryMiB, gpus } = shapeOf(card, route);
  return {
    snapshot: card.snapshot ?? '',
    image,
    os: imageFamily(image)?.os ?? route.os ?? 'linux',
    machineType,
    vCpus,
    memoryMiB,
    gpu: gpus > 0,
    network,
    privilege: effectivePrivilege(card, privilege),
    resolution,
    knobs,
  } as const;
}
