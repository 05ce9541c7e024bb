import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { tokenAuthorizer } from '#cli/remote/authorizers';
import { connect, readUrl } from '#cli/remote/connect';
import { namesHost, wantedHost } from '#cli/remote/host-options';
import { exchange } from '#cli/remote/http-exchange';
import { allPages } from '#cli/remote/pages';
import { clientOf, RawAnswer, startFakeApi, type FakeApi } from './fake-api.ts';

const servers: Server[] = [];
const apis: FakeApi[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await Promise.all(apis.splice(0).map(async (api) => await api.close()));
});

async function serve(handler: Parameters<typeof createServer>[1]): Promise<URL> {
  const server = createServer(handler ?? (() => undefined));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return new URL(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
}

describe('which host is meant', () => {
  it.each([
    [{}, {}, {}],
    [{}, { EXAMHALL_HOST: 'http://a' }, { host: 'http://a' }],
    [{ stage: 'prod' }, { EXAMHALL_HOST: 'http://a' }, { stage: 'prod' }],
    [{ host: 'http://b' }, { EXAMHALL_STAGE: 'prod' }, { host: 'http://b' }],
    [{}, { EXAMHALL_HOST: '' }, {}],
  ])('by %j and %j is %j', (options, env, wanted) => {
    expect(wantedHost(options, env)).toEqual(wanted);
    expect(namesHost(options, env)).toBe(Object.keys(wanted).length > 0);
  });

  it.each([
    'ftp://127.0.0.1',
    'http://exam.example.org',
    'http://127.0.0.1.example.org',
    'https://user:word@exam.example.org',
    'https://exam.example.org/?a=1',
    'not an address',
  ])('is not %s, and a password is not repeated', (text) => {
    expect(() => readUrl(text)).toThrow('the address of the host cannot be used');
    expect(() => readUrl(text)).not.toThrow(/word/u);
  });

  it.each(['https://exam.example.org/prod', 'http://127.0.0.1:8700', 'http://[::1]:8700', 'http://localhost'])(
    'may be %s',
    (text) => {
      expect(readUrl(text).href).toContain(text);
    },
  );

  const connecting = async (options: object, env: Readonly<Record<string, string>>) =>
    await connect({ timeout: 1, ...options }, { env, warn: () => undefined });

  it('is asked for when none is named, and refused when two are', async () => {
    await expect(connecting({}, {})).rejects.toThrow('no host is named');
    await expect(connecting({ host: 'http://127.0.0.1', stage: 'a' }, {})).rejects.toThrow('both a host and a stage');
  });

  it('needs a token where it is this computer', async () => {
    await expect(connecting({ host: 'http://127.0.0.1' }, {})).rejects.toThrow('EXAMHALL_TOKEN not set or empty');
    await expect(connecting({ host: 'http://127.0.0.1', tokenFile: '/nowhere/token' }, {})).rejects.toThrow(
      'does not exist',
    );
    await expect(connecting({ host: 'http://127.0.0.1' }, { EXAMHALL_TOKEN: 'two words' })).rejects.not.toThrow(
      'two words',
    );
    expect((await connecting({ host: 'http://127.0.0.1' }, { EXAMHALL_TOKEN: 'a-token' })).baseUrl.host).toBe(
      '127.0.0.1',
    );
  });
});

describe('a host that does not answer as one should', () => {
  const call = async (url: URL, timeoutSeconds = 5) =>
    await exchange({ method: 'GET', url, headers: {}, timeoutSeconds });

  it('cannot fill the memory', async () => {
    const url = await serve((_request, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(1024 * 1024), more);
      };
      more();
    });
    await expect(call(url)).rejects.toMatchObject({
      kind: 'host',
      message: expect.stringContaining('more than 8388608 bytes') as unknown,
    });
  });

  it('is given up when it says nothing', async () => {
    const url = await serve(() => undefined);
    await expect(call(url, 0.2)).rejects.toMatchObject({ kind: 'timeout' });
  });

  it('is told apart: nothing there, a connection that is closed, something that is no TLS', async () => {
    await expect(call(new URL('http://127.0.0.1:1'))).rejects.toMatchObject({ kind: 'unreachable', isUnsent: true });
    const url = await serve((request) => request.destroy());
    await expect(call(url)).rejects.toMatchObject({ kind: 'unreachable', isUnsent: false });
    await expect(call(new URL(`https://${url.host}`))).rejects.toMatchObject({ kind: 'unreachable' });
  });

  it('may send what is no JSON, or JSON of another kind', async () => {
    for (const body of ['<html>', '', '[]', 'null', '{"items":{"length":1e9},"cursor":null}']) {
      const api = await startFakeApi({ listSweeps: () => new RawAnswer(200, body) });
      apis.push(api);
      await expect(clientOf(api).call('listSweeps', {})).rejects.toMatchObject({ kind: 'host', exitCode: 3 });
    }
  });

  it('cannot keep a listing going for ever', async () => {
    const api = await startFakeApi({ listSweeps: () => ({ items: [], cursor: 'again' }) });
    apis.push(api);
    const client = clientOf(api, { authorizer: tokenAuthorizer(api.token) });
    await expect(allPages(client, async (query) => await client.call('listSweeps', { query }))).rejects.toThrow(
      'pages without end',
    );
    expect(api.requests).toHaveLength(2);
  });
});
