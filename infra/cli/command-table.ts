import type { Command } from 'commander';
import { COMMANDS } from './command-list.ts';

/** Every command with its arguments and what it does, as a table of the documentation. */
export function commandTable(): string {
  const rows = COMMANDS.flatMap((make) => rowsOf(make(), 'examhall'));
  return `${['| command | what it does |', '| --- | --- |', ...rows].join('\n')}\n`;
}

/** A command with commands of its own is listed by those. */
function rowsOf(command: Command, before: string): readonly string[] {
  const name = `${before} ${command.name()}`;
  if (command.commands.length > 0) return command.commands.flatMap((each) => rowsOf(each, name));
  const words = command.registeredArguments.map((argument) => {
    const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${text}>` : `[${text}]`;
  });
  const cell = [name, ...words].join(' ').replaceAll('|', '\\|');
  return [`| \`${cell}\` | ${command.description().replaceAll('|', '\\|')} |`];
}
