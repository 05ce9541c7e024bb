import { afterEach, describe, expect, it } from 'vitest';
import { createCuaClient, type CuaClient } from '#adapters/cua-client';
import {
  startFakeCuaServer,
  type CuaShape,
  type FakeCuaServer,
  type FakeCuaServerOptions,
} from '#test/fakes/cua-server';

const closers: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function open(options?: FakeCuaServerOptions): Promise<{ server: FakeCuaServer; client: CuaClient }> {
  const server = await startFakeCuaServer(options);
  const client = createCuaClient({ url: server.url }, { defaultTimeoutSeconds: 0.2, marginSeconds: 0.3 });
  closers.push(() => server.close(), client.close);
  return { server, client };
}

const caught = (work: Promise<unknown>): Promise<Record<string, unknown>> =>
  work.then(
    (value) => ({ name: 'nothing', message: JSON.stringify(value) }),
    (error: unknown) => ({ ...(error as object), name: (error as Error).name, message: (error as Error).message }),
  );

const sent = (server: FakeCuaServer, command: string): number =>
  server.requests.filter((request) => request.command === command).length;

describe('a command that changes something', () => {
  it.each<[string, CuaShape, Record<string, unknown>]>([
    ['silence', { kind: 'silence' }, { name: 'CuaTransportError', fault: 'silent', mayHaveRun: true }],
    ['an empty body', { kind: 'empty' }, { name: 'CuaTransportError', fault: 'broken', mayHaveRun: true }],
    ['no data: line', { kind: 'raw', body: '{"success":true}' }, { name: 'CuaTransportError', fault: 'broken' }],
    [
      'a cut stream',
      { kind: 'cut', part: 'data: {"succ' },
      { name: 'CuaTransportError', fault: 'cut', mayHaveRun: true },
    ],
    ['a cut before any answer', { kind: 'cut-at-once' }, { name: 'CuaTransportError', fault: 'cut' }],
    ['done, then cut', { kind: 'done-then-cut' }, { name: 'CuaTransportError', fault: 'cut', mayHaveRun: true }],
    ['a refusal', { kind: 'detail', statusCode: 400, detail: 'no' }, { name: 'CuaRequestError', statusCode: 400 }],
    ['no permission', { kind: 'detail', statusCode: 401, detail: 'API key required' }, { name: 'CuaRequestError' }],
    ['a busy proxy', { kind: 'raw', statusCode: 503, body: 'busy' }, { name: 'CuaRequestError', statusCode: 503 }],
    [
      'a failure',
      { kind: 'frame', fields: { success: false, error: 'why' } },
      { name: 'CuaCommandError', reason: 'why' },
    ],
    ['a failure without a reason', { kind: 'frame', fields: { success: false } }, { name: 'CuaCommandError' }],
  ])('is sent once and fails by name when the server answers with %s', async (_, shape, expected) => {
    const { server, client } = await open();
    server.answer('run_command', shape, 9);
    expect(await caught(client.call('run_command', { command: 'true' }))).toMatchObject(expected);
    expect(sent(server, 'run_command')).toBe(1);
  });

  it('is sent again only where it cannot have arrived', async () => {
    const server = await startFakeCuaServer();
    await server.close();
    const client = createCuaClient({ url: server.url });
    closers.push(client.close);
    const error = await caught(client.call('left_click', { x: 1, y: 2 }));
    expect(error).toMatchObject({ name: 'CuaTransportError', fault: 'unreachable', mayHaveRun: false });
    expect(error['message']).toMatch(
      /^cua-server at http:\/\/127\.0\.0\.1:\d+: left_click: no connection \(ECONNREFUSED\)$/,
    );
  });

  it('says what to do about a server that asks for a login', async () => {
    const { server, client } = await open();
    server.answer('left_click', { kind: 'detail', statusCode: 401, detail: 'Container name required' });
    const { message } = await caught(client.call('left_click'));
    expect(message).toMatch(
      /left_click was answered with HTTP 401: Container name required; start the server with CONTAINER_NAME unset/,
    );
  });

  it('passes its time limit to the server and waits a little longer for the answer', async () => {
    const { server, client } = await open();
    server.answer('run_command', { kind: 'slow', milliseconds: 350 });
    expect(await client.call('run_command', { command: 'echo hi' }, { timeoutSeconds: 0.2 })).toMatchObject({
      stdout: 'hi\n',
    });
    expect(server.requests[0]?.params).toEqual({ timeout: 0.2, command: 'echo hi' });
  });

  it('can be given up', async () => {
    const { server, client } = await open();
    server.answer('run_command', { kind: 'silence' });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    const limits = { timeoutSeconds: 60, signal: stop.signal };
    expect(await caught(client.call('run_command', { command: 'x' }, limits))).toMatchObject({ fault: 'aborted' });
    expect(await caught(client.call('run_command', { command: 'x' }, limits))).toMatchObject({ fault: 'aborted' });
  });
});

describe('a command that only reads', () => {
  it.each<[string, CuaShape]>([
    ['a cut stream', { kind: 'cut', part: 'data: {' }],
    ['an empty body', { kind: 'empty' }],
    ['a busy proxy', { kind: 'raw', statusCode: 502, body: '' }],
  ])('is sent again after %s', async (_, shape) => {
    const { server, client } = await open();
    server.answer('screenshot', shape, 2);
    expect(await client.screenshot()).toMatchObject({ width: 64, height: 48 });
    expect(sent(server, 'screenshot')).toBe(3);
  });

  it('is not sent again when the server itself says no', async () => {
    const { server, client } = await open();
    server.answer('screenshot', { kind: 'frame', fields: { success: false, error: 'screen grab failed' } }, 3);
    expect(await caught(client.screenshot())).toMatchObject({ name: 'CuaCommandError', reason: 'screen grab failed' });
    server.answer('version', { kind: 'detail', statusCode: 400, detail: 'Unknown command' }, 3);
    expect(await caught(client.version())).toMatchObject({ name: 'CuaRequestError' });
    expect([sent(server, 'screenshot'), sent(server, 'version')]).toEqual([1, 1]);
  });

  it('takes the last of two frames', async () => {
    const { server, client } = await open();
    const body = 'data: {"success":true,"size":1}\n\ndata: {"success":true,"size":2}\n\n';
    server.answer('get_file_size', { kind: 'raw', body });
    expect(await client.fileSize('/x')).toBe(2);
  });

  it.each([[{ image_data: 'AAAA' }], [{ image_data: 7 }], [{}]])(
    'a screenshot must be a PNG, not %j',
    async (fields) => {
      const { server, client } = await open();
      server.answer('screenshot', { kind: 'frame', fields });
      expect(await caught(client.screenshot())).toMatchObject({ name: 'CuaTransportError', fault: 'broken' });
    },
  );

  it('stops reading an answer without end', async () => {
    const { server } = await open();
    const client = createCuaClient({ url: server.url }, { defaultTimeoutSeconds: 60 });
    closers.push(client.close);
    server.answer('read_bytes', { kind: 'huge', bytes: 400 * 1024 * 1024 });
    expect(await caught(client.call('read_bytes', { path: '/x' }))).toMatchObject({ fault: 'too-large' });
  }, 60_000);
});

describe('what a server can do', () => {
  it('is told by /status and /commands', async () => {
    const { client } = await open({ osType: 'windows', commands: ['version', 'screenshot'] });
    expect(await client.status()).toEqual({ osType: 'windows', features: ['mcp'] });
    expect([...((await client.commands()) ?? [])]).toEqual(['version', 'screenshot', 'type']);
    expect(await client.version()).toEqual({ protocol: 1, package: '0.3.46' });
  });

  it('is not known of one without /commands, nor of something else that listens there', async () => {
    expect(await (await open({ commands: null })).client.commands()).toBeNull();
    expect(await caught((await open({ osType: 'plan9' })).client.status())).toMatchObject({ fault: 'broken' });
  });

  it('an address must be an http address', () => {
    expect(() => createCuaClient({ url: 'localhost:5000' })).toThrow('write it as http://host:port');
    expect(() => createCuaClient({ url: 'nonsense' })).toThrow('is no address of a cua-server');
  });
});
