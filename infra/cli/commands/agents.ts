import { Command } from 'commander';
import { publishCommand } from '#cli/remote/publish-command';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';
import { allPages } from '#cli/remote/pages';
import { ownerText, shortTime } from '#cli/remote/sweep-text';
import { textTable, widthOf } from '#cli/remote/text-table';

const LIST_EXAMPLES = `
Examples:
  examhall agents list --stage prod
  examhall agents list --host http://127.0.0.1:7878 --json`;

/** `examhall agents list|publish` */
export function agentsCommand(): Command {
  return new Command('agents')
    .description('List the agents that a host has, or publish agents to it.')
    .addHelpText(
      'after',
      '\nExamples:\n  examhall agents list --stage prod\n  examhall agents publish oracle --stage prod',
    )
    .addCommand(agentsListCommand())
    .addCommand(publishCommand('agent'));
}

function agentsListCommand(): Command {
  const command = new Command('list')
    .description('List the published agents of a host, each with its newest revision.')
    .option('--json', 'print one JSON object')
    .addHelpText('after', LIST_EXAMPLES);
  return withHostOptions(command).action(async (options: HostOptions & { readonly json?: boolean }) => {
    const client = await openClient(options);
    const agents = await allPages(client, async (query) => await client.call('listAgents', { query }));
    print(options.json, { agents }, () =>
      agents.length === 0
        ? 'no agents; `examhall agents publish` brings some'
        : textTable(
            [
              { title: 'agent', of: ({ agentId }) => agentId },
              { title: 'revision', of: ({ revision }) => revision.slice(0, 19) },
              { title: 'published (UTC)', of: ({ publishedAt }) => shortTime(publishedAt) },
              { title: 'by', of: ({ publishedBy }) => ownerText(publishedBy), shrinks: true },
            ],
            agents,
            widthOf(),
          ),
    );
  });
}
