import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { helpText, parseArguments, type RunnerOptions } from './arguments.ts';
import * as progress from './progress.ts';
import { runNode, stopAll } from './run-command.ts';
import { projectsOf, type CommandStep, type TestStep } from './steps.ts';
import { parseTierNames, tiers, WHOLE, type Presence, type Tier } from './tiers.ts';
import { countReport, emptyTally } from './vitest-report.ts';
import { wholeFiles } from './whole.ts';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

interface Context {
  env: NodeJS.ProcessEnv;
  reportFolder: string;
  print: (text: string) => void;
  isColoured: boolean;
}

function installTier(tier: Tier, missing: string): Presence {
  try {
    tier.install();
    return tier.detect();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { present: false, reason: `${missing}. ${why}` };
  }
}

function decideTiers(required: readonly string[], print: (text: string) => void): progress.TierDecision[] {
  return tiers.map((tier) => {
    const isRequired = required.includes(tier.name);
    let presence = tier.detect();
    if (isRequired && !presence.present) {
      print(`installing what tier ${tier.name} needs: ${presence.reason}\n`);
      presence = installTier(tier, presence.reason);
    }
    return { tier, presence, isRequired, isOn: presence.present && (isRequired || tier.isQuick) };
  });
}

async function runCommandStep(step: CommandStep, context: Context): Promise<progress.StepOutcome> {
  const result = await runNode(step.args, { cwd: root, env: context.env, timeoutSeconds: step.timeoutSeconds });
  const tally = emptyTally();
  if (result.exitCode === 0) tally.passed = 1;
  else tally.failed = 1;
  if (result.hasTimedOut) tally.problems.push(`stopped after ${step.timeoutSeconds} s`);
  return { name: step.name, tally, seconds: result.seconds, output: result.output };
}

async function runTestStep(
  step: TestStep,
  filters: readonly string[],
  context: Context,
): Promise<progress.StepOutcome> {
  if (!existsSync(path.join(root, step.folder))) return missingFolder(step);
  const reportFile = path.join(context.reportFolder, `${step.name}.json`);
  const projects = projectsOf(step).flatMap((name) => ['--project', name]);
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...projects];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile}`];
  const result = await runNode([...vitest, ...reporters, ...filters], {
    cwd: root,
    env: context.env,
    timeoutSeconds: step.timeoutSeconds,
  });
  const json = existsSync(reportFile) ? readFileSync(reportFile, 'utf8') : undefined;
  const tally = countReport(json, result.exitCode);
  for (const failure of tally.failures) failure.file = path.relative(root, failure.file);
  if (result.hasTimedOut) tally.problems.push(`stopped after ${step.timeoutSeconds} s`);
  return { name: step.name, tally, seconds: result.seconds, output: result.output };
}

function missingFolder(step: TestStep): progress.StepOutcome {
  const tally = emptyTally();
  tally.failed = 1;
  tally.problems.push(`${step.folder} does not exist`);
  return { name: step.name, tally, seconds: 0, output: '' };
}

/** Whole-tree checks use one core each, so two run side by side; tests have the machine to themselves. */
async function runSteps(selected: RunnerOptions['selected'], context: Context): Promise<progress.StepOutcome[]> {
  const outcomes: progress.StepOutcome[] = [];
  const finish = (outcome: progress.StepOutcome): void => {
    outcomes.push(outcome);
    context.print(progress.stepLines(outcome, context.isColoured));
  };
  const commands = selected.flatMap(({ step }) => (step.kind === 'command' ? [step] : []));
  const lane = async (): Promise<void> => {
    for (let step = commands.shift(); step; step = commands.shift()) finish(await runCommandStep(step, context));
  };
  await Promise.all([lane(), lane()]);
  for (const { step, filters } of selected) {
    if (step.kind === 'tests') finish(await runTestStep(step, filters, context));
  }
  return outcomes;
}

/** What the tier `whole` holds runs with it, or when the command line names it; each check and file left out is one skip. */
function leaveOutSlow(options: RunnerOptions, isWholeOn: boolean) {
  const isSlow = ({ step }: RunnerOptions['selected'][number]): boolean =>
    step.kind === 'command' && step.isSlow === true;
  const leftOut = emptyTally();
  if (isWholeOn) {
    if (!options.isNarrowed) leftOut.ranTiers.push(WHOLE);
    return { selected: options.selected, leftOut };
  }
  leftOut.skipped = options.selected.filter(isSlow).length + wholeFiles.length;
  leftOut.skippedByTier[WHOLE] = leftOut.skipped;
  return { selected: options.selected.filter((each) => !isSlow(each)), leftOut };
}

async function run(options: RunnerOptions): Promise<void> {
  const out = options.isJson ? process.stderr : process.stdout;
  const print = (text: string): void => void out.write(text);
  const isColoured = out.isTTY && !process.env['NO_COLOR'];
  const decisions = decideTiers(parseTierNames(process.env['EXAMHALL_REQUIRE'] ?? ''), print);
  const isOn = decisions.filter((decision) => decision.isOn).map((decision) => decision.tier.name);
  if (options.isNarrowed && !isOn.includes(WHOLE)) isOn.push(WHOLE);
  const colour = isColoured ? { FORCE_COLOR: '1' } : { NO_COLOR: '1', FORCE_COLOR: undefined };
  const env = { ...process.env, ...colour, EXAMHALL_TIERS: isOn.join(',') };
  const reportFolder = mkdtempSync(path.join(tmpdir(), 'examhall-test-'));
  try {
    const { selected, leftOut } = leaveOutSlow(options, isOn.includes(WHOLE));
    const outcomes = await runSteps(selected, { env, reportFolder, print, isColoured });
    const total = progress.sumTallies([...outcomes.map((outcome) => outcome.tally), leftOut]);
    const problems = progress.tierProblems(decisions, total, options.isNarrowed);
    total.failed += problems.length;
    print(progress.tierLines(decisions, total));
    for (const problem of problems) print(`FAIL  ${problem}\n`);
    print(progress.failedLines(outcomes));
    print(`${progress.countLine(total)}\n`);
    if (options.isJson) process.stdout.write(`${JSON.stringify(toDocument(outcomes, total, problems))}\n`);
    process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
  } finally {
    rmSync(reportFolder, { recursive: true, force: true });
  }
}

function toDocument(
  outcomes: readonly progress.StepOutcome[],
  total: ReturnType<typeof emptyTally>,
  problems: string[],
) {
  const { passed, failed, skipped, skippedByTier } = total;
  const steps = outcomes.map(({ name, seconds, tally }) => ({ name, seconds, ...tally }));
  return { passed, failed, skipped, skippedByTier, problems, steps };
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    stopAll();
    process.exit(130);
  });
}

try {
  const options = parseArguments(process.argv.slice(2), root);
  if (options.mode === 'help') process.stdout.write(helpText);
  else if (options.mode === 'list-tiers') process.stdout.write(`${tiers.map((tier) => tier.name).join(',')}\n`);
  else await run(options);
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
