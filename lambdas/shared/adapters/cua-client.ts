import { parseObject, shorten } from '#core/cua/frames';
import type { CuaOs } from '#core/cua/keys';
import { readPngSize } from '#core/cua/png-size';
import { CuaRequestError, CuaTransportError } from './cua-client-errors.ts';
import { execCommand, type ExecOptions, type ExecResult } from './cua-client-exec.ts';
import { createCuaFiles, type CuaFiles } from './cua-client-files.ts';
import { createCuaHttp, type CuaEndpoint, type CuaHttp } from './cua-client-http.ts';

export type { CuaEndpoint, CuaHttp } from './cua-client-http.ts';
export type { CuaFiles } from './cua-client-files.ts';
export type { ExecOptions, ExecResult } from './cua-client-exec.ts';

export interface CuaServerStatus {
  readonly osType: CuaOs;
  readonly features: readonly string[];
}

export interface CuaCallOptions {
  /** How long the server itself may take; the answer is waited for a little longer. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

export interface CuaScreenshot {
  readonly png: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/**
 * Speaks to one cua-server. Reads are sent again when the connection failed; everything else is sent once.
 * @throws CuaCommandError when the server says a command failed, CuaRequestError when it refuses the request,
 *   CuaTransportError when no proper answer came.
 */
export interface CuaClient extends CuaFiles {
  readonly url: string;
  status(): Promise<CuaServerStatus>;
  /** The server's system, asked for once. */
  osType(): Promise<CuaOs>;
  /** Names of the commands and aliases the server has; null when it is too old to say. */
  commands(): Promise<ReadonlySet<string> | null>;
  version(): Promise<{ readonly protocol: number; readonly package: string }>;
  /** One command. A time limit is passed on to `run_command`. */
  call(
    command: string,
    params?: Readonly<Record<string, unknown>>,
    options?: CuaCallOptions,
  ): Promise<Record<string, unknown>>;
  /** Runs a shell command with no input, never twice; longer ones than 60 s detached and polled. */
  exec(command: string, options: ExecOptions): Promise<ExecResult>;
  screenshot(): Promise<CuaScreenshot>;
  close(): void;
}

export interface CuaClientOptions {
  /** For commands that name no time limit. */
  readonly defaultTimeoutSeconds?: number;
  /** How much longer than the server's time an answer is waited for. */
  readonly marginSeconds?: number;
  /** How requests reach the server; over HTTP from here unless told. */
  readonly transport?: CuaHttp;
}

const KNOWN_OS: readonly string[] = ['linux', 'windows', 'darwin', 'android'];

/** @throws TypeError when the endpoint's URL is none. */
export function createCuaClient(endpoint: CuaEndpoint, options: CuaClientOptions = {}): CuaClient {
  const { defaultTimeoutSeconds = 30, marginSeconds = 10 } = options;
  const http = options.transport ?? createCuaHttp(endpoint);
  const { url } = endpoint;

  const call: CuaClient['call'] = (command, params = {}, { timeoutSeconds, signal } = {}) => {
    const isShell = command === 'run_command';
    const own = params['timeout'];
    const seconds = timeoutSeconds ?? (isShell && typeof own === 'number' ? own : defaultTimeoutSeconds);
    const sent = isShell ? { timeout: seconds, ...params } : params;
    return http.command(command, sent, { deadlineSeconds: seconds + marginSeconds, signal });
  };

  const getJson = async (path: string): Promise<Record<string, unknown> | null> => {
    const answer = await http.get(path, { deadlineSeconds: marginSeconds });
    const at = { url, command: `GET ${path}`, isRepeatable: true };
    if (answer.statusCode === 404 || answer.statusCode === 405) return null;
    if (answer.statusCode !== 200) throw new CuaRequestError(at, answer.statusCode, answer.body);
    const fields = parseObject(answer.body);
    if (fields !== undefined) return fields;
    throw new CuaTransportError(at, 'broken', `the answer is not a JSON object: ${shorten(answer.body)}`);
  };

  const status = async (): Promise<CuaServerStatus> => readStatus(url, await getJson('/status'));
  const osType = once(async () => (await status()).osType);
  const files = createCuaFiles({ url, call, osType });
  return {
    url,
    status,
    osType,
    commands: once(async () => readCommands(await getJson('/commands'))),
    call,
    version: async () => {
      const { protocol, package: name } = await call('version');
      return {
        protocol: typeof protocol === 'number' ? protocol : 0,
        package: typeof name === 'string' ? name : 'unknown',
      };
    },
    exec: async (command, limits) => execCommand({ url, call, files, osType: await osType() }, command, limits),
    screenshot: async () => readScreenshot(url, await call('screenshot')),
    ...files,
    close: () => http.close(),
  };
}

/** Asks once and remembers the answer; a failure is not remembered. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    answer ??= ask().catch((error: unknown) => {
      answer = undefined;
      throw error;
    });
    return answer;
  };
}

function readStatus(url: string, fields: Record<string, unknown> | null): CuaServerStatus {
  const at = { url, command: 'GET /status', isRepeatable: true };
  const osType = fields?.['os_type'];
  if (typeof osType !== 'string' || !KNOWN_OS.includes(osType)) {
    const shown = shorten(JSON.stringify(fields));
    throw new CuaTransportError(at, 'broken', `os_type is none of ${KNOWN_OS.join(', ')}: ${shown}`);
  }
  const features = fields?.['features'];
  return {
    osType: osType as CuaOs,
    features: Array.isArray(features) ? features.filter((name) => typeof name === 'string') : [],
  };
}

function readCommands(fields: Record<string, unknown> | null): ReadonlySet<string> | null {
  const names = (value: unknown): string[] => (typeof value === 'object' && value !== null ? Object.keys(value) : []);
  const known = [...names(fields?.['commands']), ...names(fields?.['aliases'])];
  return known.length === 0 ? null : new Set(known);
}

function readScreenshot(url: string, fields: Record<string, unknown>): CuaScreenshot {
  const at = { url, command: 'screenshot', isRepeatable: true };
  const data = fields['image_data'];
  const png = typeof data === 'string' ? Buffer.from(data, 'base64') : undefined;
  const size = png === undefined ? null : readPngSize(png);
  if (png === undefined || size === null) {
    const shown = typeof data === 'string' ? `${data.length} characters` : JSON.stringify(fields);
    throw new CuaTransportError(at, 'broken', `image_data is no PNG: ${shorten(shown)}`);
  }
  return { png, ...size };
}
