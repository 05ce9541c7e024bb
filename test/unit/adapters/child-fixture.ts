import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createChildModuleRunner, type ChildModuleRunnerOptions } from '#adapters/child-module-runner';
import type { ModuleCall, ModuleLimits, ModuleReport, ServiceStart, SessionCalls } from '#ports/module-runner';
import { bundle, REPOSITORY } from '../../../infra/bundler.ts';

type HostCalls = [session?: SessionCalls | undefined, startService?: ServiceStart];

export interface ChildFixture {
  readonly folder: string;
  /** Runs source text of a module; `evaluate` unless the call says otherwise. */
  run(source: string, call?: Partial<ModuleCall>, ...host: HostCalls): Promise<ModuleReport>;
  close(): Promise<void>;
}

export const LIMITS: ModuleLimits = { timeoutSeconds: 20, memoryMiB: 128, outputLimitKiB: 16 };

/** A real runner over real children, with a bundled entry. */
export async function openChildFixture(options: Partial<ChildModuleRunnerOptions> = {}): Promise<ChildFixture> {
  const folder = await mkdtemp(path.join(tmpdir(), 'examhall-test-'));
  const entry = path.join(REPOSITORY, 'lambdas/shared/adapters/child-entry.ts');
  const { path: childEntry } = await bundle(entry, { outDir: path.join(folder, 'entry') });
  const runner = createChildModuleRunner({ childEntry, ...options });
  let count = 0;
  return {
    folder,
    run: async (source, call = {}, ...host) => {
      count += 1;
      const modulePath = path.join(folder, `module-${count}.mjs`);
      await writeFile(modulePath, source);
      return runner.run({ modulePath, phase: 'evaluate', input: {}, folders: {}, limits: LIMITS, ...call }, ...host);
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
