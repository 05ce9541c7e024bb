import { createCuaChannel, type CuaChannel, type CuaChannelOptions } from '#adapters/cua-channel';
import { createStaticProvider, type StaticProviderOptions } from '#adapters/static-provider';
import type { SandboxProvider } from '#ports/sandbox-provider';

/** The provider of machines that are reached by address, and the channel that drives them. */
export function composeStaticMachines(options: StaticProviderOptions & CuaChannelOptions): {
  readonly provider: SandboxProvider;
  readonly channel: CuaChannel;
} {
  return { provider: createStaticProvider(options), channel: createCuaChannel(options) };
}
