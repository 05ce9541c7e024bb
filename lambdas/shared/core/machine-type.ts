/** The size of a GCE machine type, as a card asks for it. */
export interface MachineType {
  readonly name: string;
  /** `c4-standard`, `g2-standard`, `n2-custom`. */
  readonly family: string;
  readonly vCpus: number;
  readonly memoryMiB: number;
  readonly gpus: number;
}

/** GiB of memory for each vCPU, by family (Google's machine-family pages). */
const memoryGiBPerVCpu: Readonly<Record<string, number>> = {
  'e2-standard': 4,
  'e2-highmem': 8,
  'e2-highcpu': 1,
  'n1-standard': 3.75,
  'n1-highmem': 6.5,
  'n1-highcpu': 0.9,
  'n2-standard': 4,
  'n2-highmem': 8,
  'n2-highcpu': 1,
  'n2d-standard': 4,
  'n2d-highmem': 8,
  'n2d-highcpu': 1,
  'n4-standard': 4,
  'n4-highmem': 8,
  'n4-highcpu': 2,
  't2d-standard': 4,
  'c2-standard': 4,
  'c2d-standard': 4,
  'c2d-highmem': 8,
  'c2d-highcpu': 2,
  'c3-standard': 4,
  'c3-highmem': 8,
  'c3-highcpu': 2,
  'c4-standard': 3.75,
  'c4-highmem': 7.75,
  'c4-highcpu': 2,
  'c4a-standard': 4,
  'c4a-highmem': 8,
  'c4a-highcpu': 2,
  'c4d-standard': 4,
  'c4d-highmem': 8,
  'c4d-highcpu': 2,
  'm1-megamem': 14.9,
  'm1-ultramem': 24,
  'g2-standard': 4,
};

/** Machines named by their number of GPUs: what comes with each. */
const perGpu: Readonly<Record<string, { readonly vCpus: number; readonly memoryGiB: number }>> = {
  'a2-highgpu': { vCpus: 12, memoryGiB: 85 },
  'a2-ultragpu': { vCpus: 12, memoryGiB: 170 },
  'a2-megagpu': { vCpus: 6, memoryGiB: 85 },
};

/** GPUs built into g2 machines, by vCPUs; all others have one. */
const g2Gpus: Readonly<Record<number, number>> = { 24: 2, 48: 4, 96: 8 };

/** Families a card may name; custom shapes come on top. */
export const MACHINE_FAMILIES: readonly string[] = [...Object.keys(memoryGiBPerVCpu), ...Object.keys(perGpu)];

/**
 * Reads `<family>-<class>-<vCPUs>`, `<family>-custom-<vCPUs>-<MiB>` or `<family>-<class>-<n>g`; null for any other name
 * and for families that are not in the tables.
 */
export function parseMachineType(text: string): MachineType | null {
  const name = text.trim().toLowerCase();
  const custom = /^([a-z]\w*)-custom-(\d+)-(\d+)$/.exec(name);
  if (custom !== null) {
    const [, family = '', vCpus, memoryMiB] = custom;
    return sized({ name, family: `${family}-custom`, vCpus: Number(vCpus), memoryMiB: Number(memoryMiB), gpus: 0 });
  }
  const accelerated = /^([a-z]\w*-[a-z]+)-(\d+)g$/.exec(name);
  if (accelerated !== null) return acceleratedType(name, accelerated[1] ?? '', Number(accelerated[2]));
  const standard = /^([a-z]\w*-[a-z]+)-(\d+)$/.exec(name);
  return standard === null ? null : standardType(name, standard[1] ?? '', Number(standard[2]));
}

function standardType(name: string, family: string, vCpus: number): MachineType | null {
  const gibPerVCpu = own(memoryGiBPerVCpu, family);
  if (gibPerVCpu === undefined) return null;
  const gpus = family === 'g2-standard' ? (g2Gpus[vCpus] ?? 1) : 0;
  return sized({ name, family, vCpus, memoryMiB: Math.floor(vCpus * gibPerVCpu * 1024), gpus });
}

function acceleratedType(name: string, family: string, gpus: number): MachineType | null {
  const share = own(perGpu, family);
  if (share === undefined) return null;
  return sized({ name, family, vCpus: gpus * share.vCpus, memoryMiB: gpus * share.memoryGiB * 1024, gpus });
}

function sized(type: MachineType): MachineType | null {
  const isReal = [type.vCpus, type.memoryMiB].every((size) => Number.isSafeInteger(size) && size >= 1);
  return isReal ? type : null;
}

function own<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
