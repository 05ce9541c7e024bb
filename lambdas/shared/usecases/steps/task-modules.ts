import type { PublishedTask } from '#core/catalog';
import type { ModuleCall } from '#ports/module-runner';
import type { Ports } from '#ports/ports';

export interface OpenModule {
  readonly path: string;
  remove(): Promise<void>;
}

/** Fetches a task's compiled module into a scratch folder of this invocation. */
export async function openTaskModule(
  ports: Pick<Ports, 'artifacts' | 'workspace'>,
  task: PublishedTask,
): Promise<OpenModule> {
  const scratch = await ports.workspace.open();
  const path = await scratch.fileAt('task.mjs');
  await ports.artifacts.getFile({ bucket: 'tasks', key: task.module.key }, path);
  return {
    path,
    remove: async () => {
      await scratch.remove();
    },
  };
}

/** A call of a task's hook under the usual caps. */
export function taskCall(
  module: Pick<OpenModule, 'path'>,
  phase: string,
  input: unknown,
  timeoutSeconds: number,
): ModuleCall {
  return {
    modulePath: module.path,
    phase,
    input,
    folders: {},
    limits: { timeoutSeconds, memoryMiB: 512, outputLimitKiB: 256 },
  };
}
