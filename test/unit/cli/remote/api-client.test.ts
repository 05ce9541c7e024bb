import { afterEach, describe, expect, it } from 'vitest';
import type { ApiClientOptions } from '#cli/remote/api-client';
import { tokenAuthorizer } from '#cli/remote/authorizers';
import { RemoteError } from '#cli/remote/remote-error';
import { SWEEP_ID, sweepDetail, sweepSummary, UNIT_ID } from './api-answers.ts';
import { clientOf, problem, RawAnswer, startFakeApi, type FakeApi, type FakeHandlers } from './fake-api.ts';

const open: FakeApi[] = [];

async function fake(handlers: FakeHandlers, options?: Parameters<typeof startFakeApi>[1]): Promise<FakeApi> {
  const api = await startFakeApi(handlers, options);
  open.push(api);
  return api;
}

async function errorOf(work: Promise<unknown>): Promise<RemoteError> {
  const error: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (error instanceof RemoteError) return error;
  throw new Error(`expected a RemoteError, got ${String(error)}`);
}

afterEach(async () => {
  await Promise.all(open.splice(0).map(async (api) => await api.close()));
});

describe('a call', () => {
  it('goes to the route with its parameters, query and token, and gives the parsed answer', async () => {
    const api = await fake({ listUnits: () => ({ items: [], cursor: null }) }, { basePath: '/prod' });
    const answer = await clientOf(api).call('listUnits', {
      params: { sweepId: 'a b/c' },
      query: { limit: 7, taskPath: 'x/y*z' },
    });
    expect(answer).toEqual({ items: [], cursor: null });
    expect(api.calls).toMatchObject([{ params: { sweepId: 'a b/c' }, query: { limit: 7, taskPath: 'x/y*z' } }]);
    expect(api.requests).toEqual(['GET /prod/sweeps/a%20b%2Fc/units?limit=7&taskPath=x%2Fy%2Az']);
  });

  it.each(['', '.', '..'])('refuses %j as an id before anything is sent', async (sweepId) => {
    const api = await fake({});
    expect(await errorOf(clientOf(api).call('getSweep', { params: { sweepId } }))).toMatchObject({
      kind: 'request',
      exitCode: 2,
    });
    expect(api.requests).toEqual([]);
  });

  it('refuses an answer that is not what the route answers, and names the place', async () => {
    const wrong = { ...sweepDetail(), status: 'melted' };
    const api = await fake({ getSweep: () => new RawAnswer(200, JSON.stringify(wrong)) });
    const error = await errorOf(clientOf(api).call('getSweep', { params: { sweepId: SWEEP_ID } }));
    expect(error).toMatchObject({ kind: 'host', exitCode: 3 });
    expect(error.message).toContain('status');
    expect(error.message).toContain('another version');
  });
});

describe('a refusal', () => {
  it('is told with every line of its problems, and without escapes', async () => {
    const lines = [
      { path: 'tasks[0].path', message: 'unknown task "a/b"' },
      { path: 'limits.budgetUsd', message: 'is 0\u001b[2J; more is allowed' },
    ];
    const api = await fake({ cancelSweep: () => problem(422, 'RequestRefusedError', 'two things are wrong', lines) });
    const error = await errorOf(clientOf(api).call('cancelSweep', { params: { sweepId: SWEEP_ID } }));
    expect(error).toMatchObject({
      kind: 'request',
      status: 422,
      code: 'RequestRefusedError',
      exitCode: 2,
      problem: { problems: lines },
    });
    expect(error.message.split('\n').slice(1)).toEqual([
      '  tasks[0].path: unknown task "a/b"',
      '  limits.budgetUsd: is 0\ufffd[2J; more is allowed',
    ]);
    expect(api.calls).toHaveLength(1);
  });

  it('for want of a role names the roles that could', async () => {
    const api = await fake({ pauseSweep: () => problem(403, 'AccessDeniedError') });
    const error = await errorOf(clientOf(api).call('pauseSweep', { params: { sweepId: SWEEP_ID } }));
    expect(error).toMatchObject({ kind: 'access', exitCode: 2 });
    expect(error.message).toContain('roles operator, admin');
  });

  it('for a wrong token says where a token comes from', async () => {
    const api = await fake({});
    const error = await errorOf(clientOf(api, { authorizer: tokenAuthorizer('wrong') }).call('listSweeps', {}));
    expect(error).toMatchObject({ kind: 'access', status: 401 });
    expect(error.message).toContain('--token-file');
  });
});

interface GatewaySays {
  readonly status: number;
  readonly type: string;
  readonly message: string;
  readonly kind: string;
  readonly says: string;
}
const refused = (type: string, message: string, says: string): GatewaySays => ({
  status: 403,
  type,
  message,
  kind: 'access',
  says,
});

const gateway: readonly GatewaySays[] = [
  refused('ExpiredTokenException', 'The security token included in the request is expired', 'have expired'),
  refused(
    'UnrecognizedClientException',
    'The security token included in the request is invalid.',
    'does not know these',
  ),
  refused(
    'InvalidSignatureException',
    "Credential should be scoped to a valid region, not 'eu-west-1'.",
    'give --region',
  ),
  refused('InvalidSignatureException', 'The request signature we calculated does not match', 'the secret key is wrong'),
  refused(
    'AccessDeniedException',
    'User: arn:aws:iam::1:user/a is not authorized to perform: execute-api:Invoke',
    'roles viewer, finance',
  ),
  refused('MissingAuthenticationTokenException', 'Missing Authentication Token', 'stage path'),
  { status: 413, type: '', message: 'Request Too Long', kind: 'request', says: 'too large' },
  { status: 404, type: '', message: 'Not Found', kind: 'request', says: 'is this the address of the API' },
];

describe('what the gateway says by itself', () => {
  it.each(gateway)('$status $type $message', async ({ status, type, message, kind, says }) => {
    const headers = type === '' ? {} : { 'x-amzn-errortype': `${type}:http://internal.amazon.com/` };
    const api = await fake({ listSweeps: () => new RawAnswer(status, JSON.stringify({ message }), headers) });
    const error = await errorOf(clientOf(api).call('listSweeps', {}));
    expect(error.kind).toBe(kind);
    expect(error.message).toContain(says);
    expect(api.calls).toHaveLength(1);
  });
});

describe('trying again', () => {
  const once = (first: RawAnswer): FakeHandlers => {
    let asked = 0;
    return { pauseSweep: () => ((asked += 1) === 1 ? first : sweepSummary()), regradeUnit: () => first };
  };

  it('waits as long as the host asks, and goes on', async () => {
    const waits: number[] = [];
    const delay: ApiClientOptions['delay'] = (milliseconds) => Promise.resolve(waits.push(milliseconds));
    const api = await fake(once(new RawAnswer(429, '{"message":"Too Many Requests"}', { 'retry-after': '7' })));
    expect(await clientOf(api, { delay }).call('pauseSweep', { params: { sweepId: SWEEP_ID } })).toEqual(
      sweepSummary(),
    );
    expect(waits).toEqual([7000]);
  });

  it('waits longer each time, within bounds, and gives up with the reason', async () => {
    const waits: number[] = [];
    const delay: ApiClientOptions['delay'] = (milliseconds) => Promise.resolve(waits.push(milliseconds));
    const api = await fake({ listSweeps: () => new RawAnswer(503, '{"message":"Service Unavailable"}') });
    const error = await errorOf(clientOf(api, { delay }).call('listSweeps', {}));
    expect(error).toMatchObject({ kind: 'host', status: 503, exitCode: 3 });
    expect(waits).toEqual([250, 500, 1000, 2000]);
  });

  it('never regrades twice for one answer that did not come', async () => {
    const api = await fake(once(new RawAnswer(504, '{"message":"Endpoint request timed out"}')));
    expect(await errorOf(clientOf(api).call('regradeUnit', { params: { unitId: UNIT_ID } }))).toMatchObject({
      status: 504,
    });
    expect(api.calls).toHaveLength(1);
  });

  it('does not follow a redirect, wherever it leads', async () => {
    const api = await fake({ listSweeps: () => new RawAnswer(302, '', { location: '/sweeps' }) });
    const error = await errorOf(clientOf(api).call('listSweeps', {}));
    expect(error).toMatchObject({ kind: 'host', status: 302 });
    expect(api.requests).toHaveLength(1);
  });
});
