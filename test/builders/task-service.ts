import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { bundle } from '../../infra/bundler.ts';
import { TASKS, temporaryFolder } from './task-folder.ts';

export interface RunningService {
  readonly port: number;
  /** Everything it has printed as errors. */
  errors(): string;
  stop(): Promise<void>;
}

/** A service of a task as the publisher compiles it, as a process of this computer. */
export async function startTaskService(
  task: string,
  name: string,
  input: Readonly<Record<string, unknown>>,
): Promise<RunningService> {
  const root = path.join(TASKS, task);
  const options = { outDir: await temporaryFolder(), kind: 'script', root } as const;
  const { path: script } = await bundle(path.join(root, 'services', `${name}.ts`), options);
  const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'pipe'], env: {} });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.stdin.end(JSON.stringify(input));
  const line = await Promise.race([
    new Promise<string>((resolve) => createInterface({ input: child.stdout }).once('line', resolve)),
    ended.then(() => Promise.reject(new Error(`service ${name} ended: ${errors}`))),
  ]);
  const { port } = JSON.parse(line) as { readonly port: number };
  return {
    port,
    errors: () => errors,
    stop: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
