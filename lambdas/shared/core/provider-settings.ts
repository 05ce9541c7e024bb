import { type ConfigReader } from './config-reader.ts';
import { closestName, type ValuePath } from './located.ts';

/** What a setting holds; a list of words is a closed choice. */
type SettingKind =
  'text' | 'integer' | 'count' | 'number' | 'boolean' | 'list' | 'scalar' | 'resolution' | readonly string[];

interface ProviderSettings {
  readonly required: readonly string[];
  /** Repeated in each snapshot's block and merged, the last one wins. */
  readonly shared: Readonly<Record<string, SettingKind>>;
  readonly own: Readonly<Record<string, SettingKind>>;
}

const none = {} as const;

/** Settings of each provider: upstream's, and our `process` and `desktop`. */
const settings: Readonly<Record<string, ProviderSettings>> = {
  gcloud: {
    required: ['project', 'service_account_key', 'zones'],
    shared: { project: 'text', service_account_key: 'text', instance_prefix: 'text', network: 'text', subnet: 'text' },
    own: { zones: 'list', gpu: 'scalar' },
  },
  aws: {
    required: ['region', 'zones'],
    shared: {
      region: 'text',
      security_group: 'text',
      vpc: 'text',
      security_group_ids: 'list',
      instance_prefix: 'text',
      key_name: 'text',
      iam_instance_profile: 'text',
      associate_public_ip: 'boolean',
    },
    own: { zones: 'list', ami: 'text', gpu: 'scalar', tenancy: ['default', 'dedicated'] },
  },
  aliyun: {
    required: ['region', 'zones'],
    shared: {
      region: 'text',
      security_group: 'text',
      instance_prefix: 'text',
      key_name: 'text',
      ram_role_name: 'text',
      internet_max_bandwidth_out: 'count',
      system_disk_category: 'text',
      instance_charge_type: 'text',
    },
    own: { zones: 'list', image_id: 'text', gpu: 'scalar' },
  },
  docker: {
    required: [],
    shared: none,
    own: {
      shm_size: 'text',
      cpus: 'number',
      memory: 'text',
      resolution: 'resolution',
      image_ref: 'text',
      privileged: 'boolean',
      enable_dind: 'boolean',
    },
  },
  qemu: {
    required: ['disk_source'],
    shared: none,
    own: {
      disk_source: 'text',
      root: 'text',
      runtime_root: 'text',
      image_cache_dir: 'text',
      runner_image: 'text',
      runner_pull_policy: ['always', 'missing', 'never'],
      hf_revision: 'text',
      image_revision: 'text',
      vcpus: 'count',
      memory_gb: 'number',
      shm_size: 'text',
      bind_address: 'text',
      ready_timeout_s: 'integer',
      readiness_poll_interval_s: 'number',
    },
  },
  static: {
    required: ['endpoint'],
    shared: none,
    own: { endpoint: 'text', vm_id: 'text', cleanup_on_release: 'boolean', cleanup_script: 'text' },
  },
  process: { required: [], shared: none, own: none },
  desktop: { required: [], shared: none, own: none },
};

/** Every provider whose configuration can be read; which of them can run is another question. */
export const PROVIDER_NAMES: readonly string[] = Object.keys(settings);

export function isProviderName(name: string): boolean {
  return Object.hasOwn(settings, name);
}

/** Settings that a provider reads once for all snapshots. */
export function sharedSettingNames(provider: string): readonly string[] {
  return Object.keys(settings[provider]?.shared ?? none);
}

export function settingNames(provider: string): readonly string[] {
  return [...sharedSettingNames(provider), ...Object.keys(settings[provider]?.own ?? none)];
}

export function requiredSettings(provider: string): readonly string[] {
  return settings[provider]?.required ?? [];
}

/** Checks the types of one block; settings nobody reads are only warned about, as upstream drops them. */
export function checkSettings(reader: ConfigReader, provider: string, path: ValuePath, names: readonly string[]): void {
  const known = settingNames(provider);
  for (const name of names) {
    const kind = settings[provider]?.shared[name] ?? settings[provider]?.own[name];
    if (kind !== undefined) {
      checkKind(reader, [...path, name], kind);
      continue;
    }
    const meant = closestName(name, known);
    reader.warn(
      [...path, name],
      {
        what: `"${name}" is not a setting of ${provider} and is ignored`,
        allowed: known.length === 0 ? `none (${provider} has no settings)` : known.join(', '),
        action: meant === null ? 'remove it' : `remove it, or write "${meant}" if you meant that`,
      },
      'key',
    );
  }
}

/** Reads `[w, h]` or `WxH` as `WxH`; null when unset or wrong (then reported). */
export function readResolution(reader: ConfigReader, path: ValuePath): string | null {
  const value = reader.get(path) ?? null;
  if (value === null) return null;
  const sides: readonly unknown[] = Array.isArray(value) ? value : typeof value === 'string' ? pixels(value) : [];
  const [width, height] = sides;
  if (sides.length === 2 && isSide(width) && isSide(height)) return `${width}x${height}`;
  reader.fail(path, {
    what: 'the resolution is not a width and a height',
    allowed: '[width, height] or "WIDTHxHEIGHT" in pixels, each from 1 to 16384',
    action: 'write it as [1024, 768]',
  });
  return null;
}

function pixels(text: string): readonly number[] {
  const match = /^\s*(\d+)\s*[xX]\s*(\d+)\s*$/.exec(text);
  return match === null ? [] : [Number(match[1]), Number(match[2])];
}

function isSide(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= 16384;
}

function checkKind(reader: ConfigReader, path: ValuePath, kind: SettingKind): void {
  if (!reader.isSet(path)) return;
  if (typeof kind !== 'string') reader.choice(path, kind);
  else if (kind === 'text') reader.text(path, 'text');
  else if (kind === 'integer') reader.integer(path, { minimum: 1, digitsInText: true });
  else if (kind === 'count') reader.integer(path, { minimum: 0, digitsInText: true });
  else if (kind === 'boolean') reader.boolean(path, false);
  else if (kind === 'list') checkList(reader, path);
  else if (kind === 'resolution') readResolution(reader, path);
  else if (kind === 'number') checkNumber(reader, path);
  else checkScalar(reader, path);
}

function checkList(reader: ConfigReader, path: ValuePath): void {
  const list = reader.textList(path);
  if (list?.length === 0)
    reader.fail(path, { what: 'a list is empty', allowed: 'at least one text', action: 'write it as [first, second]' });
}

/** Zero means "derive it" upstream, so it is allowed here. */
function checkNumber(reader: ConfigReader, path: ValuePath): void {
  if (reader.get(path) !== 0) reader.positiveNumber(path);
}

function checkScalar(reader: ConfigReader, path: ValuePath): void {
  const value = reader.get(path);
  if (typeof value !== 'object') return;
  reader.fail(path, {
    what: 'a setting is a collection',
    allowed: 'text, a number, true or false',
    action: 'write one value',
  });
}
