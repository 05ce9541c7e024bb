import type { TaskPaths } from './task-module.ts';

/** Folder that prompts name unless the sandbox has another data root. */
export const CANONICAL_DATA_ROOTS = {
  linux: '/media/user/data/agenthle',
  windows: 'E:\\agenthle',
} as const satisfies Record<'linux' | 'windows', string>;

/** Absolute folders of one variant in the guest's path style: `<dataRoot>/<domain>/<task>/<variant>/...`. */
export function taskPathsOf(place: {
  readonly os: 'linux' | 'windows';
  readonly dataRoot: string;
  readonly taskId: string;
  readonly variantName: string;
}): TaskPaths {
  const separator = place.os === 'windows' ? '\\' : '/';
  const dataRoot = place.dataRoot.replace(/[\\/]+$/, '');
  const root = [dataRoot, ...place.taskId.split('/'), place.variantName].join(separator);
  const below = (name: string): string => `${root}${separator}${name}`;
  return { root, input: below('input'), software: below('software'), output: below('output') };
}
