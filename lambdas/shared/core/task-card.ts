import { ConfigReader, isMapping } from './config-reader.ts';
import { type Privilege, PRIVILEGES } from './experiment.ts';
import { type ConfigSource, type LocatedProblem, plainSource, type ValuePath } from './located.ts';
import { MACHINE_FAMILIES, type MachineType, parseMachineType } from './machine-type.ts';
import { networkRefusal, NETWORK_MODES, type NetworkMode } from './network-profile.ts';

/** How outputs of a task are graded. `container` and `sandbox` are refused until they exist. */
export interface GradingSpec {
  readonly mode: 'light' | 'same-sandbox';
  readonly timeoutSeconds: number;
}

/** The part of a `task_card.json` that a run goes by; the rest of a card is free text. */
export interface TaskCard {
  readonly title: string | null;
  /** Tag that an environment maps to a provider and an image. */
  readonly snapshot: string | null;
  readonly machineType: MachineType | null;
  readonly timeoutSeconds: number | null;
  readonly vCpus: number | null;
  readonly memoryGiB: number | null;
  readonly network: { readonly mode: NetworkMode; readonly allow: readonly string[] };
  readonly privilege: Privilege | null;
  readonly grading: GradingSpec;
}

export const DEFAULT_TIMEOUT_SECONDS = 7200;
const longestGradingSeconds = 600;
const gradingModes = ['light', 'same-sandbox', 'container', 'sandbox'] as const;

interface CardReading {
  readonly card: TaskCard;
  readonly problems: readonly LocatedProblem[];
}

/** Published cards are read at every stage of every unit, always the same parsed object. */
const readings = new WeakMap<object, CardReading>();

/** Reads a card. It is usable only when `problems` is empty; keys that nothing reads are allowed. */
export function readTaskCard(value: unknown, source?: ConfigSource): CardReading {
  if (source !== undefined || !isMapping(value)) return parseTaskCard(value, source);
  const known = readings.get(value) ?? parseTaskCard(value);
  readings.set(value, known);
  return known;
}

function parseTaskCard(value: unknown, source: ConfigSource = plainSource('task_card.json', value)): CardReading {
  const reader = new ConfigReader(source);
  if (!isMapping(value)) {
    const text = {
      what: 'a task card is not an object',
      allowed: 'a JSON object',
      action: 'write the card as {"vm": {...}, ...}',
    };
    reader.fail([], text);
  }
  const vm = vmPath(reader);
  const title = reader.get(['title']);
  const card: TaskCard = {
    title: typeof title === 'string' ? title : null,
    snapshot: readSnapshot(reader),
    machineType: readMachineType(reader, [...vm, 'machineType']),
    timeoutSeconds: readTimeout(reader, [...vm, 'timeout']),
    vCpus: reader.integer(['vm', 'vcpus'], { minimum: 1 }),
    memoryGiB: reader.positiveNumber(['vm', 'memory_gb']),
    network: readNetwork(reader),
    privilege: reader.choice(['vm', 'privilege'], PRIVILEGES),
    grading: readGrading(reader),
  };
  return { card, problems: reader.problems };
}

/** Seconds the agent phase of a unit may take: the experiment's, else the card's, else upstream's default. */
export function effectiveTimeoutSeconds(
  card: Pick<TaskCard, 'timeoutSeconds'>,
  wallTimeSeconds: number | null,
): number {
  return wallTimeSeconds ?? card.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS;
}

/** What the agent may do in the sandbox: as the experiment says, else the card, else `restricted`. */
export function effectivePrivilege(card: Pick<TaskCard, 'privilege'>, privilege: Privilege | null): Privilege {
  return privilege ?? card.privilege ?? 'restricted';
}

/** The size a card asks for: its own numbers, else those of its machine type; null leaves it to the provider. */
export function requestedShape(card: TaskCard): {
  readonly vCpus: number | null;
  readonly memoryMiB: number | null;
  readonly gpus: number;
} {
  return {
    vCpus: card.vCpus ?? card.machineType?.vCpus ?? null,
    memoryMiB: card.memoryGiB === null ? (card.machineType?.memoryMiB ?? null) : Math.floor(card.memoryGiB * 1024),
    gpus: card.machineType?.gpus ?? 0,
  };
}

/** Why a unit of this task cannot get the network its card asks for, or null. */
export function cardNetworkRefusal(card: Pick<TaskCard, 'network'>): string | null {
  return networkRefusal(card.network.mode);
}

/** `vm`, or the root for cards from before there was one. */
function vmPath(reader: ConfigReader): ValuePath {
  const vm = reader.get(['vm']);
  if (reader.isSet(['vm']) && !isMapping(vm))
    reader.fail(['vm'], {
      what: '"vm" is not an object',
      allowed: 'an object',
      action: 'write it as {"snapshot": "..."}',
    });
  if (isMapping(vm) && Object.keys(vm).length > 0) return ['vm'];
  return reader.isSet(['snapshot']) || reader.isSet(['vm_category']) ? [] : ['vm'];
}

function readSnapshot(reader: ConfigReader): string | null {
  const paths: readonly ValuePath[] = vmPathOf(reader) ? [['vm', 'snapshot']] : [['snapshot'], ['vm_category']];
  const path = paths.find((candidate) => reader.isSet(candidate));
  if (path === undefined) return null;
  const value = reader.get(path);
  if (typeof value === 'string' && value.trim() !== '') return value;
  reader.fail(path, {
    what: 'the snapshot is not a tag',
    allowed: 'the tag of a snapshot as text, such as "cpu-free-ubuntu"',
    action: 'name a snapshot that the environment maps',
  });
  return null;
}

function vmPathOf(reader: ConfigReader): boolean {
  const vm = reader.get(['vm']);
  return isMapping(vm) && Object.keys(vm).length > 0;
}

function readMachineType(reader: ConfigReader, path: ValuePath): MachineType | null {
  if (!reader.isSet(path)) return null;
  const value = reader.get(path);
  const type = typeof value === 'string' ? parseMachineType(value) : null;
  if (type !== null) return type;
  reader.fail(path, {
    what: 'the machine type is none that is known',
    allowed: `a GCE machine type: <family>-custom-<vCPUs>-<MiB>, or a size of ${MACHINE_FAMILIES.join(', ')}`,
    action: 'write one such as "n2-highmem-16" or "n2-custom-8-16384", or remove it',
  });
  return null;
}

/** Positive whole seconds; digits in quotes and `7200.0` count, true and fractions do not. A legacy card may lack it. */
function readTimeout(reader: ConfigReader, path: ValuePath): number | null {
  const isLegacy = path.length === 1;
  if (!reader.has(path) || (isLegacy && !reader.isSet(path))) return null;
  if (reader.isSet(path))
    return reader.integer(path, { minimum: 1, digitsInText: true, fallback: `${DEFAULT_TIMEOUT_SECONDS}` });
  reader.fail(path, {
    what: 'the timeout has no value',
    allowed: 'a whole number of seconds 1 or more',
    action: `write one, or remove the key for ${DEFAULT_TIMEOUT_SECONDS}`,
  });
  return null;
}

function readNetwork(reader: ConfigReader): TaskCard['network'] {
  const path = ['vm', 'network'];
  const open = { mode: 'open', allow: [] } as const;
  if (!reader.isSet(path) || reader.mapping(path, '"vm.network"') === null) return open;
  const mode = reader.choice([...path, 'mode'], NETWORK_MODES) ?? 'open';
  const allow = reader.textList([...path, 'allow']) ?? [];
  if (mode === 'allowlist' && allow.length === 0 && !reader.has([...path, 'allow']))
    reader.missing([...path, 'allow'], 'a list of host names', 'add the hosts the task needs, or []');
  return { mode, allow };
}

function readGrading(reader: ConfigReader): GradingSpec {
  const path = ['grading'];
  const fallback: GradingSpec = { mode: 'light', timeoutSeconds: longestGradingSeconds };
  if (!reader.isSet(path) || reader.mapping(path, '"grading"') === null) return fallback;
  reader.onlyKeys(path, ['mode', 'timeoutSeconds'], '"grading"');
  const mode = reader.choice([...path, 'mode'], gradingModes) ?? 'light';
  const timeoutSeconds =
    reader.integer([...path, 'timeoutSeconds'], { minimum: 1, maximum: longestGradingSeconds }) ??
    longestGradingSeconds;
  if (mode === 'light' || mode === 'same-sandbox') return { mode, timeoutSeconds };
  reader.fail([...path, 'mode'], {
    what: `grading mode "${mode}" is not available yet`,
    allowed: 'light, same-sandbox',
    action: 'use one of these',
  });
  return fallback;
}
