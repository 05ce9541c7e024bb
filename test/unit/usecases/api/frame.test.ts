import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { MAX_BODY_BYTES } from '#contracts/api-routes';
import { ProblemSchema } from '#contracts/api-schemas';
import {
  answer,
  API_POLICY,
  apiEvent,
  call,
  publishBoth,
  refusal,
  routeNamed,
  startBody,
} from '#test/builders/api-call';
import { World } from '#test/builders/world';

const world = () => new World({ policy: API_POLICY });
const start = routeNamed('startSweep');

async function refuseEvent(
  event: object,
): Promise<{ readonly status: number; readonly code: string; readonly detail: string }> {
  const { body } = await answer(world(), start, event);
  return ProblemSchema.parse(JSON.parse(body));
}

describe('a body', () => {
  it.each([
    ['none', undefined, 400],
    ['that is not JSON', '{"name":', 400],
    ['with a byte order mark', '\ufeff{}', 400],
    ['of another kind', '[]', 400],
    ['with a prototype key', '{"__proto__":{"admin":true}}', 400],
    ['with a prototype key deep inside', '{"agents":[{"agentId":"a","config":{"x":{"__proto__":1}}}]}', 400],
    ['nested too deep', `{"x":${'['.repeat(40_000)}${']'.repeat(40_000)}}`, 400],
    ['with half a character', '{"name":"\\ud800"}', 400],
    ['with a line feed in a name', JSON.stringify(startBody({ name: 'a\nb' })), 400],
    ['with an unknown key', JSON.stringify(startBody({ autoResume: true })), 400],
    ['over the limit', `{"x":"${'x'.repeat(MAX_BODY_BYTES)}"}`, 413],
  ])('%s is refused', async (_name, body, status) => {
    const event = apiEvent(start, body === undefined ? {} : { body });
    expect((await refuseEvent(event)).status).toBe(status);
  });

  it('of an unknown key is refused by its name, with every other problem', async () => {
    const body = startBody({ colour: 1, trials: 0 }, { concurrency: 0 });
    const problem = await refusal(world(), 'startSweep', { body });
    expect(problem.code).toBe('InvalidRequestError');
    expect(problem.problems.map(({ path }) => path).sort()).toEqual(['body', 'body.limits.concurrency', 'body.trials']);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/json; charset=latin1', 415],
    ['', 415],
    ['application/json; charset=utf-8', 422],
    ['APPLICATION/JSON', 422],
  ])('of content type "%s" is answered %s', async (type, status) => {
    const event = apiEvent(start, { body: startBody(), headers: { 'Content-Type': type } });
    const headers = { 'Content-Type': type };
    expect((await refuseEvent({ ...event, headers })).status).toBe(status);
  });

  it('in base64 must be what it says, in UTF-8 and not over the limit', async () => {
    const encoded = (bytes: Uint8Array | string) => ({
      ...apiEvent(start, { body: Buffer.from(bytes).toString('base64') }),
      isBase64Encoded: true,
    });
    expect((await refuseEvent(encoded(JSON.stringify(startBody())))).status).toBe(422);
    expect((await refuseEvent(encoded(Uint8Array.from([0x7b, 0xff, 0x7d])))).detail).toContain('UTF-8');
    expect((await refuseEvent(encoded(Buffer.alloc(MAX_BODY_BYTES + 9, 'x')))).status).toBe(413);
    expect((await refuseEvent({ ...apiEvent(start, { body: '!!' }), isBase64Encoded: true })).status).toBe(400);
  });

  it('is not taken where a route has none', async () => {
    const problem = await refusal(world(), 'cancelSweep', { id: 'sw-1', body: { now: true } });
    expect(problem.status).toBe(400);
    expect((await refusal(world(), 'cancelSweep', { id: 'sw-1', body: {} })).status).toBe(404);
  });
});

describe('headers and query', () => {
  it('a header that comes twice is refused, in whatever letters', async () => {
    const event = apiEvent(start, { body: startBody() });
    const twice = { ...event, headers: { ...event.headers, 'idempotency-key': 'a', 'Idempotency-Key': 'b' } };
    expect((await refuseEvent(twice)).status).toBe(400);
    const many = { 'content-type': ['application/json', 'text/plain'] };
    expect((await refuseEvent({ ...event, multiValueHeaders: many })).status).toBe(415);
  });

  it.each(['', 'ä', 'a b', 'x'.repeat(129)])('an idempotency key "%s" is none', async (key) => {
    const problem = await refusal(world(), 'startSweep', { body: startBody(), headers: { 'Idempotency-Key': key } });
    expect(problem.status).toBe(400);
  });

  it.each([
    [{ limit: '0' }, 'query.limit'],
    [{ limit: '201' }, 'query.limit'],
    [{ limit: 'ten' }, 'query.limit'],
    [{ colour: 'red' }, 'query'],
    [{ cursor: 'x' }, null],
    [{ __proto__x: '1' }, 'query'],
  ])('the query %o is refused', async (query, path) => {
    const problem = await refusal(world(), 'listSweeps', { query });
    expect(problem.status).toBe(400);
    if (path !== null) expect(problem.problems.map((each) => each.path)).toEqual([path]);
  });

  it('a parameter that comes twice is refused', async () => {
    const route = routeNamed('listSweeps');
    const event = { ...apiEvent(route), multiValueQueryStringParameters: { limit: ['1', '2'] } };
    const problem = ProblemSchema.parse(JSON.parse((await answer(world(), route, event)).body));
    expect(problem.problems).toEqual([
      { path: 'query.limit', message: 'is given more than once, or without a value; give it once' },
    ]);
  });
});

describe('a call', () => {
  it.each([
    [{}, 400],
    [null, 400],
    ['text', 400],
    [{ ...apiEvent(start), resource: '/nowhere' }, 404],
    [{ ...apiEvent(start), httpMethod: 'DELETE' }, 404],
    [{ ...apiEvent(start), requestContext: {} }, 403],
    [{ ...apiEvent(start), requestContext: { identity: null } }, 403],
  ])('%# that is none, or nobody’s, is answered with a problem', async (event, status) => {
    const { statusCode, body } = await answer(world(), start, event);
    expect(statusCode).toBe(status);
    expect(ProblemSchema.parse(JSON.parse(body)).status).toBe(status);
  });

  it('of another function’s route is not answered', async () => {
    const event = apiEvent(routeNamed('listSweeps'));
    expect((await answer(world(), start, event)).statusCode).toBe(404);
  });

  it.each(['../x', 'a/b', 'a b', '', 'x'.repeat(65), 'sweep#1'])('of the id "%s" finds nothing', async (id) => {
    expect(await refusal(world(), 'getSweep', { id })).toMatchObject({ status: 404, code: 'NotFoundError' });
  });

  it('carries its request id through', async () => {
    const { headers } = await answer(world(), start, apiEvent(start));
    expect(headers).toMatchObject({ 'x-request-id': 'request-1', 'cache-control': 'no-store' });
  });
});

describe('trouble of ours', () => {
  it('that passes is a 503 with a time to try again, and says nothing of its inside', async () => {
    const here = world();
    await publishBoth(here);
    here.store.failNext(1, new ExamHallError('StoreUnavailableError', 'table exam-hall-prod is throttled'));
    const route = routeNamed('listSweeps');
    const { statusCode, headers, body } = await answer(here, route, apiEvent(route));
    expect(statusCode).toBe(503);
    expect(headers['retry-after']).toBe('5');
    expect(body).not.toContain('exam-hall-prod');
  });

  it('that nobody knows is a 500 without a trace, and stands in the log under the request’s id', async () => {
    const here = world();
    here.store.failNext(1, new TypeError('secret of /var/task/index.mjs'));
    const route = routeNamed('listSweeps');
    const { statusCode, body } = await answer(here, route, apiEvent(route));
    expect(statusCode).toBe(500);
    expect(body).not.toMatch(/secret|index\.mjs|TypeError| at /u);
    expect(here.log.lines).toContainEqual(
      expect.objectContaining({
        event: 'api.failed',
        fields: expect.objectContaining({ requestId: 'request-1', errorName: 'TypeError' }) as unknown,
      }),
    );
  });

  it('does not keep an answer from the next call', async () => {
    const here = world();
    here.store.failNext(1, new TypeError('once'));
    await refusal(here, 'listSweeps');
    expect(await call(here, 'listSweeps')).toEqual({ items: [], cursor: null });
  });
});
