import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAgent } from '#core/agent-spec';
import { ConfigReader } from '#core/config-reader';
import { readEnvironment } from '#core/environment';
import { readExperimentFile } from '#core/experiment';
import { formatProblem, type LocatedProblem, plainSource } from '#core/located';
import { readTaskCard } from '#core/task-card';
import { readTaskEntries } from '#core/task-list';

const least = { name: 'x', agents: ['a.yaml'], environment: 'e.yaml', tasks: 't.txt' };

describe('an experiment file', () => {
  it('has the defaults of upstream, and ours', () => {
    const { experiment, problems, warnings } = readExperimentFile(plainSource('exp.yaml', least));
    expect([problems, warnings]).toEqual([[], []]);
    expect(experiment).toMatchObject({
      name: 'x',
      outputRoot: '.logs/ale',
      concurrency: 1,
      cleanupMode: 'delete',
      promptSuffix: '',
      wallTimeSeconds: null,
      autoResume: true,
      maxAttempts: 3,
      trials: 1,
      privilege: null,
      network: null,
      budgetUsd: null,
      deadlineSeconds: null,
      environment: { text: 'e.yaml', path: ['environment'] },
      tasks: { text: 't.txt', path: ['tasks'] },
    });
  });

  it('takes what upstream converts: digits in quotes, an empty mode, nulls', () => {
    const loose = {
      ...least,
      concurrency: '4',
      wall_time_s: ' 60 ',
      cleanup_mode: '',
      prompt_suffix: null,
      output: null,
      secret_file: null,
    };
    expect(readExperimentFile(plainSource('exp.yaml', loose))).toMatchObject({
      problems: [],
      experiment: {
        concurrency: 4,
        wallTimeSeconds: 60,
        cleanupMode: 'delete',
        promptSuffix: '',
        outputRoot: '.logs/ale',
      },
    });
  });

  it('may have its tasks inline', () => {
    const inline = { ...least, tasks: [{ path: 'a/b', variants: [1] }] };
    expect(readExperimentFile(plainSource('exp.yaml', inline))).toMatchObject({
      problems: [],
      experiment: { tasks: [{ path: 'a/b', variants: [1] }] },
    });
  });
});

/** Any value a file can hold, its mappings often with the keys that readers look for. */
function anyValue(keys: readonly string[]): fc.Arbitrary<unknown> {
  const key = fc.oneof(fc.constantFrom(...keys), fc.string({ maxLength: 6 }));
  const leaf = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, 'process', 'ale-kasm', 'a/b', undefined),
  );
  return fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('node'), { maxLength: 3 }),
      fc.dictionary(key, tie('node'), { maxKeys: 5 }),
    ),
  })).node;
}

const readers: readonly (readonly [string, readonly string[], (value: unknown) => readonly LocatedProblem[]])[] = [
  [
    'experiment',
    [
      ...Object.keys(least),
      'agent',
      'output',
      'root',
      'concurrency',
      'network',
      'trials',
      'reliability',
      'path',
      'variants',
    ],
    (value) => readExperimentFile(plainSource('f', value)).problems,
  ],
  [
    'agent',
    ['harness', 'class', 'model', 'config', 'id'],
    (value) => readAgent(plainSource('f', value), { file: 'e', line: 1, column: 1 }, { process: [] }).problems,
  ],
  [
    'environment',
    ['snapshots', 'provider', 'image', 'resolution', 'process', 'gcloud', 'zones', 'docker', 'endpoint', 'output_path'],
    (value) => readEnvironment(plainSource('f', value)).problems,
  ],
  [
    'task card',
    ['vm', 'snapshot', 'timeout', 'network', 'mode', 'allow', 'grading', 'machineType'],
    (value) => readTaskCard(value).problems,
  ],
  [
    'task list',
    ['path', 'variants'],
    (value) => {
      const reader = new ConfigReader(plainSource('f', value));
      readTaskEntries(reader);
      return reader.problems;
    },
  ],
];

describe('any value at all', () => {
  it.each(readers)('as %s gives problems that say everything, and never an exception', (_, keys, read) => {
    fc.assert(
      fc.property(anyValue(keys), (value) => {
        for (const problem of read(value)) {
          for (const part of [problem.what, problem.got, problem.allowed, problem.action]) expect(part).not.toBe('');
          expect(formatProblem(problem).split('\n')).toHaveLength(1);
        }
      }),
      { numRuns: 300 },
    );
  });
});
