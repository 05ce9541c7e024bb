import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createCuaClient, type CuaClient } from '#adapters/cua-client';
import { startFakeCuaServer, type FakeCuaServer } from '#test/fakes/cua-server';

const MIB = 1024 * 1024;

let folder: string;
let server: FakeCuaServer;
let client: CuaClient;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'examhall-cua-'));
  server = await startFakeCuaServer();
  client = createCuaClient({ url: server.url }, { defaultTimeoutSeconds: 5 });
});

afterEach(async () => {
  client.close();
  await server.close();
  await rm(folder, { recursive: true });
});

function bytesOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 1) bytes[at] = at * 7 + (at >> 8);
  return bytes;
}

const commands = (): string[] => server.requests.map((request) => request.command);
const failure = (work: Promise<unknown>) => work.then(String, (error: unknown) => error as Record<string, unknown>);

describe('an upload', () => {
  it.each([0, 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 17])(
    'of %i bytes arrives whole and leaves no part',
    async (length) => {
      const file = path.join(folder, `it's "a" $file é`);
      expect(await client.upload(file, bytesOf(length))).toEqual({ sizeBytes: length });
      expect((await readFile(file)).equals(bytesOf(length))).toBe(true);
      expect(await readdir(folder)).toHaveLength(1);
      const pieces = server.requests.filter((request) => request.command === 'write_bytes');
      expect(pieces).toHaveLength(Math.max(1, Math.ceil(length / MIB)));
    },
  );

  it('takes a stream in pieces of any size', async () => {
    const content = bytesOf(2 * MIB + 5);
    const pieces = [content.subarray(0, 3), content.subarray(3, 2 * MIB), content.subarray(2 * MIB)];
    expect(await client.upload(path.join(folder, 'a'), Readable.from(pieces))).toEqual({ sizeBytes: content.length });
    expect((await readFile(path.join(folder, 'a'))).equals(content)).toBe(true);
    expect(await client.upload(path.join(folder, 'b'), Readable.from([]))).toEqual({ sizeBytes: 0 });
  });

  it('replaces a file only once the new one is whole', async () => {
    const file = path.join(folder, 'a');
    await writeFile(file, 'old');
    server.answer('get_file_size', { kind: 'frame', fields: { success: true, size: 1 } });
    expect(await failure(client.upload(file, bytesOf(9)))).toMatchObject({
      name: 'CuaTransportError',
      fault: 'broken',
    });
    expect(await readFile(file, 'utf8')).toBe('old');
  });

  it('looks at the size after a lost answer, so that no piece is appended twice', async () => {
    server.answer('write_bytes', { kind: 'slow', milliseconds: 0 });
    server.answer('write_bytes', { kind: 'done-then-cut' });
    server.answer('write_bytes', { kind: 'cut-at-once' });
    const content = bytesOf(3 * MIB + 1);
    await client.upload(path.join(folder, 'a'), content);
    expect((await readFile(path.join(folder, 'a'))).equals(content)).toBe(true);
    expect(commands().filter((command) => command === 'write_bytes')).toHaveLength(5);
  });

  it('gives up when a piece is lost again and again, or the server says it failed', async () => {
    server.answer('write_bytes', { kind: 'cut-at-once' }, 3);
    server.answer('write_bytes', { kind: 'detail', statusCode: 503, detail: 'busy' });
    expect(await failure(client.upload(path.join(folder, 'a'), bytesOf(5)))).toMatchObject({ statusCode: 503 });
    expect(commands().filter((command) => command === 'write_bytes')).toHaveLength(4);
    server.answer('write_bytes', { kind: 'frame', fields: { success: false, error: '[Errno 28] No space left' } });
    expect(await failure(client.upload(path.join(folder, 'b'), bytesOf(5)))).toMatchObject({
      name: 'CuaCommandError',
    });
  });

  it('is done when the answer to its last step is lost but the file is there', async () => {
    server.answer('run_command', { kind: 'done-then-cut' });
    await client.upload(path.join(folder, 'a'), bytesOf(5));
    expect((await readFile(path.join(folder, 'a'))).equals(bytesOf(5))).toBe(true);
    server.answer('run_command', { kind: 'cut-at-once' });
    expect(await failure(client.upload(path.join(folder, 'b'), bytesOf(5)))).toMatchObject({ fault: 'cut' });
    expect(commands().filter((command) => command === 'run_command')).toHaveLength(2);
  });

  it('that cannot be moved into place says why', async () => {
    server.answer('run_command', { kind: 'frame', fields: { success: true, return_code: 1, stderr: 'mv: no' } });
    expect(await failure(client.upload(path.join(folder, 'c'), bytesOf(5)))).toMatchObject({
      name: 'CuaCommandError',
      reason: expect.stringContaining('mv: no') as string,
    });
  });
});

describe('a download', () => {
  it.each([0, 1, MIB, 2 * MIB + 17])('of %i bytes is the file', async (length) => {
    const file = path.join(folder, 'a');
    await writeFile(file, bytesOf(length));
    expect(Buffer.from(await client.download(file, 10 * MIB)).equals(bytesOf(length))).toBe(true);
    const pieces: Uint8Array[] = [];
    expect(await client.downloadTo(file, (piece) => void pieces.push(piece))).toEqual({ sizeBytes: length });
    expect(Buffer.concat(pieces).equals(bytesOf(length))).toBe(true);
  });

  it('above the limit is refused before anything is read', async () => {
    await writeFile(path.join(folder, 'a'), bytesOf(20));
    expect(await failure(client.download(path.join(folder, 'a'), 19))).toMatchObject({ fault: 'too-large' });
    expect(commands()).toEqual(['get_file_size']);
  });

  it('asks again for a range whose answer was cut', async () => {
    await writeFile(path.join(folder, 'a'), bytesOf(2 * MIB));
    server.answer('read_bytes', { kind: 'cut', part: 'data: {"content_b64":"AAAA' });
    expect(Buffer.from(await client.download(path.join(folder, 'a'), 4 * MIB)).equals(bytesOf(2 * MIB))).toBe(true);
  });

  it('notices a file that shrinks while it is read', async () => {
    await writeFile(path.join(folder, 'a'), bytesOf(20));
    server.answer('get_file_size', { kind: 'frame', fields: { success: true, size: 30 } });
    expect(await failure(client.download(path.join(folder, 'a'), 40))).toMatchObject({ fault: 'broken' });
  });

  it('understands servers that ignore ranges, and those that name the content otherwise', async () => {
    const content = bytesOf(MIB + 9);
    await writeFile(path.join(folder, 'a'), content);
    server.answer('read_bytes', { kind: 'frame', fields: { content: content.toString('base64') } }, 2);
    expect(Buffer.from(await client.download(path.join(folder, 'a'), 2 * MIB)).equals(content)).toBe(true);
  });

  it('ends with the reader that fails', async () => {
    await writeFile(path.join(folder, 'a'), bytesOf(3 * MIB));
    const work = client.downloadTo(path.join(folder, 'a'), () => Promise.reject(new Error('disk full')));
    expect(await failure(work)).toMatchObject({ message: 'disk full' });
  });
});

describe('folders', () => {
  it('are made, listed and looked for', async () => {
    const deep = path.join(folder, 'x/y');
    await client.createDir(deep);
    await client.createDir(deep);
    await client.upload(path.join(deep, 'f'), bytesOf(1));
    expect(await client.listDir(deep)).toEqual(['f']);
    expect([await client.directoryExists(deep), await client.fileExists(deep)]).toEqual([true, false]);
    await client.deleteFile(path.join(deep, 'f'));
    expect(await client.fileExists(path.join(deep, 'f'))).toBe(false);
    expect(await failure(client.deleteFile(path.join(deep, 'f')))).toMatchObject({ name: 'CuaCommandError' });
  });

  it('an answer of another kind is broken', async () => {
    server.answer('file_exists', { kind: 'frame', fields: { success: true } });
    expect(await failure(client.fileExists('/x'))).toMatchObject({ fault: 'broken' });
    server.answer('list_dir', { kind: 'frame', fields: { files: 'a' } });
    expect(await failure(client.listDir('/x'))).toMatchObject({ fault: 'broken' });
  });
});
