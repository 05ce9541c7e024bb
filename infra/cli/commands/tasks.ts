import type { Command } from 'commander';
import type { TaskEntry } from '#contracts/api-schemas';
import { catalogueCommand } from '#cli/remote/catalogue-command';

/** `examhall tasks list|publish` */
export function tasksCommand(): Command {
  return catalogueCommand<TaskEntry>({
    kind: 'task',
    example: 'business_finance/form_1040',
    page: async (client, query) => await client.call('listTasks', { query }),
    columns: [
      { title: 'task', of: ({ taskId }) => taskId, shrinks: true },
      { title: 'variants', of: ({ variants }) => String(variants.length), align: 'right' },
      { title: 'snapshot', of: ({ snapshot }) => snapshot ?? '-' },
      { title: 'network', of: ({ network }) => network ?? '-' },
    ],
  });
}
