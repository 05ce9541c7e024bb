import { setTimeout as sleep } from 'node:timers/promises';
import type { CuaOs } from '#core/cua/keys';
import { posixMove } from '#core/cua/posix-shell';
import { windowsMove } from '#core/cua/windows-shell';
import { CuaCommandError, CuaRequestError, CuaTransportError, type CuaAddress } from './cua-client-errors.ts';

/** Files of the server's machine, as its account. `~` is its home; relative paths are relative to the server's folder. */
export interface CuaFiles {
  /** Writes `<path>.part` in 1 MiB pieces, checks its size and moves it into place. The folder must exist. */
  upload(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ readonly sizeBytes: number }>;
  /** The whole file. @throws CuaTransportError (`too-large`) above `maxBytes`, before any of it is read. */
  download(path: string, maxBytes: number): Promise<Uint8Array>;
  /** Hands the file on piece by piece; it is the file as long as it was when reading began. */
  downloadTo(path: string, sink: (piece: Uint8Array) => void | Promise<void>): Promise<{ readonly sizeBytes: number }>;
  /** True for regular files only. */
  fileExists(path: string): Promise<boolean>;
  directoryExists(path: string): Promise<boolean>;
  fileSize(path: string): Promise<number>;
  /** Names of files and folders, in no order. */
  listDir(path: string): Promise<string[]>;
  /** Makes the folder and those above it; one that is there is left alone. */
  createDir(path: string): Promise<void>;
  deleteFile(path: string): Promise<void>;
}

type Call = (
  command: string,
  params?: Readonly<Record<string, unknown>>,
  options?: { readonly timeoutSeconds?: number },
) => Promise<Record<string, unknown>>;

const PIECE_BYTES = 1024 * 1024;
const APPEND_TRIES = 4;
const APPEND_DELAY_MS = 150;

/** What the file commands need of the client they belong to. */
export interface FilesHost {
  readonly url: string;
  readonly call: Call;
  osType(): Promise<CuaOs>;
}

export function createCuaFiles(host: FilesHost): CuaFiles {
  const { call } = host;
  const ask = async <T extends 'boolean' | 'number'>(command: string, path: string, field: string, type: T) => {
    const value = (await call(command, { path }))[field];
    if (typeof value === type) return value as T extends 'boolean' ? boolean : number;
    throw broken(host, command, `${field} of ${path} is ${JSON.stringify(value)}, not a ${type}`);
  };
  const fileSize = (path: string): Promise<number> => ask('get_file_size', path, 'size', 'number');
  const files: CuaFiles = {
    fileSize,
    fileExists: (path) => ask('file_exists', path, 'exists', 'boolean'),
    directoryExists: (path) => ask('directory_exists', path, 'exists', 'boolean'),
    listDir: async (path) => {
      const names = (await call('list_dir', { path }))['files'];
      if (Array.isArray(names)) return names.filter((name) => typeof name === 'string');
      throw broken(host, 'list_dir', `files of ${path} is ${JSON.stringify(names)}, not a list`);
    },
    createDir: async (path) => {
      await call('create_dir', { path });
    },
    deleteFile: async (path) => {
      await call('delete_file', { path });
    },
    upload: (path, content) => upload(host, files, path, content),
    downloadTo: async (path, sink) => {
      const sizeBytes = await fileSize(path);
      await readRanges(host, path, sizeBytes, sink);
      return { sizeBytes };
    },
    download: async (path, maxBytes) => {
      const sizeBytes = await fileSize(path);
      if (sizeBytes > maxBytes) {
        const at = { url: host.url, command: 'read_bytes', isRepeatable: true };
        throw new CuaTransportError(at, 'too-large', `${path} has ${sizeBytes} bytes; at most ${maxBytes} are read`);
      }
      const pieces: Uint8Array[] = [];
      await readRanges(host, path, sizeBytes, (piece) => void pieces.push(piece));
      return Buffer.concat(pieces);
    },
  };
  return files;
}

function broken(host: FilesHost, command: string, reason: string): CuaTransportError {
  const at: CuaAddress = { url: host.url, command, isRepeatable: true };
  return new CuaTransportError(at, 'broken', reason);
}

/** Reads a file in pieces, asking for the next one while the last is handed on. */
async function readRanges(
  host: FilesHost,
  path: string,
  sizeBytes: number,
  sink: (piece: Uint8Array) => void | Promise<void>,
): Promise<void> {
  const read = async (offset: number): Promise<Buffer> => {
    const length = Math.min(PIECE_BYTES, sizeBytes - offset);
    const fields = await host.call('read_bytes', { path, offset, length });
    const content = fields['content_b64'] ?? fields['content'];
    const piece = typeof content === 'string' ? Buffer.from(content, 'base64') : undefined;
    if (piece?.length === length) return piece;
    // A server too old for ranges answers with the whole file.
    if (piece?.length === sizeBytes) return piece.subarray(offset, offset + length);
    throw broken(
      host,
      'read_bytes',
      `${path} gave ${piece?.length ?? 'no'} bytes at ${offset}, not ${length}; it changed while it was read`,
    );
  };
  let next: Promise<Buffer> | undefined = sizeBytes > 0 ? read(0) : undefined;
  for (let offset = 0; next !== undefined;) {
    const piece = await next;
    offset += piece.length;
    next = offset < sizeBytes ? read(offset) : undefined;
    // Its failure is met at the next turn, or not at all when the sink fails first.
    next?.catch(() => undefined);
    await sink(piece);
  }
}

async function upload(
  host: FilesHost,
  files: CuaFiles,
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<{ sizeBytes: number }> {
  const part = `${path}.part`;
  let sizeBytes = 0;
  for await (const piece of piecesOf(content)) {
    await append({ host, files }, part, piece, sizeBytes);
    sizeBytes += piece.length;
  }
  const there = await files.fileSize(part);
  if (there !== sizeBytes)
    throw broken(host, 'write_bytes', `${part} has ${there} bytes after ${sizeBytes} were written`);
  await moveIntoPlace(host, files, path, sizeBytes);
  return { sizeBytes };
}

interface Transfer {
  readonly host: FilesHost;
  readonly files: CuaFiles;
}

/** Appends a piece once: after a lost answer the file's size tells whether it arrived. */
async function append({ host, files }: Transfer, part: string, piece: Buffer, offset: number): Promise<void> {
  const params = { path: part, content_b64: piece.toString('base64'), append: offset > 0 };
  for (let tryNumber = 1; ; tryNumber += 1) {
    try {
      await host.call('write_bytes', params);
      return;
    } catch (error) {
      const isLost = error instanceof CuaTransportError || (error instanceof CuaRequestError && error.statusCode > 501);
      if (!isLost || tryNumber === APPEND_TRIES) throw error;
      await sleep(APPEND_DELAY_MS * tryNumber);
      // Starting a file over is safe to repeat; so is what provably did not arrive.
      const size = offset === 0 ? 0 : await files.fileSize(part);
      if (offset > 0 && size === offset + piece.length) return;
      if (size !== offset) throw error;
    }
  }
}

async function moveIntoPlace(host: FilesHost, files: CuaFiles, path: string, sizeBytes: number): Promise<void> {
  const part = `${path}.part`;
  const move = (await host.osType()) === 'windows' ? windowsMove : posixMove;
  try {
    const done = await host.call('run_command', { command: move(part, path) });
    if (done['return_code'] === 0) return;
    const at = { url: host.url, command: 'run_command', isRepeatable: false };
    throw new CuaCommandError(at, `${part} could not be moved to ${path}: ${String(done['stderr'])}`, done);
  } catch (error) {
    const isDone =
      error instanceof CuaTransportError &&
      !(await files.fileExists(part)) &&
      (await files.fileExists(path)) &&
      (await files.fileSize(path)) === sizeBytes;
    if (!isDone) throw error;
  }
}

/** The content in pieces of 1 MiB, the last one shorter; nothing at all is one empty piece. */
async function* piecesOf(content: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  if (content instanceof Uint8Array) {
    const all = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    for (let at = 0; at === 0 || at < all.length; at += PIECE_BYTES) yield all.subarray(at, at + PIECE_BYTES);
    return;
  }
  let waiting: Buffer[] = [];
  let bytes = 0;
  let isEmpty = true;
  for await (const chunk of content) {
    waiting.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    bytes += chunk.length;
    if (bytes < PIECE_BYTES) continue;
    let all = Buffer.concat(waiting);
    for (; all.length >= PIECE_BYTES; all = all.subarray(PIECE_BYTES)) {
      isEmpty = false;
      yield all.subarray(0, PIECE_BYTES);
    }
    waiting = [all];
    bytes = all.length;
  }
  if (bytes > 0 || isEmpty) yield Buffer.concat(waiting);
}
