import { createHash } from 'node:crypto';
import path from 'node:path';
import { BundleError, bundle, type Bundle, type BundleKind } from '../../bundler.ts';
import { AgentManifestSchema, type AgentManifest } from '#core/agent-manifest';
import { agentKeyPrefix, agentManifestKey, PublishedAgentSchema, type PublishedAgent } from '#core/catalog';
import { ExamHallError } from '#core/errors';
import { recordingFileName, RecordingSchema } from '#core/recording';
import { revisionText, type RevisionRecord } from '#core/task-revision';
import type { ArtifactStore } from '#ports/artifact-store';
import { listFolder, type FolderFile } from './folder-files.ts';
import { checkFile, readJsonFile } from './json-file.ts';
import { putManifest, uploadAll, uploadOf, uploadOfBundle } from './uploads.ts';

export interface PublishAgentDeps {
  readonly store: ArtifactStore;
  readonly cacheDir: string;
}

interface RecordingFile {
  readonly taskId: string;
  readonly file: FolderFile;
}

/**
 * Compiles and uploads an agent. What is there already is not uploaded again.
 * @throws InvalidRequestError for an agent folder that is not right, with file and reason.
 */
export async function publishAgent(folder: string, deps: PublishAgentDeps): Promise<PublishedAgent> {
  const manifest = await readManifest(folder);
  const launch = await bundlePart(folder, manifest.launch, 'script', deps.cacheDir);
  const parser = await bundlePart(folder, manifest.parser, 'pure', deps.cacheDir);
  if (!parser.exports.includes('parse')) {
    throw invalid(
      `${path.join(folder, manifest.parser)} exports ${parser.exports.join(', ') || 'nothing'}; it must export a function parse`,
    );
  }
  const recordings = manifest.recordings ? await readRecordings(folder) : [];
  const revision = revisionOf(manifest, { launch, parser }, recordings);
  const keyPrefix = agentKeyPrefix(manifest.id, revision);
  const launchUpload = await uploadOfBundle('tasks', `${keyPrefix}launch.mjs`, launch, 'launch.mjs');
  const parserUpload = await uploadOfBundle('tasks', `${keyPrefix}parser.mjs`, parser, 'parser.mjs');
  const recordingUploads = recordings.map(({ taskId, file }) => ({
    taskId,
    upload: uploadOf('tasks', `${keyPrefix}recordings/`, file, file.path),
  }));
  const published = PublishedAgentSchema.parse({
    version: 1,
    agentId: manifest.id,
    revision,
    manifest,
    launch: launchUpload.file,
    parser: parserUpload.file,
    recordings: Object.fromEntries(recordingUploads.map(({ taskId, upload }) => [taskId, upload.file])),
  });
  await uploadAll(deps.store, [launchUpload, parserUpload, ...recordingUploads.map(({ upload }) => upload)]);
  await putManifest(deps.store, 'tasks', agentManifestKey(published), published);
  return published;
}

async function readManifest(folder: string): Promise<AgentManifest> {
  const file = path.join(folder, 'agent.json');
  const value = await readJsonFile(file, 'InvalidRequestError');
  const manifest = checkFile(file, value, { schema: AgentManifestSchema, errorName: 'InvalidRequestError' });
  const folderName = path.basename(path.resolve(folder));
  if (manifest.id !== folderName)
    throw invalid(`${file}: id is "${manifest.id}"; it must be its folder's name, "${folderName}"`);
  return manifest;
}

async function bundlePart(folder: string, name: string, kind: BundleKind, outDir: string): Promise<Bundle> {
  try {
    return await bundle(path.join(folder, name), { outDir, kind });
  } catch (error) {
    if (error instanceof BundleError) throw invalid(error.message, error);
    throw error;
  }
}

async function readRecordings(folder: string): Promise<readonly RecordingFile[]> {
  const files = (await listFolder(folder)).filter(
    (entry): entry is FolderFile =>
      (entry.kind === 'file' || entry.kind === 'executable') && /^[^/]+__[^/]+\.json$/.test(entry.path),
  );
  const recordings: RecordingFile[] = [];
  for (const file of files) {
    const value = await readJsonFile(file.absolutePath, 'InvalidRequestError');
    const { task } = checkFile(file.absolutePath, value, { schema: RecordingSchema, errorName: 'InvalidRequestError' });
    if (recordingFileName(task) !== file.path) {
      throw invalid(
        `${file.absolutePath}: task is "${task}"; a recording of it must be named ${recordingFileName(task)}`,
      );
    }
    recordings.push({ taskId: task, file });
  }
  return recordings;
}

function revisionOf(
  manifest: AgentManifest,
  bundles: { readonly launch: Bundle; readonly parser: Bundle },
  recordings: readonly RecordingFile[],
): string {
  const records: RevisionRecord[] = [
    { path: 'agent.json', kind: 'file', value: sha256Of(JSON.stringify(manifest)) },
    { path: 'launch.mjs', kind: 'module', value: bundles.launch.sha256 },
    { path: 'parser.mjs', kind: 'module', value: bundles.parser.sha256 },
    ...recordings.map(({ file }): RevisionRecord => ({ path: file.path, kind: 'file', value: file.sha256 })),
  ];
  return `sha256:${sha256Of(revisionText(records))}`;
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function invalid(message: string, cause?: unknown): ExamHallError {
  return new ExamHallError('InvalidRequestError', message, {}, cause);
}
