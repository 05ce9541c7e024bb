import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { misplacedOptions, withRunOptions, type RunOptions } from '#cli/run-options';

function given(...words: readonly string[]): RunOptions {
  const command = withRunOptions(new Command('run').exitOverride().argument('<experiment>'));
  command.parse(['experiment.yaml', ...words], { from: 'user' });
  return command.opts<RunOptions>();
}

describe('the options of a run', () => {
  it('are read by their names, with several of what may be given again', () => {
    const options = given('--agent', 'a', '--agent', 'b', '--dry-run', '--cost-center', 'lab', '--timeout', '5');
    expect(options).toMatchObject({ agent: ['a', 'b'], task: [], dryRun: true, costCenter: 'lab', timeout: 5 });
    expect(given('--tasks-dir', 'x').tasksDir).toEqual([expect.stringMatching(/^\/.*\/x$/u)]);
  });

  it('fit everywhere when none is given', () => {
    for (const place of ['host', 'here'] as const) expect(misplacedOptions(given(), place)).toEqual([]);
  });

  it.each([
    ['host', ['--disable-resume', '--tasks-dir', 'x', '--agents-dir', 'y', '--watch', '--agent', 'a']],
    ['here', ['--watch', '--cost-center', '', '--idempotency-key', 'k', '--json', '--disable-resume']],
  ] as const)('are named where they mean nothing: %s', (place, words) => {
    const expected = {
      host: ['--tasks-dir', '--agents-dir', '--disable-resume'],
      here: ['--watch', '--cost-center', '--idempotency-key'],
    };
    expect(misplacedOptions(given(...words), place)).toEqual(expected[place]);
  });
});
