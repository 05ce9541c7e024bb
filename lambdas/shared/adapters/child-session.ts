import type { CommandResult, Session } from '#core/task-module';

/** One guest RPC: resolves to the guest's answer, rejects when the sandbox could not be asked. */
export type GuestCall = (
  command: string,
  params: Readonly<Record<string, unknown>>,
  timeoutSeconds: number,
) => Promise<Readonly<Record<string, unknown>>>;

/** Bytes moved by one call, so that an answer fits the payload limit of a function. */
const CHUNK_BYTES = 1024 * 1024;
const DEFAULT_TIMEOUT_SECONDS = 60;
const COMMAND_TIMEOUT_SECONDS = 540;

class SessionError extends Error {
  override readonly name: 'SessionCommandError' | 'SessionUnavailableError' | 'SessionCallError';

  constructor(name: SessionError['name'], message: string) {
    super(message);
    this.name = name;
  }
}

/** The session that task code sees, over the guest's RPC vocabulary. Files go as bytes, whatever the guest's locale. */
export function createSession(call: GuestCall): Session {
  const ask = async (
    command: string,
    params: Readonly<Record<string, unknown>>,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await call(command, params, DEFAULT_TIMEOUT_SECONDS);
    if (answer['success'] === true) return answer;
    throw new SessionError('SessionCallError', `${command} ${describe(params)} failed: ${describe(answer['error'])}`);
  };
  const session: Session = {
    runCommand: (command, options) => runCommand(call, command, options),
    readBytes: (path) => readBytes(ask, path),
    readFile: async (path) => new TextDecoder().decode(await readBytes(ask, path)),
    writeBytes: (path, content) => writeBytes(ask, path, content),
    writeFile: (path, content) => writeBytes(ask, path, new TextEncoder().encode(content)),
    fileExists: async (path) => (await ask('file_exists', { path }))['exists'] === true,
    directoryExists: async (path) => (await ask('directory_exists', { path }))['exists'] === true,
    listDir: async (path) => listDir(await ask('list_dir', { path })),
    createDir: async (path) => {
      await ask('create_dir', { path });
    },
    launch: async (app, args = []) => {
      const answer = await ask('launch', { app, args });
      return { pid: Number(answer['pid']) };
    },
    screenshot: async () => {
      const answer = await call('screenshot', {}, DEFAULT_TIMEOUT_SECONDS);
      if (answer['success'] === true && typeof answer['image_data'] === 'string') {
        return new Uint8Array(Buffer.from(answer['image_data'], 'base64'));
      }
      throw new SessionError('SessionUnavailableError', `the sandbox gave no screenshot: ${describe(answer['error'])}`);
    },
  };
  return session;
}

type Ask = (command: string, params: Readonly<Record<string, unknown>>) => Promise<Readonly<Record<string, unknown>>>;

async function runCommand(
  call: GuestCall,
  command: string,
  options: { readonly check?: boolean; readonly timeoutSeconds?: number } = {},
): Promise<CommandResult> {
  const timeoutSeconds = options.timeoutSeconds ?? COMMAND_TIMEOUT_SECONDS;
  const answer = await call('run_command', { command, timeout: timeoutSeconds }, timeoutSeconds + 10);
  const returnCode = typeof answer['return_code'] === 'number' ? answer['return_code'] : -1;
  const result: CommandResult = {
    success: answer['success'] === true && returnCode === 0,
    stdout: textOf(answer['stdout']),
    stderr: textOf(answer['stderr'] ?? answer['error']),
    returnCode,
  };
  if (options.check === true && !result.success) {
    throw new SessionError(
      'SessionCommandError',
      `command ended with code ${returnCode}: ${command.slice(0, 200)}\n${result.stderr.slice(-2000)}`,
    );
  }
  return result;
}

async function readBytes(ask: Ask, path: string): Promise<Uint8Array> {
  const parts: Buffer[] = [];
  for (let offset = 0; ; offset += CHUNK_BYTES) {
    const answer = await ask('read_bytes', { path, offset, length: CHUNK_BYTES });
    const part = Buffer.from(textOf(answer['content_b64']), 'base64');
    parts.push(part);
    if (part.length < CHUNK_BYTES) return new Uint8Array(Buffer.concat(parts));
  }
}

async function writeBytes(ask: Ask, path: string, content: Uint8Array): Promise<void> {
  for (let offset = 0; offset === 0 || offset < content.length; offset += CHUNK_BYTES) {
    const part = content.subarray(offset, offset + CHUNK_BYTES);
    await ask('write_bytes', { path, content_b64: Buffer.from(part).toString('base64'), append: offset > 0 });
  }
}

function listDir(answer: Readonly<Record<string, unknown>>): readonly string[] {
  const files: unknown = answer['files'];
  return Array.isArray(files) ? files.filter((name) => typeof name === 'string').sort() : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function describe(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? 'no reason given');
  return text.slice(0, 500);
}
