import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ApiEventSchema, type ApiEvent } from '#contracts/api-event';
import { MAX_BODY_BYTES } from '#contracts/api-routes';
import { ProblemSchema } from '#contracts/api-schemas';
import { startApiServer, type ApiServer } from '#local/api-server';
import { rawExchange, type RawAnswer } from '#test/builders/raw-http';

const TOKEN = 'the-token-of-this-test';
const OTHER = 'the-token-of-another';
const ADMIN = 'arn:aws:iam::000000000000:user/admin';

let server: ApiServer;
let calls: { name: string; event: ApiEvent }[];
let answer: (event: ApiEvent) => Promise<unknown>;
let faults: unknown[];

beforeEach(async () => {
  calls = [];
  faults = [];
  answer = async () =>
    await Promise.resolve({ statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{"ok":true}' });
  server = await startApiServer({
    invoke: async (name, event) => {
      const parsed = ApiEventSchema.parse(event);
      calls.push({ name, event: parsed });
      return await answer(parsed);
    },
    tokens: [
      { token: OTHER, principalArn: 'arn:aws:iam::000000000000:user/other' },
      { token: TOKEN, principalArn: ADMIN },
    ],
    openApi: '{"openapi":"3.1.0"}',
    onFault: (_, error) => faults.push(error),
    timeouts: { headers: 400, request: 800, checking: 50 },
  });
});
afterEach(async () => {
  await server.close();
});

const auth = `Authorization: Bearer ${TOKEN}\r\n`;
const head = (line: string, headers: string): string =>
  `${line} HTTP/1.1\r\nHost: 127.0.0.1:${String(server.port)}\r\n${headers}\r\n`;
const exchange = async (...parts: readonly (string | Uint8Array)[]) => await rawExchange(server.port, parts);
async function only(...parts: readonly (string | Uint8Array)[]): Promise<RawAnswer> {
  const { answers, text } = await exchange(...parts);
  const [first] = answers;
  if (first === undefined) throw new Error(`no answer came, but ${JSON.stringify(text.slice(0, 200))}`);
  return first;
}
const problemOf = ({ body, headers }: RawAnswer) => {
  expect(headers.get('content-type')).toBe('application/problem+json');
  return ProblemSchema.parse(JSON.parse(body));
};

describe('who may call the API server', () => {
  it('is whoever holds a token, and is known by it', async () => {
    const got = await only(head('GET /sweeps?limit=2&limit=3', auth));
    expect(got).toMatchObject({ status: 200, body: '{"ok":true}' });
    expect(calls).toMatchObject([
      {
        name: 'answer-queries',
        event: {
          httpMethod: 'GET',
          resource: '/sweeps',
          pathParameters: {},
          multiValueQueryStringParameters: { limit: ['2', '3'] },
          body: null,
          requestContext: { identity: { userArn: ADMIN } },
        },
      },
    ]);
    expect(JSON.stringify(calls)).not.toContain(TOKEN);
  });

  it.each([
    ['no token', ''],
    ['a wrong token', 'Authorization: Bearer nonsense\r\n'],
    ['the beginning of the token', `Authorization: Bearer ${TOKEN.slice(0, -1)}\r\n`],
    ['more than the token', `Authorization: Bearer ${TOKEN}x\r\n`],
    ['an empty token', 'Authorization: Bearer \r\n'],
    ['another scheme', `Authorization: Basic ${TOKEN}\r\n`],
    ['the token twice', `${auth}${auth}`],
    ['a list of tokens', `Authorization: Bearer ${TOKEN}, Bearer ${TOKEN}\r\n`],
    ['a token in the query', 'X-Token: 1\r\n'],
  ])('is not who sends %s', async (what, headers) => {
    const target = what.endsWith('query') ? `/sweeps?token=${TOKEN}` : '/sweeps';
    const got = await only(head(`GET ${target}`, headers));
    expect(got.status).toBe(401);
    expect(got.headers.get('www-authenticate')).toMatch(/^Bearer/u);
    expect(problemOf(got)).toMatchObject({ status: 401, code: 'UnauthenticatedError' });
    expect(calls).toEqual([]);
  });

  it.each([
    ['another name', 'attacker.example'],
    ['another port', '127.0.0.1:1'],
    ['no port', '127.0.0.1'],
    ['a name that begins as ours does', '127.0.0.1.attacker.example'],
  ])('is not a page whose host is %s', async (_, host) => {
    const got = await only(`GET /sweeps HTTP/1.1\r\nHost: ${host}\r\n${auth}\r\n`);
    expect(problemOf(got)).toMatchObject({ status: 421, code: 'MisdirectedRequestError' });
    expect(calls).toEqual([]);
  });

  it.each([
    'Origin: https://attacker.example',
    'Origin: null',
    'Sec-Fetch-Site: cross-site',
    'Sec-Fetch-Site: same-site',
  ])('is not a page of another origin (%s)', async (header) => {
    const got = await only(head('GET /sweeps', `${auth}${header}\r\n`));
    expect(problemOf(got)).toMatchObject({ status: 403, code: 'CrossSiteError' });
    const preflight = await only(head('OPTIONS /sweeps', `${header}\r\n`));
    expect(preflight.status).toBe(403);
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    expect(calls).toEqual([]);
  });

  it('takes requests to localhost, and of its own origin', async () => {
    const own = `Host: localhost:${String(server.port)}\r\nOrigin: http://localhost:${String(server.port)}\r\n`;
    expect((await only(`GET /sweeps HTTP/1.1\r\n${own}${auth}\r\n`)).status).toBe(200);
  });

  it('gives everybody here the API’s description, and nothing else', async () => {
    expect(await only(head('GET /openapi.json', ''))).toMatchObject({ status: 200, body: '{"openapi":"3.1.0"}' });
    expect((await only(head('POST /openapi.json', ''))).status).toBe(405);
  });
});

describe('what the API server hands on', () => {
  it('is routes that there are, with the methods they have', async () => {
    expect(problemOf(await only(head('GET /nowhere', auth)))).toMatchObject({ status: 404 });
    expect(problemOf(await only(head('GET /sweeps/', auth)))).toMatchObject({ status: 404 });
    const wrong = await only(head('DELETE /sweeps', auth));
    expect(wrong.headers.get('allow')).toBe('GET, POST');
    expect(problemOf(wrong)).toMatchObject({ status: 405 });
    const { answers } = await rawExchange(server.port, [head('HEAD /sweeps', auth)], { isHead: true });
    expect(answers).toMatchObject([{ status: 405, body: '' }]);
    expect(calls).toEqual([]);
  });

  it('is the path’s parameters, decoded, and no path that a parser would rewrite', async () => {
    await only(head('GET /units/a%2Fb%20c', auth));
    expect(calls[0]?.event.pathParameters).toEqual({ unitId: 'a/b c' });
    for (const target of [
      '/units/../sweeps',
      '/units/%2e%2e/sweeps',
      '//attacker.example/sweeps',
      'http://attacker.example/sweeps',
      '/units\\x',
      '/units/%ff',
      '*',
    ])
      expect((await only(head(`GET ${target}`, auth))).status, target).toBe(400);
    expect(calls).toHaveLength(1);
  });

  it('is the body as it came', async () => {
    const body = '{"name":"é"}';
    const length = `Content-Length: ${String(Buffer.byteLength(body))}\r\n`;
    await only(head('POST /sweeps', `${auth}Content-Type: application/json\r\n${length}`), body);
    expect(calls[0]).toMatchObject({ name: 'accept-commands', event: { body, isBase64Encoded: false } });
    await only(head('POST /sweeps', `${auth}Content-Length: 2\r\n`), Uint8Array.of(0xff, 0xfe));
    expect(calls[1]?.event).toMatchObject({ body: '//4=', isBase64Encoded: true });
    const gzipped = await only(head('POST /sweeps', `${auth}Content-Encoding: gzip\r\nContent-Length: 1\r\n`), 'x');
    expect(gzipped.status).toBe(415);
  });

  it('is no body that is too large, and most of it is not even taken', async () => {
    const announced = head('POST /sweeps', `${auth}Content-Length: ${String(MAX_BODY_BYTES + 1)}\r\n`);
    expect(problemOf(await only(announced))).toMatchObject({ status: 413, code: 'BodyTooLargeError' });
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const chunks = Array.from({ length: MAX_BODY_BYTES / 0x10000 + 2 }, () => chunk);
    const endless = await only(head('POST /sweeps', `${auth}Transfer-Encoding: chunked\r\n`), ...chunks);
    expect(endless.status).toBe(413);
    const { text } = await exchange(
      head('POST /sweeps', `${auth}Expect: 100-continue\r\nContent-Length: ${String(MAX_BODY_BYTES + 1)}\r\n`),
    );
    expect(text).toMatch(/^HTTP\/1\.1 413/u);
    expect(calls).toEqual([]);
  });

  it('is asked for when the sender waits to be told', async () => {
    const asked = head('POST /sweeps', `${auth}Expect: 100-continue\r\nContent-Length: 2\r\n`);
    const { text } = await exchange(asked, '{}');
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200/u);
    const other = await only(head('GET /sweeps', `${auth}Expect: a-miracle\r\n`));
    expect(problemOf(other)).toMatchObject({ status: 417 });
  });
});

describe('an API server under bad conditions', () => {
  it('tells nothing of a fault but its request’s id, and goes on', async () => {
    answer = async () => await Promise.reject(new Error('the secret inside'));
    const got = await only(head('GET /sweeps', auth));
    expect(problemOf(got)).toMatchObject({ status: 500, code: 'InternalError' });
    expect(got.body).not.toContain('secret');
    expect(faults).toHaveLength(1);
    answer = async () => await Promise.resolve({ nonsense: true });
    expect((await only(head('GET /sweeps', auth))).status).toBe(500);
    answer = async () =>
      await Promise.reject(Object.assign(new Error('6 MB'), { name: 'Lambda.RequestTooLargeException' }));
    expect((await only(head('GET /sweeps', auth))).status).toBe(413);
  });

  it('answers requests that came in one go one after the other', async () => {
    const { answers } = await rawExchange(server.port, [head('GET /sweeps', auth).repeat(3)], { answers: 3 });
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  it('answers what is no HTTP, and headers without end', async () => {
    expect(problemOf(await only('\u0000\u0001nonsense\r\n\r\n'))).toMatchObject({ status: 400 });
    expect(problemOf(await only(`GET /sweeps HTTP/1.1\r\n${auth}\r\n`))).toMatchObject({ status: 400 });
    expect(problemOf(await only(head('GET /sweeps', `X-Long: ${'x'.repeat(70_000)}\r\n`)))).toMatchObject({
      status: 431,
    });
  });

  it('gives up on who sends too slowly', async () => {
    const headers = await only(`GET /sweeps HTTP/1.1\r\nHost: 127.0.0.1:${String(server.port)}\r\n`);
    expect(headers.status).toBe(408);
    const body = await only(head('POST /sweeps', `${auth}Content-Length: 10\r\n`), 'x');
    expect(body.status).toBe(408);
    expect(calls).toEqual([]);
  });

  it('answers what is under way before it closes, and then takes nothing', async () => {
    let finish: () => void = () => undefined;
    const began = new Promise<void>((begun) => {
      answer = async () => {
        begun();
        await new Promise<void>((resolve) => (finish = resolve));
        return { statusCode: 200, headers: {}, body: 'late' };
      };
    });
    const pending = only(head('GET /sweeps', auth));
    await began;
    const closed = server.close();
    finish();
    expect(await pending).toMatchObject({ status: 200, body: 'late' });
    await closed;
    const refused = await new Promise<string>((resolve) => {
      connect({ port: server.port, host: '127.0.0.1' }).once('error', (error: NodeJS.ErrnoException) =>
        resolve(error.code ?? ''),
      );
    });
    expect(refused).toBe('ECONNREFUSED');
  });
});
