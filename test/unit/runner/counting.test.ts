import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runNode } from '../../runner/run-command.ts';
import { countReport, type Tally } from '../../runner/vitest-report.ts';

const imports = `import { beforeAll, describe, expect, it } from 'vitest';\n`;
const suites: Record<string, string> = {
  mixed: `it('a', () => {}); it('b', () => { expect(1).toBe(2); });`,
  tiers: `import { tier } from '#test/runner/tier';
    tier('dynamodb')('c', () => { it('d', () => {}); it('e', () => {}); });
    tier('isolation')('f', () => { it('g', () => {}); });`,
  stray: `it('h', () => {}); it.skip('i', () => {}); it.todo('j');`,
  hook: `beforeAll(() => { throw new Error('no'); }); it('k', () => {});`,
  broken: `import './does-not-exist.ts'; it('l', () => {});`,
  empty: `export const nothing = 1;`,
  outside: `it('m', () => { void Promise.reject(new Error('unhandled')); });`,
  good: `it('n', () => {}); it('o', () => {});`,
};

let folder: string;

beforeAll(() => {
  mkdirSync('.cache', { recursive: true });
  folder = mkdtempSync(path.resolve('.cache/counting-'));
  writeFileSync(path.join(folder, 'plain.config.mjs'), 'export default {};');
  for (const [name, text] of Object.entries(suites))
    writeFileSync(path.join(folder, `${name}.test.ts`), imports + text);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs vitest itself on some of the suites, so that the count is of what it really reports. */
async function count(...names: string[]): Promise<Tally> {
  const report = path.join(folder, 'report.json');
  rmSync(report, { force: true });
  const vitest = [
    path.resolve('node_modules/vitest/vitest.mjs'),
    'run',
    '--config=plain.config.mjs',
    '--reporter=json',
    `--outputFile=${report}`,
  ];
  const result = await runNode([...vitest, ...names.map((name) => `${name}.test.ts`)], {
    cwd: folder,
    env: { ...process.env, VITEST: undefined, EXAMHALL_TIERS: 'isolation' },
    timeoutSeconds: 100,
  });
  return countReport(readFileSync(report, 'utf8'), result.exitCode);
}

describe('a run of real tests', { timeout: 120_000 }, () => {
  it('passes when every test passed', async () => {
    expect(await count('good')).toMatchObject({ passed: 2, failed: 0, skipped: 0, problems: [] });
  });

  it('counts failures and skips by tier, and every way to go wrong outside of a test', async () => {
    const tally = await count('mixed', 'tiers', 'stray', 'hook', 'broken', 'empty');
    expect(tally).toMatchObject({ passed: 3, skipped: 2, skippedByTier: { dynamodb: 2 }, ranTiers: ['isolation'] });
    const problems = tally.problems.map((problem) => problem.replace(/\(?\S*\/([^/]+\.test\.ts)\)?/g, '$1')).sort();
    expect(problems).toEqual([
      'failed outside of its tests: broken.test.ts',
      'failed outside of its tests: empty.test.ts',
      'failed outside of its tests: hook.test.ts',
      'skipped, not run: i stray.test.ts',
      'skipped, not run: k hook.test.ts',
      'todo, not run: j stray.test.ts',
    ]);
    expect(tally.failed).toBe(1 + problems.length);
    expect(tally.failures.map(({ test }) => test).sort()).toEqual([
      'b',
      ...Array<string>(3).fill('outside of its tests'),
    ]);
    expect(tally.failures.find(({ test }) => test === 'b')?.message).toContain('expected 1 to be 2');
  });

  it('fails when every test passed and an error was thrown outside of them', async () => {
    const tally = await count('outside');
    expect(tally).toMatchObject({ passed: 1, failed: 1 });
    expect(tally.problems[0]).toContain('an error outside of them');
  });
});

describe('a report that says too little is a failure', () => {
  const report = (testResults: unknown[]): string => JSON.stringify({ testResults });

  it.each([
    [undefined, 1],
    ['', 0],
    ['{"testResults":[', 0],
    ['{}', 0],
    [report([]), 0],
    [report([{ name: 'a', status: 'passed', assertionResults: [] }]), 0],
    [report([{ name: 'a', status: 'passed', assertionResults: [{ fullName: 'b', status: 'passed' }] }]), 1],
    [report([{ name: 'a', status: 'passed', assertionResults: [{ fullName: 'b', status: 'pending' }] }]), 0],
  ])('%s with exit code %i', (json, exitCode) => {
    expect(countReport(json, exitCode).failed).toBe(1);
  });
});

describe('a command', () => {
  const options = { cwd: process.cwd(), env: process.env, timeoutSeconds: 20 };

  it('gives its exit code and both outputs', async () => {
    const result = await runNode(['-e', 'console.log("out"); console.error("err"); process.exitCode = 3;'], options);
    expect(result).toMatchObject({ exitCode: 3, hasTimedOut: false });
    expect(result.output.split('\n').sort()).toEqual(['', 'err', 'out']);
  });

  it('ends when its time is up, with all that it started', async () => {
    const child = `require('child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })`;
    const source = `console.log(${child}.pid); setInterval(() => {}, 1000);`;
    const result = await runNode(['-e', source], { ...options, timeoutSeconds: 5 });
    expect(result).toMatchObject({ exitCode: null, hasTimedOut: true });
    const pid = Number(result.output);
    expect(pid).toBeGreaterThan(0);
    await expect.poll(() => isRunning(pid)).toBe(false);
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
