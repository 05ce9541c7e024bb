import * as z from 'zod';
import { tierInTitle } from './tiers.ts';

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()).default([]) }),
      ),
    }),
  ),
});

/** A test that failed, with what it said. */
export interface Failure {
  test: string;
  file: string;
  message: string;
}

/** What one run of tests amounts to. `problems` are failures that no single test shows; each counts as one failed. */
export interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  skippedByTier: Record<string, number>;
  ranTiers: string[];
  problems: string[];
  failures: Failure[];
}

export function emptyTally(): Tally {
  return { passed: 0, failed: 0, skipped: 0, skippedByTier: {}, ranTiers: [], problems: [], failures: [] };
}

/**
 * Counts vitest's JSON report. Nothing counts as passed that did not say so: no report, no tests, a file that failed outside
 * its tests, a test that never finished and a skip that names no tier are failures.
 */
export function countReport(json: string | undefined, exitCode: number | null): Tally {
  const tally = emptyTally();
  const report = readReport(json);
  if (!report) {
    tally.problems.push(`the test runner ended (exit code ${exitCode ?? 'none'}) without a report`);
    return withProblemsCounted(tally);
  }
  const names = report.testResults.flatMap((file) => file.assertionResults);
  if (names.length === 0 && report.testResults.every((file) => file.status === 'passed')) {
    tally.problems.push('no tests were found');
  }
  for (const file of report.testResults) countFile(file, tally);
  if (exitCode !== 0 && tally.failed === 0 && tally.problems.length === 0) {
    tally.problems.push(
      `every test passed, yet the test runner ended with exit code ${exitCode ?? 'none'}: an error outside of them`,
    );
  }
  return withProblemsCounted(tally);
}

function readReport(json: string | undefined): z.infer<typeof reportSchema> | undefined {
  if (json === undefined) return undefined;
  try {
    return reportSchema.safeParse(JSON.parse(json)).data;
  } catch {
    return undefined;
  }
}

type FileResult = z.infer<typeof reportSchema>['testResults'][number];

function countFile(file: FileResult, tally: Tally): void {
  let failedHere = 0;
  const stray: string[] = [];
  for (const { fullName, status, failureMessages } of file.assertionResults) {
    const tier = tierInTitle(fullName);
    if (status === 'passed' || status === 'failed') {
      if (status === 'passed') tally.passed += 1;
      else {
        failedHere += 1;
        tally.failures.push({ test: fullName, file: file.name, message: failureMessages.join('\n') });
      }
      if (tier !== undefined && !tally.ranTiers.includes(tier)) tally.ranTiers.push(tier);
    } else if (status === 'skipped' && tier !== undefined) {
      tally.skipped += 1;
      tally.skippedByTier[tier] = (tally.skippedByTier[tier] ?? 0) + 1;
    } else {
      stray.push(`${status}, not run: ${fullName} (${file.name})`);
    }
  }
  tally.failed += failedHere;
  if (file.status !== 'passed' && failedHere === 0) {
    tally.problems.push(`failed outside of its tests: ${file.name}`);
    tally.failures.push({ test: 'outside of its tests', file: file.name, message: file.message });
  }
  tally.problems.push(...stray);
}

function withProblemsCounted(tally: Tally): Tally {
  return { ...tally, failed: tally.failed + tally.problems.length };
}
