import { Command } from 'commander';
import type { ApiClient } from './api-client.ts';
import { withHostOptions, type HostOptions } from './host-options.ts';
import { openClient, print } from './open-client.ts';
import { allPages } from './pages.ts';
import { publishCommand } from './publish-command.ts';
import { ownerText, shortTime } from './sweep-text.ts';
import { textTable, widthOf, type Column } from './text-table.ts';

interface Entry {
  readonly revision: string;
  readonly publishedAt: string;
  readonly publishedBy: string;
}

interface Catalogue<T extends Entry> {
  readonly kind: 'task' | 'agent';
  /** What the examples publish. */
  readonly example: string;
  readonly page: (
    client: ApiClient,
    query: { readonly limit: number; readonly cursor?: string },
  ) => Promise<{ readonly items: readonly T[]; readonly cursor: string | null }>;
  /** Besides revision, time and publisher. */
  readonly columns: readonly Column<T>[];
}

/** `examhall tasks|agents list|publish` */
export function catalogueCommand<T extends Entry>(catalogue: Catalogue<T>): Command {
  const { kind, example } = catalogue;
  const name = `${kind}s`;
  const examples = `\nExamples:\n  examhall ${name} list --stage prod\n  examhall ${name} publish ${example} --stage prod`;
  return new Command(name)
    .description(`List the ${name} that a host has, or publish ${name} to it.`)
    .addHelpText('after', examples)
    .addCommand(listCommand(catalogue))
    .addCommand(publishCommand(kind));
}

function listCommand<T extends Entry>({ kind, page, columns }: Catalogue<T>): Command {
  const name = `${kind}s`;
  const examples = `
Examples:
  examhall ${name} list --stage prod
  examhall ${name} list --host http://127.0.0.1:7878 --json`;
  const all: readonly Column<T>[] = [
    ...columns,
    { title: 'revision', of: ({ revision }) => revision.slice(0, 19) },
    { title: 'published (UTC)', of: ({ publishedAt }) => shortTime(publishedAt) },
    { title: 'by', of: ({ publishedBy }) => ownerText(publishedBy), shrinks: true },
  ];
  const command = new Command('list')
    .description(`List the published ${name} of a host, each with its newest revision.`)
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples);
  return withHostOptions(command).action(async (options: HostOptions & { readonly json?: boolean }) => {
    const client = await openClient(options);
    const entries = await allPages(client, async (query) => await page(client, query));
    print(options.json, { [name]: entries }, () =>
      entries.length === 0
        ? `no ${name}; \`examhall ${name} publish\` brings some`
        : textTable(all, entries, widthOf()),
    );
  });
}
