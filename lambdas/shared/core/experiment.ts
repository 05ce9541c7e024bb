import type { AgentSpec } from './agent-spec.ts';
import { CLEANUP_MODES, type CleanupMode } from './cleanup-mode.ts';
import { ConfigReader } from './config-reader.ts';
import type { EnvironmentSpec } from './environment.ts';
import type { ConfigSource, LocatedProblem, Location, ValuePath } from './located.ts';
import { networkRefusal, NETWORK_MODES } from './network-profile.ts';
import { readTaskEntries, type TaskSelection } from './task-list.ts';

export const PRIVILEGES = ['upstream', 'restricted'] as const;
export type Privilege = (typeof PRIVILEGES)[number];

/** Keys that hold for the whole run; the last five are ours and optional. */
export interface RunSettings {
  readonly name: string;
  readonly concurrency: number;
  readonly cleanupMode: CleanupMode;
  readonly promptSuffix: string;
  /** Overrides every card's timeout. */
  readonly wallTimeSeconds: number | null;
  readonly autoResume: boolean;
  readonly maxAttempts: number;
  readonly trials: number;
  /** Null leaves it to the card, else `restricted`. */
  readonly privilege: Privilege | null;
  /** Null leaves it to the card, else `open`. */
  readonly network: 'open' | null;
  readonly budgetUsd: number | null;
  readonly deadlineSeconds: number | null;
}

/** An experiment with everything it refers to. */
export interface Experiment extends RunSettings {
  readonly file: string;
  readonly agents: readonly AgentSpec[];
  readonly environment: EnvironmentSpec;
  /** In file order. */
  readonly tasks: readonly TaskSelection[];
  /** Absolute. */
  readonly outputRoot: string;
  /** As the file has it; what upstream's dry run prints. */
  readonly outputRootText: string;
}

/** A path written in a file, and where. */
export interface FileReference {
  readonly text: string;
  readonly at: Location;
  readonly path: ValuePath;
}

/** What the experiment file itself says, its references not yet followed. */
export interface ExperimentFile extends RunSettings {
  readonly agents: readonly FileReference[];
  readonly environment: FileReference | null;
  /** A list file, or the entries written inline. */
  readonly tasks: FileReference | readonly TaskSelection[];
  readonly outputRoot: string;
  readonly concurrencyAt: Location;
  readonly cleanupModeAt: Location;
}

const upstreamKeys = [
  'name',
  'secret_file',
  'agent',
  'agents',
  'environment',
  'tasks',
  'output',
  'concurrency',
  'cleanup_mode',
  'prompt_suffix',
  'wall_time_s',
  'auto_resume',
  'max_attempts',
];
const ourKeys = ['trials', 'privilege', 'network', 'budget_usd', 'deadline_s'];
const defaultOutputRoot = '.logs/ale';

/** Reads an experiment file. The result is usable only when `problems` is empty. */
export function readExperimentFile(source: ConfigSource): {
  readonly experiment: ExperimentFile;
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
} {
  const reader = new ConfigReader(source);
  reader.mapping([], 'the experiment file');
  refuseReliability(reader);
  reader.onlyKeys([], [...upstreamKeys, ...ourKeys], 'the experiment file', ['reliability']);
  reader.text(['secret_file'], 'the path of a dotenv file');
  const experiment: ExperimentFile = {
    ...readRunSettings(reader),
    agents: readAgentReferences(reader),
    environment: readReference(reader, ['environment'], 'the path of an environment file'),
    tasks: readTasks(reader),
    outputRoot: readOutputRoot(reader),
    concurrencyAt: source.locate(['concurrency']),
    cleanupModeAt: source.locate(['cleanup_mode']),
  };
  return { experiment, problems: reader.problems, warnings: reader.warnings };
}

function readRunSettings(reader: ConfigReader): RunSettings {
  const integer = (key: string, minimum: number, fallback: string): number | null =>
    reader.integer([key], { minimum, digitsInText: true, fallback });
  return {
    name: readName(reader),
    concurrency: requireSet(reader, 'concurrency') ? (integer('concurrency', 1, '1') ?? 1) : 1,
    cleanupMode:
      (reader.get(['cleanup_mode']) === '' ? null : reader.choice(['cleanup_mode'], CLEANUP_MODES)) ?? 'delete',
    promptSuffix: reader.text(['prompt_suffix'], 'text') ?? '',
    wallTimeSeconds: integer('wall_time_s', 1, "each task card's own timeout"),
    autoResume: reader.boolean(['auto_resume'], true),
    maxAttempts: requireSet(reader, 'max_attempts')
      ? (reader.integer(['max_attempts'], { minimum: 1, maximum: 3, fallback: '3' }) ?? 3)
      : 3,
    trials: reader.integer(['trials'], { minimum: 1, maximum: 1000, fallback: '1' }) ?? 1,
    privilege: reader.choice(['privilege'], PRIVILEGES),
    network: readNetwork(reader),
    budgetUsd: reader.positiveNumber(['budget_usd']),
    deadlineSeconds: integer('deadline_s', 1, 'no deadline'),
  };
}

/** False, after saying so, for a key that is written with no value. */
function requireSet(reader: ConfigReader, key: string): boolean {
  if (!reader.has([key]) || reader.isSet([key])) return true;
  reader.fail([key], {
    what: `"${key}" has no value`,
    allowed: 'a whole number',
    action: 'write one, or remove the key',
  });
  return false;
}

/** The name becomes one folder, whatever letters it has. */
function readName(reader: ConfigReader): string {
  const before = reader.problems.length;
  const allowed = 'one folder name: any letters and spaces, but no "/", no control character, not "." or ".."';
  const name = reader.text(['name'], allowed);
  if (name === null) {
    if (reader.problems.length === before) reader.missing(['name'], allowed, 'add "name: <name of the run folder>"');
    return '';
  }
  const fault = nameFault(name);
  if (fault !== null)
    reader.fail(['name'], {
      what: `the experiment's name ${fault}`,
      allowed,
      action: 'choose a name that can be a folder',
    });
  return name;
}

function nameFault(name: string): string | null {
  if (name.trim() === '') return 'is empty';
  if (name === '.' || name === '..') return 'is a relative folder';
  if (name.includes('/')) return 'has a "/"';
  if (/[\0-\x1f\x7f]/.test(name)) return 'has a control character';
  return new TextEncoder().encode(name).length > 255 ? 'is longer than 255 bytes' : null;
}

function readNetwork(reader: ConfigReader): 'open' | null {
  const value = reader.get(['network']);
  const mode = NETWORK_MODES.find((name) => name === value);
  if (mode === undefined && value === false) {
    const action = 'write network: open, or remove the key (YAML 1.1 reads a bare off as false)';
    reader.fail(['network'], { what: networkRefusal('off') ?? '', allowed: 'open', action });
    return null;
  }
  if (mode === undefined) return reader.choice(['network'], ['open']);
  const refusal = networkRefusal(mode);
  if (refusal === null) return 'open';
  reader.fail(['network'], { what: refusal, allowed: 'open', action: 'write network: open, or remove the key' });
  return null;
}

function refuseReliability(reader: ConfigReader): void {
  if (!reader.has(['reliability'])) return;
  reader.fail(
    ['reliability'],
    {
      what: 'the "reliability" block (adaptive trials) is not supported',
      allowed: '"trials", a fixed number of trials for each unit',
      action: 'remove the block and write "trials: <n>"',
    },
    'key',
  );
}

function readOutputRoot(reader: ConfigReader): string {
  if (!reader.isSet(['output'])) return defaultOutputRoot;
  if (reader.mapping(['output'], '"output"') === null) return defaultOutputRoot;
  reader.onlyKeys(['output'], ['root'], '"output"');
  const root = reader.text(['output', 'root'], 'a path');
  if (root !== null && root.trim() !== '') return root;
  if (reader.has(['output', 'root']) && (root !== null || !reader.isSet(['output', 'root'])))
    reader.fail(['output', 'root'], {
      what: '"output.root" is empty',
      allowed: 'a path, relative to the current folder or absolute',
      action: `write one, or remove the key for ${defaultOutputRoot}`,
    });
  return defaultOutputRoot;
}

function readAgentReferences(reader: ConfigReader): readonly FileReference[] {
  const allowed = '"agents" (a list of paths of agent files) or "agent" (one path), not both';
  if (reader.has(['agent']) && reader.has(['agents'])) {
    const got = `agent ${reader.source.show(['agent'])} and agents ${reader.source.show(['agents'])}`;
    reader.fail(
      ['agent'],
      { what: 'the experiment has both "agent" and "agents"', got, allowed, action: 'remove one of them' },
      'key',
    );
  } else if (!reader.has(['agent']) && !reader.has(['agents'])) {
    reader.missing(['agents'], allowed, 'add "agents:" with at least one path');
  }
  const single = reader.has(['agent']) ? [readReference(reader, ['agent'], 'the path of an agent file')] : [];
  return [...single, ...readAgentList(reader)].filter((reference) => reference !== null);
}

function readAgentList(reader: ConfigReader): readonly (FileReference | null)[] {
  if (!reader.has(['agents'])) return [];
  const list = reader.get(['agents']);
  if (Array.isArray(list) && list.length > 0)
    return list.map((_, index) => readReference(reader, ['agents', index], 'the path of an agent file'));
  reader.fail(['agents'], {
    what: '"agents" is not a list of at least one path',
    allowed: 'a non-empty list of paths of agent files',
    action: 'write each as "- path/to/agent.yaml"',
  });
  return [];
}

function readReference(reader: ConfigReader, path: ValuePath, allowed: string): FileReference | null {
  const value = reader.get(path) ?? null;
  if (typeof value === 'string' && value.trim() !== '') return { text: value, at: reader.source.locate(path), path };
  if (value === null && typeof path.at(-1) === 'string') reader.missing(path, allowed, 'add it');
  else
    reader.fail(path, {
      what: 'a reference to a file is not a path',
      allowed: `${allowed} (inline settings are not accepted)`,
      action: 'move the settings to a file of their own and write its path',
    });
  return null;
}

function readTasks(reader: ConfigReader): FileReference | readonly TaskSelection[] {
  const value = reader.get(['tasks']) ?? null;
  const allowed = 'the path of a .txt, .yaml or .yml list, or a list of {path, variants} entries';
  if (value === null) reader.missing(['tasks'], allowed, 'add it');
  else if (typeof value === 'string' && value.trim() !== '')
    return { text: value, at: reader.source.locate(['tasks']), path: ['tasks'] };
  else if (Array.isArray(value) && value.length > 0) return readTaskEntries(reader, ['tasks']);
  else if (Array.isArray(value))
    reader.fail(['tasks'], { what: 'the experiment has no tasks', allowed, action: 'add at least one task' });
  else
    reader.fail(['tasks'], { what: '"tasks" is neither a path nor a list', allowed, action: 'write one of the two' });
  return [];
}
