import { refuseIfAny } from '#core/api-refusal';
import { agentManifestKey, type PublishedAgent } from '#core/catalog';
import { PublishedAgentRowSchema, type PublishedAgentRow } from '#core/catalog-rows';
import { rowKeys } from '#core/keys';
import { PROBLEMS_SHOWN } from '#core/offered-files';
import { agentProblems, offeredAgentFiles } from '#core/offered-agent';
import type { PublishAnswer } from '#contracts/api-schemas';
import type { AgentOffer } from '#contracts/publish-offer';
import type { Ports } from '#ports/ports';
import { missingUploads, putOnce } from './publish-uploads.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'clock' | 'digest'>;

/**
 * Takes an agent revision that a publisher offers, as `offerTask` does a task's.
 * @throws ApiRefusal with every problem, before anything is read or written.
 */
export async function offerAgent({ agent }: AgentOffer, principalArn: string, ports: Needs): Promise<PublishAnswer> {
  refuseIfAny(agentProblems(agent, ports.digest.sha256).slice(0, PROBLEMS_SHOWN));
  const named = { id: agent.agentId, revision: agent.revision };
  const uploads = await missingUploads(ports, offeredAgentFiles(agent));
  if (uploads.length > 0) return { ...named, isPublished: false, uploads: [...uploads] };
  await putOnce(ports, { bucket: 'tasks', key: agentManifestKey(agent) }, agent);
  await nameAgent(agent, principalArn, ports);
  return { ...named, isPublished: true, uploads: [] };
}

/** Makes a published revision the one that the catalogue names. */
async function nameAgent(
  agent: PublishedAgent,
  publishedBy: string,
  ports: Pick<Ports, 'unitStore' | 'clock'>,
): Promise<void> {
  const key = rowKeys.publishedAgent(agent.agentId);
  const before = PublishedAgentRowSchema.safeParse((await ports.unitStore.get(key))?.body).data;
  if (before?.revision === agent.revision) return;
  const body: PublishedAgentRow = {
    agentId: agent.agentId,
    revision: agent.revision,
    manifestKey: agentManifestKey(agent),
    publishedAt: ports.clock.now().toISOString(),
    publishedBy,
  };
  await ports.unitStore.write([{ put: { ...key, body }, when: 'any' }]);
}
