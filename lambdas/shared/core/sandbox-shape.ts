import { imageFamily } from './image-family.ts';
import { parseMachineType } from './machine-type.ts';
import { requestedShape, type TaskCard } from './task-card.ts';

/** The size of the sandbox that a task gets. */
export interface SandboxShape {
  /** Name of the size; null when sizes alone are asked for. */
  readonly machineType: string | null;
  readonly vCpus: number;
  readonly memoryMiB: number;
  readonly gpus: number;
}

/** Providers that make machines by the name of a size; elsewhere the host decides. */
const BY_TYPE: ReadonlySet<string> = new Set(['aws', 'gcloud', 'aliyun']);
const LEAST = { vCpus: 1, memoryMiB: 1024 } as const;

interface Snapshot {
  readonly provider: string;
  readonly image: string;
  readonly knobs: Readonly<Record<string, unknown>>;
}

/** What the card asks for, else what the family of the image comes with; sizes of the card go before those of its name. */
export function shapeOf(card: TaskCard, { provider, image, knobs }: Snapshot): SandboxShape {
  const asked = requestedShape(card);
  const isSizeAsked = asked.vCpus !== null || asked.memoryMiB !== null;
  const family = BY_TYPE.has(provider) && !isSizeAsked ? (imageFamily(image)?.defaultMachineType ?? null) : null;
  const type = family === null ? null : parseMachineType(family);
  const isNameWhole = card.vCpus === null && card.memoryGiB === null;
  const gpus = Math.max(asked.gpus, isSet(knobs['gpu']) ? 1 : 0);
  // What a family comes with has no GPU: only its size counts then.
  const name = card.machineType?.name ?? (gpus > 0 ? null : family);
  return {
    machineType: isNameWhole ? name : null,
    vCpus: asked.vCpus ?? type?.vCpus ?? LEAST.vCpus,
    memoryMiB: asked.memoryMiB ?? type?.memoryMiB ?? LEAST.memoryMiB,
    gpus,
  };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== '' && value !== 0;
}
