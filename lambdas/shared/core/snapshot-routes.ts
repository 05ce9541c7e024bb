import { type ConfigReader, isMapping } from './config-reader.ts';
import { IMAGE_FAMILY_NAMES, imageFamily } from './image-family.ts';
import { type Location, renderValue, type ValuePath } from './located.ts';
import {
  checkSettings,
  isProviderName,
  PROVIDER_NAMES,
  readResolution,
  requiredSettings,
  settingNames,
  sharedSettingNames,
} from './provider-settings.ts';

/** Which provider and image serve a snapshot tag. */
export interface SnapshotRoute {
  readonly provider: string;
  /** Name of an image family. */
  readonly image: string;
  /** `WxH` */
  readonly resolution: string | null;
  /** The provider's own settings, with those shared between its snapshots filled in. */
  readonly knobs: Readonly<Record<string, unknown>>;
  /** Where `provider` is written. */
  readonly at: Location;
}

const topKeys = ['snapshots', 'provider', 'task_data_source', 'output_path', 'gcs_sa_key'];
/** The routes of a per-snapshot environment, complete with the settings their provider shares. */
export function readSnapshots(reader: ConfigReader): Record<string, SnapshotRoute> {
  const value = reader.get(['snapshots']);
  if (!reader.has(['snapshots'])) return {};
  if (!isMapping(value) || Object.keys(value).length === 0) {
    reader.fail(['snapshots'], {
      what: '"snapshots" is not a non-empty mapping',
      allowed: 'a mapping from snapshot tags to {provider, image}',
      action: 'add an entry for each snapshot tag that your task cards ask for',
    });
    return {};
  }
  const routes = Object.keys(value).flatMap((tag) => {
    const route = readRoute(reader, tag);
    return route === null ? [] : [[tag, route] as const];
  });
  return mergeShared(reader, routes);
}

function readRoute(reader: ConfigReader, tag: string): SnapshotRoute | null {
  const path = ['snapshots', tag];
  const entry = reader.mapping(path, `snapshot "${tag}"`);
  if (entry === null) return null;
  reader.onlyKeys(path, ['provider', 'image', 'resolution', ...PROVIDER_NAMES], `snapshot "${tag}"`);
  const provider = readProvider(reader, [...path, 'provider']);
  const image = readImage(reader, [...path, 'image']);
  const resolution = readResolution(reader, [...path, 'resolution']);
  if (provider === null) return null;
  for (const other of PROVIDER_NAMES.filter((name) => name !== provider && name in entry)) {
    const text = {
      what: `the "${other}" block does not apply and is ignored`,
      allowed: `a "${provider}" block`,
      action: 'remove it',
    };
    reader.warn([...path, other], text, 'key');
  }
  const block = reader.isSet([...path, provider])
    ? reader.mapping([...path, provider], `the "${provider}" block`)
    : null;
  checkSettings(reader, provider, [...path, provider], Object.keys(block ?? {}));
  const at = reader.source.locate([...path, 'provider']);
  return { provider, image: image ?? '', resolution, knobs: block ?? {}, at };
}

/** The one route of a single-provider environment, whose settings lie flat at the top level. */
export function readSingle(reader: ConfigReader): SnapshotRoute | null {
  const provider = readProvider(reader, ['provider']);
  const known = provider === null ? [] : settingNames(provider);
  checkTopKeys(reader, [...known, 'image', 'resolution', ...(provider === 'static' ? ['os'] : [])]);
  if (provider === null) return null;
  const names = known.filter((name) => reader.isSet([name]));
  checkSettings(reader, provider, [], names);
  checkRequired(reader, provider, [], names);
  const legacyOs = provider === 'static' ? reader.choice(['os'], ['linux', 'windows']) : null;
  const image = reader.isSet(['image'])
    ? readImage(reader, ['image'])
    : legacyOs === 'windows'
      ? 'ale-win10'
      : 'ale-ubuntu22';
  return {
    provider,
    image: image ?? '',
    resolution: known.includes('resolution') ? null : readResolution(reader, ['resolution']),
    knobs: Object.fromEntries(names.map((name) => [name, reader.get([name])])),
    at: reader.source.locate(['provider']),
  };
}

/** Refuses top-level keys that nothing reads; `more` are those of the shape at hand. */
export function checkTopKeys(reader: ConfigReader, more: readonly string[]): void {
  reader.onlyKeys([], [...topKeys, ...more], 'the environment file', ['providers']);
  for (const key of ['providers', 'provider']) {
    if (!reader.has([key]) || (key === 'provider' && !reader.has(['snapshots']))) continue;
    reader.warn(
      [key],
      {
        what: `"${key}" is ignored`,
        allowed: topKeys.join(', '),
        action: 'remove it: each snapshot names its own provider',
      },
      'key',
    );
  }
}

function readProvider(reader: ConfigReader, path: ValuePath): string | null {
  const value = reader.get(path);
  if (typeof value === 'string' && isProviderName(value)) return value;
  const allowed = PROVIDER_NAMES.join(', ');
  if ((value ?? '') === '') reader.missing(path, allowed, 'name the provider that makes the sandbox');
  else reader.fail(path, { what: 'unknown provider', allowed, action: 'choose one of them' });
  return null;
}

function readImage(reader: ConfigReader, path: ValuePath): string | null {
  const value = reader.get(path);
  if (typeof value === 'string' && imageFamily(value) !== null) return imageFamily(value)?.name ?? null;
  const allowed = IMAGE_FAMILY_NAMES.join(', ');
  if ((value ?? '') === '') reader.missing(path, allowed, 'name the image family that the sandbox is made from');
  else
    reader.fail(path, {
      what: 'unknown image family',
      allowed,
      action: 'choose one of them (not the id of a cloud image)',
    });
  return null;
}

/** Settings shared by all snapshots of a provider: repeated in each block, the last one wins. */
function mergeShared(
  reader: ConfigReader,
  routes: readonly (readonly [string, SnapshotRoute])[],
): Record<string, SnapshotRoute> {
  const shared: Record<string, Record<string, unknown>> = {};
  for (const [tag, { provider, knobs }] of routes) {
    const merged = (shared[provider] ??= {});
    for (const name of sharedSettingNames(provider).filter((key) => (knobs[key] ?? null) !== null)) {
      if (name in merged && JSON.stringify(merged[name]) !== JSON.stringify(knobs[name]))
        warnDiffering(reader, tag, provider, name);
      merged[name] = knobs[name];
    }
  }
  const complete = routes.map(
    ([tag, route]) => [tag, { ...route, knobs: { ...route.knobs, ...shared[route.provider] } }] as const,
  );
  for (const [tag, { provider, knobs }] of complete)
    checkRequired(
      reader,
      provider,
      ['snapshots', tag, provider],
      Object.keys(knobs).filter((key) => (knobs[key] ?? '') !== ''),
    );
  checkDocker(reader, complete);
  return Object.fromEntries(complete);
}

function warnDiffering(reader: ConfigReader, tag: string, provider: string, name: string): void {
  reader.warn(['snapshots', tag, provider, name], {
    what: `"${name}" differs between the ${provider} snapshots; the last one wins for all`,
    allowed: 'the same value in each block',
    action: 'write the same value everywhere',
  });
}

function checkRequired(reader: ConfigReader, provider: string, path: ValuePath, present: readonly string[]): void {
  for (const name of requiredSettings(provider).filter((key) => !present.includes(key)))
    reader.missing([...path, name], 'a value', `add it: ${provider} cannot start a sandbox without it`);
}

function checkDocker(reader: ConfigReader, routes: readonly (readonly [string, SnapshotRoute])[]): void {
  const [first, ...others] = routes.filter(([, route]) => route.provider === 'docker');
  if (first === undefined) return;
  const shape = ({ image, knobs }: SnapshotRoute): string => JSON.stringify([image, Object.entries(knobs).toSorted()]);
  for (const [tag, route] of others.filter(([, other]) => shape(other) !== shape(first[1])))
    reader.fail(['snapshots', tag], {
      what: `docker snapshots "${first[0]}" and "${tag}" differ`,
      got: renderValue({ image: route.image, ...route.knobs }),
      allowed: 'one image and one docker block for all docker snapshots',
      action: 'make them equal',
    });
}
