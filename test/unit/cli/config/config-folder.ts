import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach } from 'vitest';
import { loadExperiment, type LoadedExperiment, type LoadOptions } from '#cli/config/load-experiment';
import { ConfigError } from '#core/located';

const folders: string[] = [];

afterEach(async () => {
  await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
});

/** A fresh folder with these files in it, removed after the test. */
export async function configFolder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'examhall-config-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }
  return folder;
}

/** The least that loads; tests replace single files or lines of it. */
export const smallest: Readonly<Record<string, string>> = {
  'exp.yaml': 'name: small\nagent: agent.yaml\nenvironment: env.yaml\ntasks: tasks.txt\n',
  'agent.yaml': 'harness: scripted\n',
  'env.yaml': 'snapshots:\n  cpu-free-ubuntu:\n    provider: process\n    image: ale-ubuntu22\n',
  'tasks.txt': 'demo/hello\n',
};

/** Loads `exp.yaml` of the smallest experiment with some files replaced. */
export async function load(
  files: Readonly<Record<string, string>>,
  options: Partial<LoadOptions> = {},
): Promise<LoadedExperiment & { readonly folder: string }> {
  const folder = await configFolder({ ...smallest, ...files });
  return { ...(await loadExperiment('exp.yaml', { env: {}, cwd: folder, ...options })), folder };
}

/** The lines of the error that loading must end with; the folder's own path is written `<folder>`. */
export async function failure(
  files: Readonly<Record<string, string>>,
  options: Partial<LoadOptions> = {},
): Promise<readonly string[]> {
  const folder = await configFolder({ ...smallest, ...files });
  return messages(folder, loadExperiment('exp.yaml', { env: {}, cwd: folder, ...options }));
}

/** The lines of the ConfigError a promise is rejected with. */
export async function messages(folder: string, loading: Promise<unknown>): Promise<readonly string[]> {
  const error = await loading.then(
    () => new Error('it loaded'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ConfigError)) throw error;
  return error.message.split('\n').map((line) => line.replaceAll(folder, '<folder>'));
}

/** The smallest experiment file with one line more, or one replaced. */
export function experimentWith(line: string): Record<string, string> {
  const key = `${line.split(':', 1)[0] ?? ''}:`;
  const kept = (smallest['exp.yaml'] ?? '').split('\n').filter((old) => old !== '' && !old.startsWith(key));
  return { 'exp.yaml': `${[...kept, line].join('\n')}\n` };
}
