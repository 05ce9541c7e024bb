import { Command } from 'commander';
import { publishCommand } from '#cli/remote/publish-command';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';
import { allPages } from '#cli/remote/pages';
import { ownerText, shortTime } from '#cli/remote/sweep-text';
import { textTable, widthOf } from '#cli/remote/text-table';

const LIST_EXAMPLES = `
Examples:
  examhall tasks list --stage prod
  examhall tasks list --host http://127.0.0.1:7878 --json`;

/** `examhall tasks list|publish` */
export function tasksCommand(): Command {
  return new Command('tasks')
    .description('List the tasks that a host has, or publish tasks to it.')
    .addHelpText(
      'after',
      '\nExamples:\n  examhall tasks list --stage prod\n  examhall tasks publish business_finance/form_1040 --stage prod',
    )
    .addCommand(tasksListCommand())
    .addCommand(publishCommand('task'));
}

function tasksListCommand(): Command {
  const command = new Command('list')
    .description('List the published tasks of a host, each with its newest revision.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', LIST_EXAMPLES);
  return withHostOptions(command).action(async (options: HostOptions & { readonly json?: boolean }) => {
    const client = await openClient(options);
    const tasks = await allPages(client, async (query) => await client.call('listTasks', { query }));
    print(options.json, { tasks }, () =>
      tasks.length === 0
        ? 'no tasks; `examhall tasks publish` brings some'
        : textTable(
            [
              { title: 'task', of: ({ taskId }) => taskId, shrinks: true },
              { title: 'variants', of: ({ variants }) => String(variants.length), align: 'right' },
              { title: 'snapshot', of: ({ snapshot }) => snapshot ?? '-' },
              { title: 'network', of: ({ network }) => network ?? '-' },
              { title: 'revision', of: ({ revision }) => revision.slice(0, 19) },
              { title: 'published (UTC)', of: ({ publishedAt }) => shortTime(publishedAt) },
              { title: 'by', of: ({ publishedBy }) => ownerText(publishedBy), shrinks: true },
            ],
            tasks,
            widthOf(),
          ),
    );
  });
}
