import { PublishedAgentRowSchema, PublishedTaskRowSchema } from '#core/catalog-rows';
import { rowKeys } from '#core/keys';
import { readBody } from '#core/stored-rows';
import type { AgentEntry, TaskEntry } from '#contracts/api-schemas';
import type { Ports } from '#ports/ports';
import { pageOfPartition, type Page, type PageAsked } from './api-pages.ts';

type Needs = Pick<Ports, 'unitStore'>;

/** Published agents, each at the revision the catalogue names, in the order of their ids. */
export async function pageOfAgents(asked: PageAsked, { unitStore }: Needs): Promise<Page<AgentEntry>> {
  return await pageOfPartition({ pk: rowKeys.publishedAgent('').pk }, asked, unitStore, (row) => {
    const { agentId, revision, publishedAt, publishedBy } = readBody(PublishedAgentRowSchema, row);
    return { agentId, revision, publishedAt, publishedBy };
  });
}

/** Published tasks, each at the revision the catalogue names, in the order of their ids. */
export async function pageOfTasks(asked: PageAsked, { unitStore }: Needs): Promise<Page<TaskEntry>> {
  return await pageOfPartition({ pk: rowKeys.publishedTask('').pk }, asked, unitStore, (row) => {
    const { manifestKey: _, ...entry } = readBody(PublishedTaskRowSchema, row);
    return entry;
  });
}
