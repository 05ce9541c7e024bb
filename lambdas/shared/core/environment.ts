import { ConfigReader } from './config-reader.ts';
import { type ConfigSource, type LocatedProblem, type Location, problemAt, quoteList } from './located.ts';
import { checkTopKeys, readSingle, readSnapshots, type SnapshotRoute } from './snapshot-routes.ts';

/** A machine somebody else started; one unit at a time. */
export interface StaticSandbox {
  readonly endpoint: string;
  readonly image: string;
  readonly vmId: string;
  readonly cleanupOnRelease: boolean;
  readonly cleanupScript: string | null;
}

/** An environment file, in either of its shapes. */
export interface EnvironmentSpec {
  readonly file: string;
  readonly shape: 'snapshots' | 'provider';
  readonly taskDataSource: string;
  /** Null leaves the output in the sandbox. */
  readonly outputPath: string | null;
  readonly gcsServiceAccountKey: string | null;
  /** Where the two places are written. */
  readonly placesAt: { readonly taskDataSource: Location; readonly outputPath: Location };
  readonly snapshots: Readonly<Record<string, SnapshotRoute>>;
  /** In shape `provider`: serves every snapshot. */
  readonly single: SnapshotRoute | null;
  readonly static?: StaticSandbox;
}

export interface EnvironmentReading {
  readonly environment: EnvironmentSpec;
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

const dataSources = ['gs://', 'hf://', 's3://', 'oss://', 'local:', 'mounted:'];
const outputSchemes = ['gs://', 's3://', 'oss://'];

/** Reads an environment file. The result is usable only when `problems` is empty. */
export function readEnvironment(source: ConfigSource): EnvironmentReading {
  const reader = new ConfigReader(source);
  const root = reader.mapping([], 'the environment file') ?? {};
  const shape = 'snapshots' in root || !('provider' in root) ? 'snapshots' : 'provider';
  if (!('snapshots' in root) && !('provider' in root)) noShape(reader);
  const routes = shape === 'snapshots' ? readSnapshots(reader) : {};
  const single = shape === 'provider' ? readSingle(reader) : null;
  if (shape === 'snapshots') checkTopKeys(reader, []);
  const fixed = single?.provider === 'static' ? { static: staticSandbox(single) } : {};
  const environment: EnvironmentSpec = {
    file: source.file,
    shape,
    taskDataSource: readLocation(reader, 'task_data_source', ['baked_in_sandbox'], dataSources) ?? 'baked_in_sandbox',
    outputPath: readLocation(reader, 'output_path', ['local'], outputSchemes),
    gcsServiceAccountKey: reader.text(['gcs_sa_key'], 'a path'),
    placesAt: { taskDataSource: source.locate(['task_data_source']), outputPath: source.locate(['output_path']) },
    snapshots: routes,
    single,
    ...fixed,
  };
  return { environment, problems: reader.problems, warnings: reader.warnings };
}

/** What serves a snapshot tag, or null when the environment does not map it. */
export function routeFor(environment: EnvironmentSpec, snapshot: string): SnapshotRoute | null {
  const own = Object.hasOwn(environment.snapshots, snapshot) ? environment.snapshots[snapshot] : undefined;
  return own ?? environment.single;
}

/** Every route of an environment with the path of its `provider` key. */
export function routesOf(
  environment: EnvironmentSpec,
): readonly { readonly tag: string | null; readonly route: SnapshotRoute }[] {
  const mapped = Object.entries(environment.snapshots).map(([tag, route]) => ({ tag, route }));
  return environment.single === null ? mapped : [...mapped, { tag: null, route: environment.single }];
}

/**
 * One problem for each route whose provider this host cannot run, by name and place.
 * @param remedies what makes a provider available that is not, by its name.
 */
export function refuseUnavailableProviders(
  environment: EnvironmentSpec,
  available: readonly string[],
  remedies: ReadonlyMap<string, string> = new Map(),
): LocatedProblem[] {
  return routesOf(environment)
    .filter(({ route }) => !available.includes(route.provider))
    .map(({ tag, route }) =>
      problemAt(
        route.at,
        {
          what: `provider "${route.provider}"${tag === null ? '' : ` of snapshot "${tag}"`} is not available here`,
          got: JSON.stringify(route.provider),
          allowed: available.join(', '),
          action:
            remedies.get(route.provider) ??
            'choose one of these providers, or leave out the snapshot and the tasks that ask for it',
        },
        tag === null ? ['provider'] : ['snapshots', tag, 'provider'],
      ),
    );
}

/** One problem for each place of an environment that this host cannot serve. Task data always come from the task folders. */
export function refuseUnavailablePlaces(environment: EnvironmentSpec): LocatedProblem[] {
  const { taskDataSource, outputPath, placesAt } = environment;
  const problems: LocatedProblem[] = [];
  if (taskDataSource !== 'baked_in_sandbox') {
    const text = {
      what: '"task_data_source" names a place that is not available here',
      got: JSON.stringify(taskDataSource),
      allowed: '"baked_in_sandbox": the data of a task lie in its own folder',
      action: 'remove the key',
    };
    problems.push(problemAt(placesAt.taskDataSource, text, ['task_data_source']));
  }
  if (outputPath !== null && outputPath !== 'local') {
    const text = {
      what: '"output_path" names a place that is not available here',
      got: JSON.stringify(outputPath),
      allowed: '"local", or null to leave the output in the sandbox',
      action: 'write one of these; records always lie below output.root',
    };
    problems.push(problemAt(placesAt.outputPath, text, ['output_path']));
  }
  return problems;
}

function noShape(reader: ConfigReader): void {
  reader.fail([], {
    what: 'the environment names no provider',
    allowed: 'a "snapshots" mapping (a provider for each snapshot) or a "provider" (one for all)',
    action: 'add one of the two keys',
  });
}

function staticSandbox({ image, knobs }: SnapshotRoute): StaticSandbox {
  return {
    endpoint: asText(knobs['endpoint']) ?? '',
    image,
    vmId: asText(knobs['vm_id']) ?? 'static',
    cleanupOnRelease: knobs['cleanup_on_release'] === true,
    cleanupScript: asText(knobs['cleanup_script']),
  };
}

function asText(value: unknown): string | null {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
}

function readLocation(
  reader: ConfigReader,
  key: string,
  words: readonly string[],
  schemes: readonly string[],
): string | null {
  const value = reader.get([key]) ?? null;
  const text = typeof value === 'string' ? value.trim() : null;
  if (value === null || text === '') return null;
  if (text !== null && (words.includes(text) || schemes.some((scheme) => text.startsWith(scheme)))) return text;
  reader.fail([key], {
    what: `"${key}" is not a place that is known`,
    allowed: `${quoteList(words)}, or a text that starts with ${schemes.join(', ')}${key === 'output_path' ? ', or null' : ''}`,
    action: 'write one of these, or remove the key for the default',
  });
  return null;
}
