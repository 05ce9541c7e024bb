import type { Command } from 'commander';
import type { AgentEntry } from '#contracts/api-schemas';
import { catalogueCommand } from '#cli/remote/catalogue-command';

/** `examhall agents list|publish` */
export function agentsCommand(): Command {
  return catalogueCommand<AgentEntry>({
    kind: 'agent',
    example: 'oracle',
    page: async (client, query) => await client.call('listAgents', { query }),
    columns: [{ title: 'agent', of: ({ agentId }) => agentId }],
  });
}
