/** A check that passes or fails as a whole, counted as one. `args` go to Node, from the repository root. */
export interface CommandStep {
  kind: 'command';
  name: string;
  args: readonly string[];
  /** Run only with the tier `whole`, or when it is asked for by name. */
  isSlow?: true;
  timeoutSeconds: number;
}

/** A folder of tests, counted test by test. A missing or empty folder is a failure. */
export interface TestStep {
  kind: 'tests';
  name: string;
  folder: string;
  /** Files run one after the other: each of them uses the whole machine. */
  isSerial?: true;
  /** Folders below it whose tests change nothing outside themselves: their files share what they import, which saves most of their time. */
  shared?: readonly string[];
  timeoutSeconds: number;
}

export type Step = CommandStep | TestStep;

const eslintArgs = ['node_modules/eslint/bin/eslint.js', '--config', 'test/eslint.config.mjs', '--max-warnings', '0'];
const tscArgs = (project: string, name: string): string[] => [
  'node_modules/typescript/bin/tsc',
  '--project',
  project,
  '--noEmit',
  '--incremental',
  '--tsBuildInfoFile',
  `.cache/${name}.tsbuildinfo`,
];

const knipArgs = ['node_modules/knip/bin/knip.js', '--config', '.knip.json', '--no-progress', '--no-config-hints'];

const command = (name: string, args: readonly string[], timeoutSeconds: number): CommandStep => ({
  kind: 'command',
  name,
  args,
  timeoutSeconds,
});
const slow = (...step: Parameters<typeof command>): CommandStep => ({ ...command(...step), isSlow: true });

/** Longest first; tests are linted apart from the rest so that two cores share the work. */
export const commandSteps: readonly CommandStep[] = [
  slow('lint', [...eslintArgs, '--ignore-pattern', 'test/', '.'], 900),
  command('types', tscArgs('tsconfig.json', 'tsc'), 600),
  slow('format', ['node_modules/prettier/bin/prettier.cjs', '--check', '.'], 300),
  slow('lint-tests', [...eslintArgs, 'test'], 900),
  // CDK's own types do not hold under exactOptionalPropertyTypes.
  slow('types-cdk', tscArgs('infra/tsconfig.json', 'tsc-cdk'), 600),
  slow('unused', knipArgs, 300),
];

export const testSteps: readonly TestStep[] = [
  { kind: 'tests', name: 'architecture', folder: 'test/architecture', timeoutSeconds: 300 },
  {
    kind: 'tests',
    name: 'unit',
    folder: 'test/unit',
    shared: ['test/unit/contracts', 'test/unit/core', 'test/unit/usecases'],
    timeoutSeconds: 900,
  },
  { kind: 'tests', name: 'contract', folder: 'test/contract', timeoutSeconds: 1200 },
  { kind: 'tests', name: 'state-machines', folder: 'test/state-machines', timeoutSeconds: 1800 },
  { kind: 'tests', name: 'model', folder: 'test/model', timeoutSeconds: 1800 },
  { kind: 'tests', name: 'manifests', folder: 'test/manifests', timeoutSeconds: 600 },
  { kind: 'tests', name: 'infra', folder: 'test/infra', timeoutSeconds: 1800 },
  { kind: 'tests', name: 'e2e', folder: 'test/e2e', isSerial: true, timeoutSeconds: 1800 },
];

/** Names of the projects that a step is run as. */
export function projectsOf({ name, shared }: TestStep): readonly string[] {
  return shared === undefined ? [name] : [name, `${name}-shared`];
}
