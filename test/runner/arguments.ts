import { existsSync } from 'node:fs';
import path from 'node:path';
import { commandSteps, testSteps, type Step } from './steps.ts';
import { enablingCommand, tiers } from './tiers.ts';

export interface RunnerOptions {
  mode: 'run' | 'help' | 'list-tiers';
  isJson: boolean;
  /** Steps to run, each with the test files or folders it is narrowed to. */
  selected: { step: Step; filters: string[] }[];
  isNarrowed: boolean;
}

export const helpText = `Runs every check of Exam Hall and closes with one line: N passed, N failed, N skipped.

Usage: npm test -- [options] [check | folder | file ...]

Checks: ${[...commandSteps, ...testSteps].map((step) => step.name).join(', ')}

Options:
  --json         print one JSON document on stdout; progress goes to stderr
  --list-tiers   print the names of all tiers, separated by commas
  --help         print this

Tiers (tests that need more than Node; run when present, reported as skipped otherwise):
${tiers.map((tier) => `  ${tier.name.padEnd(13)}${tier.needs}`).join('\n')}

Examples:
  npm test                               every check
  npm test -- lint types                 two of them
  npm test -- test/unit/core             one folder of tests
  npm test -- --json > result.json       for another program
  ${enablingCommand('dynamodb')}    installs what the tier needs, fails if it still skips
`;

/** Reads the command line. @throws Error naming the argument that cannot be used and what can. */
export function parseArguments(args: readonly string[], root: string): RunnerOptions {
  const options: RunnerOptions = { mode: 'run', isJson: false, selected: [], isNarrowed: false };
  const targets: string[] = [];
  for (const arg of args) {
    if (arg === '--json') options.isJson = true;
    else if (arg === '--help' || arg === '-h') options.mode = 'help';
    else if (arg === '--list-tiers') options.mode = 'list-tiers';
    else if (arg.startsWith('-')) throw new Error(`${arg} is not an option; see npm test -- --help.`);
    else targets.push(arg);
  }
  options.isNarrowed = targets.length > 0;
  options.selected = targets.length > 0 ? select(targets, root) : everyStep();
  return options;
}

function everyStep(): RunnerOptions['selected'] {
  return [...commandSteps, ...testSteps].map((step) => ({ step, filters: [] }));
}

function select(targets: readonly string[], root: string): RunnerOptions['selected'] {
  const chosen = new Map<Step, { isWhole: boolean; filters: string[] }>();
  const choose = (step: Step, filter?: string): void => {
    const entry = chosen.get(step) ?? { isWhole: false, filters: [] };
    if (filter === undefined) entry.isWhole = true;
    else entry.filters.push(filter);
    chosen.set(step, entry);
  };
  for (const target of targets) {
    const named = [...commandSteps, ...testSteps].find((step) => step.name === target);
    if (named) choose(named);
    else for (const { step, filter } of stepsUnder(target, root)) choose(step, filter);
  }
  return everyStep().flatMap(({ step }) => {
    const entry = chosen.get(step);
    return entry ? [{ step, filters: entry.isWhole ? [] : entry.filters }] : [];
  });
}

function stepsUnder(target: string, root: string): { step: Step; filter?: string }[] {
  const relative = path.relative(root, path.resolve(root, target)).split(path.sep).join('/');
  const isUnder = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}/`);
  if (!existsSync(path.join(root, relative))) {
    throw new Error(`${target} is neither a check nor a file; the checks are listed by npm test -- --help.`);
  }
  const found = testSteps.flatMap((step) => {
    if (isUnder(step.folder, relative)) return [{ step }];
    return isUnder(relative, step.folder) ? [{ step, filter: relative }] : [];
  });
  if (found.length > 0) return found;
  throw new Error(`${target} holds no tests; tests live in ${testSteps.map((step) => step.folder).join(', ')}.`);
}
