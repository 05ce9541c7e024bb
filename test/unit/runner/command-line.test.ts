import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { helpText, parseArguments } from '../../runner/arguments.ts';
import {
  countLine,
  failedLines,
  stepLines,
  sumTallies,
  tierLines,
  tierProblems,
  type TierDecision,
} from '../../runner/progress.ts';
import { commandSteps, projectsOf, testSteps } from '../../runner/steps.ts';
import { parseJavaMajor, parseTierNames, tierInTitle, tiers, tierTitle, type Tier } from '../../runner/tiers.ts';
import { emptyTally } from '../../runner/vitest-report.ts';
import { wholeFiles } from '../../runner/whole.ts';

const root = path.resolve('.');
const chosen = (...args: string[]) =>
  parseArguments(args, root).selected.map(({ step, filters }) => [step.name, ...filters].join(' '));

describe('the arguments of npm test', () => {
  it('none means every check', () => {
    expect(chosen()).toEqual([...commandSteps, ...testSteps].map((step) => step.name));
    expect(parseArguments([], root)).toMatchObject({ mode: 'run', isJson: false, isNarrowed: false });
  });

  it('name checks, folders and files', () => {
    expect(chosen('types', 'lint')).toEqual(['lint', 'types']);
    expect(chosen('test/unit/runner')).toEqual(['unit test/unit/runner']);
    expect(chosen('./test/unit/runner/', 'test/architecture')).toEqual(['architecture', 'unit test/unit/runner']);
    expect(chosen('unit', 'test/unit/runner')).toEqual(['unit']);
    expect(chosen('test')).toEqual(testSteps.map((step) => step.name));
    expect(parseArguments(['unit', '--json'], root)).toMatchObject({ isJson: true, isNarrowed: true });
  });

  it('are refused with what would be right', () => {
    expect(() => chosen('--watch')).toThrow('--watch is not an option; see npm test -- --help.');
    expect(() => chosen('test/unit/nothing')).toThrow('test/unit/nothing is neither a check nor a file');
    expect(() => chosen('infra')).not.toThrow();
    expect(() => chosen('lambdas')).toThrow('lambdas holds no tests; tests live in test/architecture');
  });

  it('are explained, with every check and every tier', () => {
    expect(parseArguments(['--help'], root).mode).toBe('help');
    expect(parseArguments(['--list-tiers'], root).mode).toBe('list-tiers');
    for (const { name } of [...commandSteps, ...testSteps, ...tiers]) expect(helpText).toContain(name);
  });
});

const failure = { test: 'adds up', file: 'test/unit/a.test.ts', message: 'expected 1 to be 2\n    at a.test.ts:3' };
const tally = (part: Partial<ReturnType<typeof emptyTally>>) => ({ ...emptyTally(), ...part });

describe('the closing line', () => {
  it('names skipped tests only when there are any', () => {
    expect(countLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed');
    expect(countLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped');
  });

  it('is the sum of the steps', () => {
    const total = sumTallies([
      tally({ passed: 1, skipped: 2, skippedByTier: { a: 2 }, ranTiers: ['b'] }),
      tally({
        passed: 2,
        failed: 1,
        skipped: 1,
        skippedByTier: { a: 1 },
        ranTiers: ['b', 'c'],
        problems: ['p'],
        failures: [failure],
      }),
    ]);
    expect(total).toEqual({
      passed: 3,
      failed: 1,
      skipped: 3,
      skippedByTier: { a: 3 },
      ranTiers: ['b', 'c'],
      problems: ['p'],
      failures: [failure],
    });
  });
});

describe('the line of a step', () => {
  const outcome = { name: 'unit', seconds: 1.25, output: 'all it printed\n' };

  it('is one plain line when it passed', () => {
    expect(stepLines({ ...outcome, tally: tally({ passed: 4 }) }, false)).toBe(
      'ok    unit                1.3 s   4 passed, 0 failed\n',
    );
  });

  it('tells what a test noted, passed or not', () => {
    const output = 'stdout | a.test.ts\nnote: moto skips alarms\nall it printed\n';
    expect(stepLines({ ...outcome, output, tally: tally({ passed: 4 }) }, false)).toBe(
      'ok    unit                1.3 s   4 passed, 0 failed\n      note: moto skips alarms\n',
    );
  });

  it('is followed by the end of what the step printed when no test says what failed', () => {
    const failed = tally({ failed: 1, problems: ['no tests were found'] });
    expect(stepLines({ ...outcome, tally: failed }, false)).toBe(
      'FAIL  unit                1.3 s   0 passed, 1 failed\nall it printed\n  no tests were found\n\n',
    );
    const long = stepLines({ ...outcome, output: 'line\n'.repeat(1000), tally: failed }, false).split('\n');
    expect(long[1]).toBe('(600 lines before)');
    expect(long.filter((line) => line === 'line')).toHaveLength(400);
    expect(stepLines({ ...outcome, tally: tally({ failed: 1 }) }, true)).toContain('\u001B[31mFAIL');
  });

  it('is followed by the tests that failed and what they said, and by nothing of those that passed', () => {
    const lines = stepLines({ ...outcome, tally: tally({ passed: 3, failed: 1, failures: [failure] }) }, false);
    expect(lines).toContain('  test/unit/a.test.ts\n    adds up\n      expected 1 to be 2\n          at a.test.ts:3\n');
    expect(lines).not.toContain('all it printed');
  });

  it('comes back at the end with the name of each test that failed', () => {
    const failed = { ...outcome, tally: tally({ failed: 2, failures: [failure], problems: ['no report'] }) };
    expect(failedLines([{ ...outcome, tally: tally({ passed: 1 }) }, failed])).toBe(
      'failed: unit\n  test/unit/a.test.ts: adds up: expected 1 to be 2\n  no report\n',
    );
  });
});

describe('the tier of what takes minutes', () => {
  it('names files that a check runs, each once', () => {
    expect(wholeFiles.length).toBeGreaterThan(0);
    expect(new Set(wholeFiles).size).toBe(wholeFiles.length);
    for (const file of wholeFiles) {
      expect(existsSync(path.join(root, file)), file).toBe(true);
      expect(
        testSteps.some((step) => file.startsWith(`${step.folder}/`)),
        file,
      ).toBe(true);
    }
  });

  it('leaves tests of every folder but those of the model and the tasks in a plain run', () => {
    expect(wholeFiles.filter((file) => file.startsWith('test/model/') || file.startsWith('test/manifests/'))).toEqual(
      [],
    );
  });
});

describe('tests that share what they import', () => {
  const sharing = testSteps.filter(({ shared }) => shared !== undefined);

  it('are run beside the others of their step, each once', () => {
    expect(sharing.map(projectsOf)).toEqual([['unit', 'unit-shared']]);
    for (const { folder, shared = [] } of sharing) {
      expect(shared.length).toBeGreaterThan(0);
      for (const each of shared) {
        expect(each.startsWith(`${folder}/`), each).toBe(true);
        expect(existsSync(path.join(root, each)), each).toBe(true);
      }
    }
  });

  it('change neither the environment nor the working folder of their process', () => {
    const files = sharing.flatMap(({ shared = [] }) => shared.flatMap(testFilesIn));
    expect(files.length).toBeGreaterThan(100);
    const changing = /process\.(?:env\[?[^=\n]*\]?\s=\s|chdir)|vi\.(?:stub|useFake)|globalThis\.\w+\s=\s/u;
    expect(files.filter((file) => changing.test(readFileSync(file, 'utf8')))).toEqual([]);
  });
});

function testFilesIn(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder), { recursive: true })
    .map((name) => path.join(root, folder, String(name)))
    .filter((file) => file.endsWith('.test.ts'));
}

describe('tiers', () => {
  const tier: Tier = {
    name: 'dynamodb',
    needs: 'Java',
    isQuick: true,
    detect: () => ({ present: true }),
    install: () => undefined,
  };
  const decide = (part: Partial<TierDecision>): TierDecision[] => [
    { tier, presence: { present: true }, isRequired: true, isOn: true, ...part },
  ];
  const absent = { presence: { present: false, reason: 'no java' } as const, isOn: false };

  it('that are required may neither be absent, nor skip, nor run nothing', () => {
    expect(tierProblems(decide({}), tally({ ranTiers: ['dynamodb'] }), false)).toEqual([]);
    expect(tierProblems(decide(absent), tally({}), false)).toEqual([
      'required tier dynamodb is not available: no java; needs Java',
    ]);
    expect(tierProblems(decide({}), tally({ skippedByTier: { dynamodb: 3 } }), true)).toEqual([
      'required tier dynamodb skipped 3 tests',
    ]);
    expect(tierProblems(decide({}), tally({}), false)).toEqual(['required tier dynamodb ran no test']);
    expect(tierProblems(decide({}), tally({}), true)).toEqual([]);
  });

  it('that are absent and not required fail nothing and are reported with the command that enables them', () => {
    const decisions = decide({ ...absent, isRequired: false });
    const total = tally({ skipped: 3, skippedByTier: { dynamodb: 3 } });
    expect(tierProblems(decisions, total, false)).toEqual([]);
    expect(tierLines(decisions, total)).toBe(
      'skipped tier dynamodb (3 tests): no java; needs Java; enable: EXAMHALL_REQUIRE=dynamodb npm test\n',
    );
    expect(tierLines(decide({}), tally({ ranTiers: ['dynamodb'] }))).toBe('');
  });

  it('are named in a list, each once, and an unknown name is refused with those that are known', () => {
    expect(parseTierNames('')).toEqual([]);
    expect(parseTierNames(' isolation, dynamodb,isolation ')).toEqual(['isolation', 'dynamodb']);
    expect(() => parseTierNames('dynamo')).toThrow(
      `"dynamo" is not a tier; the tiers are ${tiers.map(({ name }) => name).join(', ')}.`,
    );
  });

  it('are read back from the title of a suite', () => {
    expect(tierInTitle(tierTitle('unit store', 'dynamodb'))).toBe('dynamodb');
    expect(tierInTitle('a tier of tests')).toBeUndefined();
  });

  it('know the versions of Java', () => {
    expect(parseJavaMajor('openjdk version "17.0.15" 2025-04-15')).toBe(17);
    expect(parseJavaMajor('java version "1.8.0_402"')).toBe(8);
    expect(parseJavaMajor('nothing')).toBeUndefined();
  });
});
