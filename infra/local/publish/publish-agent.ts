import { agentManifestKey, type PublishedAgent } from '#core/catalog';
import type { ArtifactStore } from '#ports/artifact-store';
import { compileAgent, type CompiledAgent } from './compile-agent.ts';
import { putManifest, uploadAll } from './uploads.ts';

export interface PublishAgentDeps {
  readonly store: ArtifactStore;
  readonly cacheDir: string;
}

/** Compiles and stores an agent. What is there already is not stored again. */
export async function publishAgent(folder: string, deps: PublishAgentDeps): Promise<PublishedAgent> {
  return await storeAgent(await compileAgent(folder, deps), deps.store);
}

/** Stores a compiled agent, its manifest last. */
export async function storeAgent({ agent, uploads }: CompiledAgent, store: ArtifactStore): Promise<PublishedAgent> {
  await uploadAll(store, uploads);
  await putManifest(store, 'tasks', agentManifestKey(agent), agent);
  return agent;
}
