import { createHash } from 'node:crypto';
import { agentManifestKey, PublishedAgentSchema, type PublishedFile } from '#core/catalog';
import type { ArtifactStore } from '#ports/artifact-store';

/** What an agent of the scenarios does on its machine: a script for Node, as itself. */
export const AGENT_SCRIPTS = {
  /** Writes its output and ends. */
  quick: `
    import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
    mkdirSync(process.env.TASK_OUTPUT, { recursive: true });
    const input = readFileSync(process.env.TASK_INPUT + '/input/base/code.txt', 'utf8').trim();
    writeFileSync(process.env.TASK_OUTPUT + '/answer.txt', input + ' by ' + process.getuid());
    console.log('done');
  `,
  /** Goes on until somebody ends it. */
  endless: `
    import { writeFileSync } from 'node:fs';
    writeFileSync(process.env.EXAMHALL_WORK + '/begun', '');
    setInterval(() => undefined, 1000);
  `,
} as const;

/** One of them, or a script of one's own. */
export type AgentScript = keyof typeof AGENT_SCRIPTS | { readonly source: string };

async function putFile(store: ArtifactStore, path: string, content: string): Promise<PublishedFile> {
  const key = `agents/cloud/${createHash('sha256').update(content).digest('hex')}/${path}`;
  const { sha256, sizeBytes } = await store.put({ bucket: 'tasks', key }, content);
  return { path, key, sha256, sizeBytes, executable: true };
}

/** Publishes an agent that really runs; returns the key of its manifest. */
export async function publishCloudAgent(store: ArtifactStore, script: AgentScript): Promise<string> {
  const source = typeof script === 'string' ? AGENT_SCRIPTS[script] : script.source;
  const manifest = {
    id: 'scripted',
    version: '1.0.0',
    harness: 'scripted',
    description: 'Runs a script.',
    executor: 'sandbox',
    runtime: { node: '20' },
    stages: [],
    recordings: false,
    launch: 'launch.ts',
    parser: 'parser.ts',
    limits: {},
  };
  const agent = PublishedAgentSchema.parse({
    version: 1,
    agentId: 'scripted',
    revision: `sha256:${createHash('sha256').update(source).digest('hex')}`,
    manifest,
    launch: await putFile(store, 'launch.mjs', source),
    parser: await putFile(store, 'parser.mjs', 'export default {};'),
    recordings: {},
  });
  const key = agentManifestKey(agent);
  await store.put({ bucket: 'tasks', key }, JSON.stringify(agent));
  return key;
}
