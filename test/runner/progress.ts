import { emptyTally, type Failure, type Tally } from './vitest-report.ts';
import { enablingCommand, WHOLE, type Presence, type Tier } from './tiers.ts';

export interface StepOutcome {
  name: string;
  tally: Tally;
  seconds: number;
  /** What the tool printed; its end is shown when the step failed and no test says why. */
  output: string;
}

export interface TierDecision {
  tier: Tier;
  presence: Presence;
  isRequired: boolean;
  isOn: boolean;
}

/** The closing line, which other programs read: no colour, no prefix. */
export function countLine({ passed, failed, skipped }: Pick<Tally, 'passed' | 'failed' | 'skipped'>): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

export function sumTallies(tallies: readonly Tally[]): Tally {
  const total = emptyTally();
  for (const tally of tallies) {
    total.passed += tally.passed;
    total.failed += tally.failed;
    total.skipped += tally.skipped;
    total.problems.push(...tally.problems);
    total.failures.push(...tally.failures);
    for (const tier of tally.ranTiers) if (!total.ranTiers.includes(tier)) total.ranTiers.push(tier);
    for (const [tier, count] of Object.entries(tally.skippedByTier)) {
      total.skippedByTier[tier] = (total.skippedByTier[tier] ?? 0) + count;
    }
  }
  return total;
}

/** What a passing test has to say all the same, such as what it did not look at. */
const NOTE = /^note: /u;

/** How much of a failed step's output, and of a failed test's message, is shown. */
const SHOWN_LINES = { output: 400, message: 30 };

/**
 * One line when a step ends; below it what it noted. Below a failed step stand the tests that failed with what they said, and
 * for a step that has none the end of all it printed.
 */
export function stepLines(outcome: StepOutcome, isColoured: boolean): string {
  const isFailed = outcome.tally.failed > 0;
  const paint = (text: string): string => (isColoured ? `\u001B[${isFailed ? 31 : 32}m${text}\u001B[0m` : text);
  const counts = countLine(outcome.tally);
  const line = `${paint((isFailed ? 'FAIL' : 'ok').padEnd(6))}${outcome.name.padEnd(16)}${outcome.seconds.toFixed(1).padStart(7)} s   ${counts}\n`;
  if (!isFailed) {
    const notes = outcome.output.split('\n').filter((text) => NOTE.test(text));
    return [line, ...notes.map((note) => `      ${note}\n`)].join('');
  }
  const problems = outcome.tally.problems.map((problem) => `  ${problem}\n`).join('');
  const { failures } = outcome.tally;
  const shown = failures.length > 0 ? failures.map(failureLines).join('\n') : lastLines(outcome.output.trimEnd());
  return `${line}${shown}\n${problems}\n`;
}

function lastLines(text: string): string {
  const lines = text.split('\n');
  const cut = lines.length - SHOWN_LINES.output;
  return cut > 0 ? [`(${cut} lines before)`, ...lines.slice(cut)].join('\n') : text;
}

function failureLines({ test, file, message }: Failure): string {
  const lines = message.trimEnd().split('\n');
  const shown = lines.slice(0, SHOWN_LINES.message).map((text) => `      ${text}`);
  return [`  ${file}\n    ${test}`, ...shown].join('\n');
}

/** The names of what failed, for the end of a long output, where it is looked for first. */
export function failedLines(outcomes: readonly StepOutcome[]): string {
  const failed = outcomes.filter(({ tally }) => tally.failed > 0);
  return failed
    .flatMap(({ name, tally }) => [
      `failed: ${name}\n`,
      ...tally.failures.map(({ test, file, message }) => `  ${file}: ${test}: ${message.split('\n', 1)[0] ?? ''}\n`),
      ...tally.problems.map((problem) => `  ${problem}\n`),
    ])
    .join('');
}

/** What was skipped and how to run it, then what a required tier did not do. Failures found here are counted by the caller. */
export function tierLines(decisions: readonly TierDecision[], total: Tally): string {
  return decisions
    .flatMap(({ tier, presence, isOn }) => {
      const count = total.skippedByTier[tier.name] ?? 0;
      if (count === 0 && (isOn || presence.present)) return [];
      const why = presence.present ? 'off' : presence.reason;
      return [
        `skipped tier ${tier.name} (${count} ${tier.name === WHOLE ? 'checks and files' : 'tests'}): ${why}; needs ${tier.needs}; enable: ${enablingCommand(tier.name)}\n`,
      ];
    })
    .join('');
}

/** Required tiers that did not run. A narrowed run may leave a tier's tests out, but may not skip them. */
export function tierProblems(decisions: readonly TierDecision[], total: Tally, isNarrowed: boolean): string[] {
  return decisions.flatMap(({ tier, presence, isRequired }) => {
    if (!isRequired) return [];
    if (!presence.present)
      return [`required tier ${tier.name} is not available: ${presence.reason}; needs ${tier.needs}`];
    const count = total.skippedByTier[tier.name] ?? 0;
    if (count > 0) return [`required tier ${tier.name} skipped ${count} tests`];
    if (!isNarrowed && !total.ranTiers.includes(tier.name)) return [`required tier ${tier.name} ran no test`];
    return [];
  });
}
