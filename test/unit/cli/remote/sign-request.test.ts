import { afterEach, describe, expect, it } from 'vitest';
import { awsAuthorizer, credentialsError, regionOfHost } from '#cli/remote/sign-request';
import { SWEEP_ID, sweepSummary } from './api-answers.ts';
import { clientOf, RawAnswer, startFakeApi, type FakeApi } from './fake-api.ts';
import { isSignedRight } from './sigv4-check.ts';

/** The example credentials of AWS's published test suite. */
const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SUITE_TIME = Date.parse('2015-08-30T12:36:00Z');
const HOUR = 3_600_000;

const open: FakeApi[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (api) => await api.close()));
});

describe('a signature', () => {
  it.each([
    ['get-vanilla', 'GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    [
      'get-vanilla-query-order-key-case',
      'GET',
      '/?Param2=value2&Param1=value1',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    ['post-vanilla', 'POST', '/', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    [
      'post-vanilla-query',
      'POST',
      '/?Param1=value1',
      '28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11',
    ],
  ] as const)("is that of AWS's published test suite: %s", async (_name, method, path, signature) => {
    const authorizer = await awsAuthorizer({
      region: 'us-east-1',
      service: 'service',
      credentials: () => Promise.resolve(KEYS),
      now: () => SUITE_TIME,
    });
    const headers = await authorizer.authorize({
      method,
      url: new URL(`https://example.amazonaws.com${path}`),
      headers: {},
    });
    expect(headers['authorization']).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    );
  });

  const serve = async (signed: { right: number; wrong: number }): Promise<FakeApi> => {
    const api = await startFakeApi(
      {
        listUnits: () => ({ items: [], cursor: null }),
        pauseSweep: () => sweepSummary(),
        startSweep: () => new RawAnswer(503, '{}'),
      },
      {
        basePath: '/prod',
        refuse: (request, body) => {
          const isRight = isSignedRight(request, body, { secretKey: KEYS.secretAccessKey });
          signed[isRight ? 'right' : 'wrong'] += 1;
          return isRight
            ? null
            : new RawAnswer(403, '{"message":"The request signature we calculated does not match"}');
        },
      },
    );
    open.push(api);
    return api;
  };

  it('is accepted by a server that computes it from what arrived: odd ids, queries, bodies, session tokens', async () => {
    const signed = { right: 0, wrong: 0 };
    const api = await serve(signed);
    const credentials = () => Promise.resolve({ ...KEYS, sessionToken: 'a/session+token==' });
    const authorizer = await awsAuthorizer({ region: 'eu-central-1', credentials, now: Date.now });
    const client = clientOf(api, { authorizer });
    await client.call('pauseSweep', { params: { sweepId: "sw a/ü'(*)%2F" } });
    await client.call('listUnits', { params: { sweepId: SWEEP_ID }, query: { taskPath: 'a b/c+d&e=f*~', limit: 3 } });
    expect(signed).toEqual({ right: 2, wrong: 0 });
    expect(api.calls[1]?.query).toMatchObject({ taskPath: 'a b/c+d&e=f*~' });
  });

  it('with another key is refused by that server, so that its check can fail', async () => {
    const signed = { right: 0, wrong: 0 };
    const api = await serve(signed);
    const credentials = () => Promise.resolve({ ...KEYS, secretAccessKey: 'another' });
    const authorizer = await awsAuthorizer({ region: 'eu-central-1', credentials, now: Date.now });
    await expect(clientOf(api, { authorizer }).call('listUnits', { params: { sweepId: SWEEP_ID } })).rejects.toThrow(
      'the secret key is wrong',
    );
    expect(signed).toEqual({ right: 0, wrong: 1 });
  });
});

describe('a clock that is wrong', () => {
  const startAt = async (serverTime: number): Promise<FakeApi> => {
    const api = await startFakeApi(
      { listSweeps: () => ({ items: [], cursor: null }) },
      {
        refuse: (request) => {
          const text = String(request.headers['x-amz-date']).replace(
            /^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/u,
            '$1-$2-$3:$4:$5',
          );
          if (Math.abs(Date.parse(text) - serverTime) < 300_000) return null;
          return new RawAnswer(403, '{"message":"Signature expired: it is now later"}', {
            date: new Date(serverTime).toUTCString(),
          });
        },
      },
    );
    open.push(api);
    return api;
  };

  it("is told, and the call is signed by the host's time", async () => {
    const api = await startAt(SUITE_TIME + HOUR);
    const warnings: string[] = [];
    const authorizer = await awsAuthorizer({
      region: 'eu-central-1',
      credentials: () => Promise.resolve(KEYS),
      now: () => SUITE_TIME,
    });
    const client = clientOf(api, { authorizer, warn: (line) => warnings.push(line) });
    expect(await client.call('listSweeps', {})).toEqual({ items: [], cursor: null });
    await client.call('listSweeps', {});
    expect(warnings).toEqual(["the clock of this computer differs from AWS's by 3600 s; signing by AWS's time"]);
    expect(api.requests).toHaveLength(3);
  });
});

describe('what stands in the way of signing', () => {
  it.each([
    ['Could not load credentials from any providers', undefined, 'no AWS credentials'],
    ['The SSO session associated with this profile has expired.', 'research', 'aws sso login --profile research'],
    ['Could not resolve credentials using profile: [resaerch]', 'resaerch', 'list-profiles'],
  ])('%s', (message, profile, says) => {
    expect(credentialsError(new Error(message), profile)).toMatchObject({ kind: 'access', exitCode: 2 });
    expect(credentialsError(new Error(message), profile).message).toContain(says);
  });

  it('knows the region of an address of API Gateway, and of no other', () => {
    expect(regionOfHost({ hostname: 'a1b2c3.execute-api.eu-central-1.amazonaws.com' })).toBe('eu-central-1');
    expect(regionOfHost({ hostname: 'exam.example.org' })).toBeNull();
    expect(regionOfHost({ hostname: 'a1b2c3.execute-api.eu-central-1.amazonaws.com.example.org' })).toBeNull();
  });
});
