import { createCuaClient, type CuaClient } from '#adapters/cua-client';
import { GUEST_COMMANDS, type RpcCall, type RpcResult } from '#contracts/guest';
import { ExamHallError } from '#core/errors';
import type { SandboxDesktop } from '#ports/sandbox-provider';

const GUESTS: ReadonlySet<string> = new Set(GUEST_COMMANDS);

/** The server's short names for commands that are the guest runner's. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  shell: 'run_command',
  exec: 'run_command',
  read_file: 'read_text',
  write_file: 'write_text',
  ls: 'list_dir',
  mkdir: 'create_dir',
  rm: 'delete_file',
  rmdir: 'delete_dir',
};

/** How a server that is no more shows itself, by way of a relay too. */
const GONE: ReadonlySet<unknown> = new Set(['unreachable', 'cut']);

/** Calls that one side answers, in the order in which they were asked. */
export interface CallRun {
  readonly isScreens: boolean;
  readonly calls: readonly RpcCall[];
}

/**
 * Who answers which call of a batch for a desktop. Files and shell stay with the guest runner: once the agent has run, its
 * server is nobody to believe. The screen is the server's.
 */
export function splitCalls(calls: readonly RpcCall[]): readonly CallRun[] {
  const runs: { isScreens: boolean; calls: RpcCall[] }[] = [];
  for (const asked of calls) {
    const call = { ...asked, command: SHORT_NAMES[asked.command] ?? asked.command };
    const isScreens = !GUESTS.has(call.command);
    const last = runs.at(-1);
    if (last?.isScreens === isScreens) last.calls.push(call);
    else runs.push({ isScreens, calls: [call] });
  }
  return runs;
}

/**
 * Asks the desktop's server, call by call; one that fails answers so.
 * @throws ChannelUnavailableError when there is no server any more.
 */
export async function callScreen(
  desktop: SandboxDesktop,
  calls: readonly RpcCall[],
  timeoutSeconds: number,
): Promise<readonly RpcResult[]> {
  const client = createCuaClient(desktop.endpoint);
  const until = performance.now() + timeoutSeconds * 1000;
  const results: RpcResult[] = [];
  try {
    for (const call of calls) results.push(await callOnce(client, call, (until - performance.now()) / 1000));
    return results;
  } finally {
    client.close();
  }
}

async function callOnce(client: CuaClient, call: RpcCall, timeoutSeconds: number): Promise<RpcResult> {
  if (timeoutSeconds <= 0)
    return { success: false, error: `the batch's time was over before ${call.command} could begin` };
  try {
    return { ...(await client.call(call.command, call.params, { timeoutSeconds })), success: true };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (error.name === 'CuaTransportError' && 'fault' in error && GONE.has(error.fault))
      throw new ExamHallError('ChannelUnavailableError', `the desktop does not answer: ${error.message}`, {}, error);
    if (!error.name.startsWith('Cua')) throw error;
    return { success: false, error: error.message };
  }
}
