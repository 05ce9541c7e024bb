import { createCuaChannel, type CuaChannel, type CuaChannelOptions } from '#adapters/cua-channel';
import { createCuaClient } from '#adapters/cua-client';
import { createStaticFiles, type StaticFileOptions } from '#adapters/static-files';
import { createStaticProvider, type StaticProviderOptions } from '#adapters/static-provider';
import type { SandboxProvider } from '#ports/sandbox-provider';

type StaticMachinesOptions = StaticFileOptions &
  Pick<StaticProviderOptions, 'files'> &
  Omit<CuaChannelOptions, 'connect'>;

/** The provider of machines that this computer reaches by address, and the channel that drives them. */
export function composeStaticMachines(options: StaticMachinesOptions): {
  readonly provider: SandboxProvider;
  readonly channel: CuaChannel;
} {
  const connect = (url: string) => createCuaClient({ url });
  const attachments = createStaticFiles(options);
  return {
    provider: createStaticProvider({ attachments, files: options.files, connect }),
    channel: createCuaChannel({ ...options, connect }),
  };
}
