import { createHash } from 'node:crypto';
import path from 'node:path';
import { BundleError, bundle, type Bundle, type BundleKind } from '../../bundler.ts';
import { AgentManifestSchema, type AgentManifest } from '#core/agent-manifest';
import { agentFilesPrefix, PublishedAgentSchema } from '#core/catalog';
import { ExamHallError } from '#core/errors';
import { recordingFileName, RecordingSchema } from '#core/recording';
import { agentRevision } from '#core/offered-agent';
import type { AgentOffer } from '#contracts/publish-offer';
import { listFolder, type FolderFile } from './folder-files.ts';
import { checkFile, readJsonFile } from './json-file.ts';
import { uploadOf, uploadOfBundle, type Upload } from './uploads.ts';

/** An agent as it can be published: its manifest, and where each of its files lies on this computer. */
export interface CompiledAgent extends AgentOffer {
  readonly uploads: readonly Upload[];
}

interface RecordingFile {
  readonly taskId: string;
  readonly file: FolderFile;
}

/** Compiles an agent; nothing is stored. @throws InvalidRequestError for a folder that is not right, with file and reason. */
export async function compileAgent(folder: string, deps: { readonly cacheDir: string }): Promise<CompiledAgent> {
  const manifest = await readManifest(folder);
  const launch = await bundlePart(folder, manifest.launch, 'script', deps.cacheDir);
  const parser = await bundlePart(folder, manifest.parser, 'pure', deps.cacheDir);
  if (!parser.exports.includes('parse')) {
    throw invalid(
      `${path.join(folder, manifest.parser)} exports ${parser.exports.join(', ') || 'nothing'}; it must export a function parse`,
    );
  }
  const recordings = manifest.recordings ? await readRecordings(folder) : [];
  const hashes = {
    launch: launch.sha256,
    parser: parser.sha256,
    recordings: Object.fromEntries(recordings.map(({ taskId, file }) => [taskId, file.sha256])),
  };
  const revision = agentRevision({ manifest }, hashes, sha256Of);
  const keyPrefix = agentFilesPrefix(manifest.id, revision);
  const launchUpload = await uploadOfBundle('tasks', `${keyPrefix}launch.mjs`, launch, 'launch.mjs');
  const parserUpload = await uploadOfBundle('tasks', `${keyPrefix}parser.mjs`, parser, 'parser.mjs');
  const recordingUploads = recordings.map(({ taskId, file }) => ({
    taskId,
    upload: uploadOf('tasks', `${keyPrefix}recordings/`, { ...file, kind: 'file' }, file.path),
  }));
  const agent = PublishedAgentSchema.parse({
    version: 1,
    agentId: manifest.id,
    revision,
    manifest,
    launch: launchUpload.file,
    parser: parserUpload.file,
    recordings: Object.fromEntries(recordingUploads.map(({ taskId, upload }) => [taskId, upload.file])),
  });
  return { agent, uploads: [launchUpload, parserUpload, ...recordingUploads.map(({ upload }) => upload)] };
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

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function invalid(message: string, cause?: unknown): ExamHallError {
  return new ExamHallError('InvalidRequestError', message, {}, cause);
}
