import type { SandboxProvider } from '#ports/sandbox-provider';
import { FolderProvider, type FolderProviderOptions } from './folder-provider.ts';
import { processWishes } from './sandbox-spec-check.ts';
import { describePlace, findWalls } from './walls.ts';

export type ProcessProviderOptions = FolderProviderOptions;

/**
 * Sandboxes that are child processes of this computer. As root on Linux each agent is a user of its own in a mount and PID
 * namespace that shows programs, its own folders and nothing else; otherwise it runs as whoever runs us and the isolation
 * report says `none`. The network is the host's in either case.
 */
export function createProcessProvider(options: ProcessProviderOptions): SandboxProvider {
  const kind = {
    name: 'process',
    lacks: () => null,
    wishes: processWishes,
    findWalls: () => findWalls(options),
    finish: async (place: Parameters<typeof describePlace>[0]) => describePlace(place, 'process'),
    clear: async () => undefined,
  };
  return new FolderProvider(kind, options);
}
