import type { CuaClient } from '#adapters/cua-client';
import type { RpcCall, RpcResult } from '#contracts/guest';
import { ExamHallError, isErrorNamed } from '#core/errors';

/** Longer commands than this are run detached, so that no connection has to last as long. */
const LONGEST_HELD_SECONDS = 60;
const TEXT_LIMIT_BYTES = 64 * 1024 * 1024;

/** Answers what is left of a batch when there is no server; `seconds` are left for it. */
type WithoutServer = (calls: readonly RpcCall[], seconds: number, error: unknown) => Promise<readonly RpcResult[]>;

/**
 * Asks the server call by call; one that fails answers so, and one without time left is not begun.
 * @throws ChannelUnavailableError when there is no server, unless told what to do then.
 */
export async function callServer(
  client: CuaClient,
  calls: readonly RpcCall[],
  timeoutSeconds: number,
  withoutServer?: WithoutServer,
): Promise<readonly RpcResult[]> {
  const until = performance.now() + timeoutSeconds * 1_000;
  const secondsLeft = (): number => (until - performance.now()) / 1_000;
  const results: RpcResult[] = [];
  for (const [index, call] of calls.entries()) {
    try {
      results.push(await answer(client, call, secondsLeft()));
    } catch (error) {
      if (withoutServer === undefined || !isErrorNamed(error, 'ChannelUnavailableError')) throw error;
      // What could not be begun was not done, and neither was anything after it.
      return [...results, ...(await withoutServer(calls.slice(index), Math.max(1, secondsLeft()), error))];
    }
  }
  return results;
}

async function answer(client: CuaClient, call: RpcCall, secondsLeft: number): Promise<RpcResult> {
  const { command } = call;
  if (secondsLeft <= 0) return { success: false, error: `the batch's time was over before ${command} could begin` };
  try {
    return { ...(await ask(client, call, secondsLeft)), success: true };
  } catch (error) {
    if (!(error instanceof Error) || isErrorNamed(error, 'ChannelUnavailableError')) throw error;
    const { name, message } = error;
    if (name === 'CuaTransportError' && 'fault' in error && error.fault === 'unreachable')
      throw new ExamHallError('ChannelUnavailableError', `the cua-server does not answer: ${message}`, {}, error);
    if (name === 'CuaCommandError' && 'fields' in error)
      return { ...(error.fields as object), success: false, error: message };
    return { success: false, error: message };
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Texts go as bytes, since the server's own text commands depend on its locale. */
async function ask(client: CuaClient, { command, params }: RpcCall, secondsLeft: number): Promise<Fields> {
  const path = params['path'];
  if (command === 'read_text' && typeof path === 'string') {
    const bytes = await client.download(path, TEXT_LIMIT_BYTES);
    return { content: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  }
  if (command === 'write_text' && typeof path === 'string' && typeof params['content'] === 'string') {
    await client.upload(path, Buffer.from(params['content'], 'utf8'));
    return {};
  }
  if (command !== 'run_command') return client.call(command, params, { timeoutSeconds: secondsLeft });
  const wanted = params['timeout'];
  const limit = Math.min(secondsLeft, typeof wanted === 'number' && wanted > 0 ? wanted : secondsLeft);
  if (typeof params['command'] !== 'string') return client.call(command, params, { timeoutSeconds: limit });
  return run(client, params['command'], limit);
}

/** The fields of `run_command`, of a command that is killed with its group when its time is over. */
async function run(client: CuaClient, command: string, limit: number): Promise<Fields> {
  const timeoutSeconds = limit > LONGEST_HELD_SECONDS ? Math.floor(limit) : limit;
  const done = await client.exec(command, { timeoutSeconds });
  const output = { stdout: done.stdout, stderr: done.stderr };
  if (!done.timedOut) return { ...output, return_code: done.exitCode ?? -1 };
  throw new TimedOutError(timeoutSeconds, output);
}

/** Told like the server's own: by its name the fields reach who asked. */
class TimedOutError extends Error {
  override readonly name = 'CuaCommandError';
  readonly fields: Fields;

  constructor(seconds: number, output: { readonly stdout: string; readonly stderr: string }) {
    const message = `Command timed out after ${seconds}s`;
    super(message);
    this.fields = { ...output, stderr: `${output.stderr}${message}`, return_code: -1 };
  }
}
