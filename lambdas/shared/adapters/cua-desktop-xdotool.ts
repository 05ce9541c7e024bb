import type { CuaClient } from './cua-client.ts';

/** `xdotool` on a Linux machine, where it is installed: its events reach every program, and one call makes several. */
export interface Xdotool {
  isThere(): Promise<boolean>;
  /** Runs a command line of it. @throws Error with what it said. */
  run(command: string, timeoutSeconds?: number): Promise<void>;
}

export function createXdotool(client: CuaClient): Xdotool {
  let found: Promise<boolean> | undefined;
  const look = (): Promise<boolean> =>
    client.call('run_command', { command: 'command -v xdotool' }, { timeoutSeconds: 10 }).then(
      (fields) => fields['return_code'] === 0,
      // A server without a shell has its own ways only.
      () => false,
    );
  return {
    isThere: async () => {
      if ((await client.osType()) !== 'linux') return false;
      return (found ??= look());
    },
    run: async (command, timeoutSeconds = 20) => {
      const fields = await client.call('run_command', { command }, { timeoutSeconds });
      if (fields['return_code'] === 0) return;
      throw new Error(`the cua-server at ${client.url}: xdotool failed: ${String(fields['stderr']).trim()}`);
    },
  };
}
