import { ConfigReader } from './config-reader.ts';
import { closestName, type ConfigSource, type LocatedProblem, type Location, renderValue } from './located.ts';

/** An agent of an experiment: a harness or a class, its model and its settings. */
export interface AgentSpec {
  /** As written, else the harness or class; names the agent's folder. */
  readonly id: string;
  readonly harness: string | null;
  readonly className: string | null;
  readonly model: string | null;
  readonly executor: Executor | null;
  /** The settings of the harness, with `model` in it as upstream hands it over. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly file: string;
  /** Where the experiment names this agent. */
  readonly at: Location;
}

export const EXECUTORS = ['sandbox', 'local', 'docker'] as const;
export type Executor = (typeof EXECUTORS)[number];

/** The settings each harness reads, by harness; harnesses that are not listed are not checked. */
export type AgentConfigKeys = Readonly<Record<string, readonly string[]>>;

export interface AgentReading {
  readonly agent: AgentSpec;
  readonly problems: readonly LocatedProblem[];
  readonly warnings: readonly LocatedProblem[];
}

const topKeys = ['harness', 'class', 'model', 'id', 'executor', 'config'];

/** Reads an agent file. The result is usable only when `problems` is empty. */
export function readAgent(source: ConfigSource, at: Location, configKeys: AgentConfigKeys = {}): AgentReading {
  const reader = new ConfigReader(source);
  reader.mapping([], 'the agent file');
  reader.onlyKeys([], topKeys, 'the agent file');
  const harness = nonEmpty(reader.text(['harness'], 'the name of a harness'));
  const className = nonEmpty(reader.text(['class'], 'the dotted path of a class'));
  checkHarness(reader, harness ?? className);
  const config = { ...(reader.isSet(['config']) ? reader.mapping(['config'], '"config"') : null) };
  const model = readModel(reader, config);
  if (model !== null) config['model'] = model;
  warnDroppedKeys(reader, harness, configKeys);
  const agent: AgentSpec = {
    id: nonEmpty(reader.text(['id'], 'text')) ?? harness ?? className ?? '',
    harness,
    className: harness === null ? className : null,
    model,
    executor: reader.choice(['executor'], EXECUTORS),
    config,
    file: source.file,
    at,
  };
  return { agent, problems: reader.problems, warnings: reader.warnings };
}

function checkHarness(reader: ConfigReader, named: string | null): void {
  if (reader.has(['harness']) && reader.has(['class'])) {
    reader.fail(
      ['class'],
      {
        what: 'the agent has both "harness" and "class"',
        got: `harness ${reader.source.show(['harness'])} and class ${reader.source.show(['class'])}`,
        allowed: 'exactly one of them',
        action: 'remove one',
      },
      'key',
    );
  } else if (named === null && reader.problems.every(({ path }) => path[0] !== 'harness' && path[0] !== 'class')) {
    reader.missing(['harness'], 'the name of a harness, or "class" with a dotted path', 'add "harness: <name>"');
  }
}

/** `model` at the top wins over `config.model`. */
function readModel(reader: ConfigReader, config: Readonly<Record<string, unknown>>): string | null {
  const path = reader.isSet(['model']) ? ['model'] : ['config', 'model'];
  if (!reader.isSet(path)) return null;
  const value = path.length === 1 ? reader.get(path) : config['model'];
  if (typeof value === 'string') return value;
  reader.fail(path, {
    what: 'the model is not text',
    allowed: 'the name of a model as text',
    action: 'write it as text, in quotes if it looks like a number or a truth value',
  });
  return null;
}

function warnDroppedKeys(reader: ConfigReader, harness: string | null, configKeys: AgentConfigKeys): void {
  const known = harness !== null && Object.hasOwn(configKeys, harness) ? configKeys[harness] : undefined;
  const config = reader.get(['config']);
  if (known === undefined || typeof config !== 'object' || config === null || Array.isArray(config)) return;
  for (const key of Object.keys(config).filter((name) => name !== 'model' && !known.includes(name))) {
    const meant = closestName(key, known);
    reader.warn(
      ['config', key],
      {
        what: `${harness ?? ''} reads no such setting; it is dropped`,
        got: renderValue(key),
        allowed: [...known, 'model'].join(', '),
        action: meant === null ? 'remove it' : `remove it, or write "${meant}" if you meant that`,
      },
      'key',
    );
  }
}

function nonEmpty(text: string | null): string | null {
  return text === '' ? null : text;
}
