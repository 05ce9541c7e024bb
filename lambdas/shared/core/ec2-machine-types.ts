/** The size that a task's card, or its image's family, asks for. */
export interface MachineWish {
  /** Name of a GCE or EC2 type; null when only sizes are known. */
  readonly machineType: string | null;
  readonly vCpus: number;
  readonly memoryMiB: number;
  readonly gpus: number;
}

interface Size {
  readonly vCpus: number;
  readonly memoryMiB: number;
  readonly gpus: number;
}

/** Sizes that every family below has. */
const SIZES: Readonly<Record<string, number>> = {
  large: 2,
  xlarge: 4,
  '2xlarge': 8,
  '4xlarge': 16,
  '8xlarge': 32,
  '12xlarge': 48,
  '16xlarge': 64,
  '24xlarge': 96,
};

/**
 * GiB of memory for each vCPU, and the families that have it, in order. One wish is only ever met by families of one row: what
 * differs between them is a generation of the same maker's processor, so that results stay comparable.
 */
const FAMILIES: readonly { readonly gibPerVCpu: number; readonly names: readonly string[] }[] = [
  { gibPerVCpu: 2, names: ['c7i', 'c6i'] },
  { gibPerVCpu: 4, names: ['m7i', 'm6i', 'm5'] },
  { gibPerVCpu: 8, names: ['r7i', 'r6i', 'r5'] },
];

/** Machines with NVIDIA L4 cards, as GCE's g2 has them; those with more than one card come in few sizes. */
const L4_FAMILY = 'g6';
const L4_CARDS: Readonly<Record<string, number>> = {
  xlarge: 1,
  '2xlarge': 1,
  '4xlarge': 1,
  '8xlarge': 1,
  '16xlarge': 1,
  '12xlarge': 4,
  '24xlarge': 4,
  '48xlarge': 8,
};

/** What a family's own memory may fall short of a wish: GCE's newest have a little less or more for each vCPU. */
const MEMORY_TOLERANCE = 0.9;
const MIB_PER_GIB = 1024;

/**
 * EC2 types for a wish, the first one first; all of one size. A name of EC2 is taken as it is. `overrides` are those of the
 * settings, by GCE name or number of vCPUs. Empty when nothing is known that is large enough.
 */
export function ec2MachineTypes(
  wish: MachineWish,
  overrides: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const { machineType } = wish;
  for (const key of [machineType ?? '', wish.gpus === 0 ? String(wish.vCpus) : '']) {
    const own = Object.hasOwn(overrides, key) ? overrides[key] : undefined;
    if (own !== undefined) return own;
  }
  if (machineType !== null && isEc2Name(machineType)) return [machineType];
  if (wish.gpus > 0) return cards(wish);
  // A whole wish in the narrowest row that holds it: more memory for each vCPU only when there is no other way.
  const needed = (wish.memoryMiB * MEMORY_TOLERANCE) / wish.vCpus / MIB_PER_GIB;
  for (const { gibPerVCpu, names } of FAMILIES.filter((row) => row.gibPerVCpu >= needed)) {
    const size = smallest(wish, gibPerVCpu);
    if (size !== undefined) return names.map((name) => `${name}.${size}`);
  }
  const widest = FAMILIES.at(-1);
  const size = widest === undefined ? undefined : smallest(wish, widest.gibPerVCpu);
  return widest === undefined || size === undefined ? [] : widest.names.map((name) => `${name}.${size}`);
}

export function isEc2Name(name: string): boolean {
  return /^[a-z][a-z0-9-]*\.[a-z0-9-]+$/u.test(name);
}

/** vCPUs of a type, which the account's quota counts; null for a size that nobody here knows. */
export function ec2VCpus(type: string): number | null {
  const size = type.split('.')[1] ?? '';
  const known = Object.hasOwn(SIZES, size) ? SIZES[size] : undefined;
  if (known !== undefined) return known;
  if (size === 'medium') return 2;
  const times = /^(\d+)xlarge$/u.exec(size)?.[1];
  return times === undefined ? null : Number(times) * 4;
}

function smallest({ vCpus, memoryMiB }: MachineWish, gibPerVCpu: number): string | undefined {
  return Object.entries(SIZES).find(([, count]) => fits({ vCpus, memoryMiB, gpus: 0 }, sized(count, gibPerVCpu)))?.[0];
}

const sized = (vCpus: number, gibPerVCpu: number, gpus = 0): Size => ({
  vCpus,
  memoryMiB: vCpus * gibPerVCpu * MIB_PER_GIB,
  gpus,
});

function fits(wish: Size, offered: Size): boolean {
  return (
    offered.vCpus >= wish.vCpus &&
    offered.memoryMiB >= wish.memoryMiB * MEMORY_TOLERANCE &&
    (wish.gpus === 0 ? offered.gpus === 0 : offered.gpus >= wish.gpus)
  );
}

/** Only GCE's g2 has the same card; any other needs a setting. */
function cards(wish: MachineWish): readonly string[] {
  if (wish.machineType !== null && !wish.machineType.startsWith('g2-')) return [];
  const found = Object.entries(L4_CARDS)
    .map(([size, gpus]) => ({ size, offered: sized(ec2VCpus(`${L4_FAMILY}.${size}`) ?? 0, 4, gpus) }))
    .filter(({ offered }) => fits(wish, offered))
    .sort((one, other) => one.offered.vCpus - other.offered.vCpus);
  return found.slice(0, 1).map(({ size }) => `${L4_FAMILY}.${size}`);
}
