import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { type AgentConfigKeys, type AgentSpec, readAgent } from '#core/agent-spec';
import { cleanupModesOf, cleanupRefusal } from '#core/cleanup-mode';
import { ConfigReader } from '#core/config-reader';
import { type EnvironmentSpec, readEnvironment, routesOf } from '#core/environment';
import { type Experiment, type ExperimentFile, type FileReference, readExperimentFile } from '#core/experiment';
import { ConfigError, type LocatedProblem, problemAt } from '#core/located';
import { duplicateUnits } from '#core/matrix';
import { readTaskEntries, readTaskLines, type TaskSelection } from '#core/task-list';
import type { Variables } from './environment-references.ts';
import { displayFile, homeFolder, isOtherHome, readText, resolvePath } from './read-text.ts';
import { loadSecrets } from './secrets.ts';
import { parseYaml, type YamlSource } from './yaml-source.ts';

export interface LoadOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Settings each harness reads; others are warned about. */
  readonly agentConfigKeys?: AgentConfigKeys;
}

export interface LoadedExperiment {
  readonly experiment: Experiment;
  readonly warnings: readonly LocatedProblem[];
  /** The environment with secrets applied. */
  readonly env: Readonly<Record<string, string>>;
  /** Names in it that came from a secrets file. */
  readonly secretNames: ReadonlySet<string>;
}

/** What reading the files of one experiment shares and gathers. */
interface Loading {
  readonly cwd: string;
  readonly home: string;
  /** Folder that references are relative to: that of the experiment file, links resolved. */
  readonly folder: string;
  readonly variables: Variables;
  readonly problems: LocatedProblem[];
  readonly warnings: LocatedProblem[];
}

/**
 * Reads an upstream-shaped experiment and every file it names.
 * @throws ConfigError with all problems of all files.
 */
export async function loadExperiment(file: string, options: LoadOptions): Promise<LoadedExperiment> {
  const main = await readMain(path.resolve(options.cwd, file), options.cwd);
  const home = homeFolder(options.env);
  const secrets = await loadSecrets({ ...main, home, env: options.env });
  const loading: Loading = {
    cwd: options.cwd,
    home,
    folder: main.folder,
    variables: secrets,
    problems: [...secrets.problems],
    warnings: [...secrets.warnings],
  };
  const source = parse(loading, main.text, main.file);
  if (source === null) throw new ConfigError(inReadingOrder(loading.problems));
  const experiment = await assemble(loading, source, options);
  if (loading.problems.length > 0) throw new ConfigError(inReadingOrder(loading.problems));
  return {
    experiment: { ...experiment, file: main.path },
    warnings: inReadingOrder(loading.warnings),
    env: secrets.values,
    secretNames: secrets.secretNames,
  };
}

async function readMain(
  absolute: string,
  cwd: string,
): Promise<{ readonly text: string; readonly file: string; readonly folder: string; readonly path: string }> {
  const file = displayFile(absolute, cwd);
  const reading = await readText(absolute);
  if ('text' in reading) {
    return { text: reading.text, file, folder: path.dirname(await realpath(absolute)), path: absolute };
  }
  const text = {
    what: `the experiment file ${reading.fault.what}`,
    got: JSON.stringify(absolute),
    allowed: 'the path of a readable YAML file',
    action: 'give the path of an experiment file',
  };
  throw new ConfigError([problemAt({ file, line: 1, column: 1 }, text)]);
}

async function assemble(loading: Loading, source: YamlSource, options: LoadOptions): Promise<Experiment> {
  const reading = readExperimentFile(source);
  keep(loading, reading, source);
  const { experiment: main } = reading;
  const agents: AgentSpec[] = [];
  for (const reference of main.agents)
    agents.push(...(await loadAgent(loading, source, reference, options.agentConfigKeys ?? {})));
  const environment = main.environment === null ? null : await loadEnvironment(loading, source, main.environment);
  const tasks = 'text' in main.tasks ? await loadTasks(loading, source, main.tasks) : main.tasks;
  loading.problems.push(...duplicateUnits({ agents, tasks }));
  if (environment !== null)
    loading.problems.push(...sharedMachine(main, environment), ...impossibleCleanup(main, environment));
  refuseOtherHome(loading, source);
  const { concurrencyAt: _, cleanupModeAt: __, outputRoot: outputRootText, ...settings } = main;
  const outputRoot = resolvePath(outputRootText, loading.cwd, loading.home);
  return {
    ...settings,
    file: source.file,
    agents,
    environment: environment ?? nowhere,
    tasks,
    outputRoot,
    outputRootText,
  };
}

/** Stands in for an environment that could not be read; the load fails, so nobody sees it. */
const nowhere: EnvironmentSpec = {
  file: '',
  shape: 'snapshots',
  taskDataSource: 'baked_in_sandbox',
  outputPath: null,
  gcsServiceAccountKey: null,
  placesAt: {
    taskDataSource: { file: '', line: 1, column: 1 },
    outputPath: { file: '', line: 1, column: 1 },
  },
  snapshots: {},
  single: null,
};

async function loadAgent(
  loading: Loading,
  from: YamlSource,
  reference: FileReference,
  configKeys: AgentConfigKeys,
): Promise<AgentSpec[]> {
  const followed = await follow(loading, from, reference, 'agent');
  const source = followed === null ? null : parse(loading, followed.text, followed.file);
  if (followed === null || source === null) return [];
  const reading = readAgent(source, reference.at, configKeys);
  return keep(loading, reading, source) ? [{ ...reading.agent, file: followed.path }] : [];
}

async function loadEnvironment(
  loading: Loading,
  from: YamlSource,
  reference: FileReference,
): Promise<EnvironmentSpec | null> {
  const followed = await follow(loading, from, reference, 'environment');
  const source = followed === null ? null : parse(loading, followed.text, followed.file);
  if (followed === null || source === null) return null;
  const reading = readEnvironment(source);
  return keep(loading, reading, source) ? { ...reading.environment, file: followed.path } : null;
}

async function loadTasks(
  loading: Loading,
  from: YamlSource,
  reference: FileReference,
): Promise<readonly TaskSelection[]> {
  const suffix = path.extname(reference.text).toLowerCase();
  if (!['.txt', '.yaml', '.yml'].includes(suffix) && !from.isUnset(reference.path)) {
    const text = { what: 'the task list has an unknown kind of file name', got: from.show(reference.path) };
    loading.problems.push(
      problemAt(reference.at, { ...text, allowed: '.txt, .yaml, .yml', action: 'rename the list' }, reference.path),
    );
    return [];
  }
  const followed = await follow(loading, from, reference, 'task list');
  if (followed === null) return [];
  const before = loading.problems.length;
  const tasks = suffix === '.txt' ? readLines(loading, followed) : readEntries(loading, followed);
  if (tasks.length === 0 && loading.problems.length === before) {
    const text = {
      what: 'the task list is empty',
      got: 'no tasks',
      allowed: 'at least one task',
      action: 'add a task',
    };
    loading.problems.push(problemAt({ file: followed.file, line: 1, column: 1 }, text));
  }
  return tasks;
}

function readLines(loading: Loading, { text, file }: Followed): readonly TaskSelection[] {
  const { tasks, problems } = readTaskLines(text, file);
  loading.problems.push(...problems);
  return tasks;
}

function readEntries(loading: Loading, { text, file }: Followed): readonly TaskSelection[] {
  const source = parse(loading, text, file);
  if (source === null) return [];
  const reader = new ConfigReader(source);
  const tasks = readTaskEntries(reader);
  keep(loading, reader, source);
  return tasks;
}

interface Followed {
  readonly text: string;
  /** As printed. */
  readonly file: string;
  readonly path: string;
}

/** The file a reference leads to, or null after saying why there is none. */
async function follow(
  loading: Loading,
  from: YamlSource,
  reference: FileReference,
  noun: string,
): Promise<Followed | null> {
  if (from.isUnset(reference.path)) return null;
  const absolute = resolvePath(reference.text, loading.folder, loading.home);
  const file = displayFile(absolute, loading.cwd);
  const reading = isOtherHome(reference.text)
    ? { fault: { what: 'is in the home folder of another user' } }
    : await readText(absolute);
  if ('text' in reading) return { text: reading.text, file, path: absolute };
  loading.problems.push(
    problemAt(
      reference.at,
      {
        what: `the ${noun} file ${reading.fault.what}`,
        got: from.show(reference.path),
        allowed: `the path of a readable file, absolute, below ~/ or relative to ${loading.folder}`,
        action: 'correct the path, or create the file',
      },
      reference.path,
    ),
  );
  return null;
}

function parse(loading: Loading, text: string, file: string): YamlSource | null {
  const { source, problems, warnings } = parseYaml(text, file, loading.variables);
  loading.problems.push(...problems);
  loading.warnings.push(...warnings);
  return source;
}

/** Gathers what was found, except about values of unset variables, which are reported already. True when all is well. */
function keep(
  loading: Loading,
  found: { readonly problems: readonly LocatedProblem[]; readonly warnings: readonly LocatedProblem[] },
  source: YamlSource,
): boolean {
  loading.problems.push(...found.problems.filter((problem) => !source.isUnset(problem.path)));
  loading.warnings.push(...found.warnings);
  return found.problems.length === 0;
}

/** A static sandbox is one machine: two units at once would share it. */
function sharedMachine(main: ExperimentFile, environment: EnvironmentSpec): LocatedProblem[] {
  const isStatic = routesOf(environment).some(({ route }) => route.provider === 'static');
  if (!isStatic || main.concurrency === 1) return [];
  const text = {
    what: 'the environment has a static sandbox, which is one machine',
    got: `concurrency ${main.concurrency}`,
    allowed: '1',
    action: 'write concurrency: 1',
  };
  return [problemAt(main.concurrencyAt, text, ['concurrency'])];
}

/** A provider that cannot leave its sandboxes as the experiment wants. */
function impossibleCleanup(main: ExperimentFile, environment: EnvironmentSpec): LocatedProblem[] {
  const providers = new Set(routesOf(environment).map(({ route }) => route.provider));
  return [...providers].flatMap((provider) => {
    const what = cleanupRefusal(provider, main.cleanupMode);
    if (what === null) return [];
    const allowed = cleanupModesOf(provider).join(', ');
    const text = { what, got: main.cleanupMode, allowed, action: 'choose one of them, or remove the key for delete' };
    return [problemAt(main.cleanupModeAt, text, ['cleanup_mode'])];
  });
}

function refuseOtherHome(loading: Loading, source: YamlSource): void {
  const reader = new ConfigReader(source);
  const root = reader.get(['output', 'root']);
  if (typeof root !== 'string' || !isOtherHome(root)) return;
  reader.fail(['output', 'root'], {
    what: '"output.root" is in the home folder of another user',
    allowed: 'a path, absolute, below ~/ or relative to the current folder',
    action: 'write the path out',
  });
  keep(loading, reader, source);
}

/** File by file as they were met, from top to bottom. */
function inReadingOrder(problems: readonly LocatedProblem[]): LocatedProblem[] {
  const files = [...new Set(problems.map(({ file }) => file))];
  return problems.toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
}
