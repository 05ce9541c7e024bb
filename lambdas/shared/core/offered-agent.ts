import type { RequestProblem } from './api-refusal.ts';
import { agentFilesPrefix, TaskIdSchema, type PublishedAgent, type PublishedFile } from './catalog.ts';
import { canonicalJson } from './canonical-json.ts';
import { fileProblems, type OfferedFile } from './offered-files.ts';
import { recordingFileName } from './recording.ts';
import { revisionText, type RevisionRecord } from './task-revision.ts';

type Sha256 = (content: string) => string;

/** The revision of an agent: over its manifest, its compiled modules and its recordings. */
export function agentRevision(agent: Pick<PublishedAgent, 'manifest'>, files: AgentFiles, sha256: Sha256): string {
  const records: RevisionRecord[] = [
    { path: 'agent.json', kind: 'file', value: sha256(canonicalJson(agent.manifest)) },
    { path: 'launch.mjs', kind: 'module', value: files.launch },
    { path: 'parser.mjs', kind: 'module', value: files.parser },
    ...Object.entries(files.recordings).map(([taskId, value]): RevisionRecord => ({
      path: recordingFileName(taskId),
      kind: 'file',
      value,
    })),
  ];
  return `sha256:${sha256(revisionText(records))}`;
}

/** Hashes of what an agent is made of. */
export interface AgentFiles {
  readonly launch: string;
  readonly parser: string;
  /** By task id. */
  readonly recordings: Readonly<Record<string, string>>;
}

/** Every file of an offered agent. */
export function offeredAgentFiles(agent: PublishedAgent): readonly OfferedFile[] {
  const keyPrefix = agentFilesPrefix(agent.agentId, agent.revision);
  const of = (place: string, file: PublishedFile, suffix: string, kind: RevisionRecord['kind']): OfferedFile => ({
    place: `body.agent.${place}`,
    bucket: 'tasks',
    keyPrefix,
    suffix,
    name: suffix.split('/').at(-1) ?? suffix,
    file,
    record: { path: suffix, kind, value: file.sha256 },
  });
  return [
    of('launch', agent.launch, 'launch.mjs', 'module'),
    of('parser', agent.parser, 'parser.mjs', 'module'),
    ...Object.entries(agent.recordings).map(([taskId, file]) =>
      of(`recordings.${taskId}`, file, `recordings/${recordingFileName(taskId)}`, 'file'),
    ),
  ];
}

/** Everything that is wrong with an offered agent; a revision that its content does not have is. */
export function agentProblems(agent: PublishedAgent, sha256: Sha256): readonly RequestProblem[] {
  const problems = [...fileProblems(offeredAgentFiles(agent))];
  if (agent.agentId !== agent.manifest.id)
    problems.push({ path: 'body.agent.agentId', message: `must be the manifest's id, ${agent.manifest.id}` });
  for (const taskId of Object.keys(agent.recordings)) {
    if (!TaskIdSchema.safeParse(taskId).success)
      problems.push({
        path: `body.agent.recordings.${taskId.slice(0, 100)}`,
        message: 'is no task id, <domain>/<task>',
      });
  }
  const recordings = Object.fromEntries(Object.entries(agent.recordings).map(([id, file]) => [id, file.sha256]));
  const files = { launch: agent.launch.sha256, parser: agent.parser.sha256, recordings };
  const revision = agentRevision(agent, files, sha256);
  if (agent.revision !== revision)
    problems.push({ path: 'body.agent.revision', message: `is not the revision of what is offered, ${revision}` });
  return problems;
}
