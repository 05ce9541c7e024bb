import { Command } from 'commander';

/** `examhall list` */
export function listCommand(): Command {
  return new Command('list')
    .description('List the tasks and agents that this repository has.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  examhall list\n  examhall list --json')
    .action(async (options: { readonly json?: boolean }) => {
      const { localCatalogue } = await import('#local/catalogue');
      const catalogue = await localCatalogue();
      const tasks = [...catalogue.tasks.keys()];
      if (options.json === true) {
        process.stdout.write(`${JSON.stringify({ tasks, agents: catalogue.harnesses })}\n`);
        return;
      }
      const block = (title: string, names: readonly string[]): string =>
        [`${title} (${String(names.length)}):`, ...names.map((name) => `  ${name}`)].join('\n');
      process.stdout.write(`${block('discoverable tasks', tasks)}\n${block('agents', catalogue.harnesses)}\n`);
    });
}
