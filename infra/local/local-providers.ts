import { ExamHallError } from '#core/errors';
import type { Channel } from '#ports/channel';
import type { Channels, Providers } from '#ports/ports';
import type { SandboxProvider } from '#ports/sandbox-provider';

/** Providers this host can run, as environment files name them. */
export const LOCAL_PROVIDERS: readonly string[] = ['process'];

export function providersOf(list: readonly SandboxProvider[]): Providers {
  return {
    get: (name) => {
      const found = list.find((provider) => provider.name === name);
      if (found !== undefined) return found;
      const names = list.map((provider) => provider.name).join(', ');
      throw new ExamHallError(
        'SandboxRefusedError',
        `there is no sandbox provider ${JSON.stringify(name)} here; available: ${names}`,
      );
    },
    all: () => list,
  };
}

/** Sandboxes without a machine behind them go by the no-op channel, all others by the local one. */
export function channelsOf(local: Channel, noop: Channel): Channels {
  return { for: (sandbox) => (sandbox.provider === 'noop' ? noop : local) };
}
