import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '#cli/command-list';
import { runCommand } from '#cli/commands/run';

function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  return text;
}

describe('the help of a command', () => {
  it.each(COMMANDS.map((make) => ({ name: make().name(), help: helpOf(make()) })))(
    'has usage, every option explained and examples: $name',
    ({ name, help }) => {
      expect(help).toContain(`Usage: ${name}`);
      const examples = help.slice(help.indexOf('\nExamples:\n')).split('\n').slice(2);
      const lines = examples.filter((line) => line.startsWith('  '));
      expect(lines.length).toBeGreaterThanOrEqual(2);
      for (const line of lines) expect(line).toMatch(new RegExp(`^  (?:examhall|npm run) ${name}\\b`, 'u'));
      for (const option of help.split('\n').filter((line) => /^ {2}-/u.test(line)))
        expect(option, 'an option without an explanation').toMatch(/^ {2}-\S.* {2}\S/u);
    },
  );

  it('documents the folders of tasks and agents, and the exit codes, of run', () => {
    const help = helpOf(runCommand());
    expect(help).toContain('--tasks-dir <folder>');
    expect(help).toContain('--agents-dir <folder>');
    expect(help.replaceAll(/\s+/gu, ' ')).toContain('Exit code 0 only if every unit completed; 1 if not, 2 for bad');
  });
});
