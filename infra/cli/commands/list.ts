import { Command } from 'commander';
import { AGENTS_DIR_HELP, collectFolder, foldersOf, TASKS_DIR_HELP, type FolderOptions } from '#cli/folder-options';

/** `examhall list` */
export function listCommand(): Command {
  return new Command('list')
    .description('List the tasks and agents that this repository (and the folders given) has.')
    .option('--tasks-dir <folder>', TASKS_DIR_HELP, collectFolder, [])
    .option('--agents-dir <folder>', AGENTS_DIR_HELP, collectFolder, [])
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExamples:\n  examhall list\n  examhall list --tasks-dir ../our-tasks --json')
    .action(async (options: FolderOptions & { readonly json?: boolean }) => {
      const { catalogueFolders, localCatalogue } = await import('#local/catalogue');
      const catalogue = await localCatalogue(await catalogueFolders(foldersOf(options)));
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
