import fc from 'fast-check';
import { bodyOf, weird } from './hostile-bodies.ts';

/** Name of the sweep that has run on the server. */
export const SWEEP_NAME = 'canary-sweep';

/** What a generated request may name of the server under attack, as that server prints it. */
export interface Target {
  readonly port: number;
  /** By caller; all are good ones. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly sweepId: string;
  readonly unitId: string;
  /** A body of `POST /sweeps` and one of `POST /tasks` that would do. */
  readonly bodies: readonly object[];
  /** Of the server's own files; in no answer to anybody. */
  readonly folder: string;
}

/** One connection's worth of bytes. */
export interface HostileRequest {
  /** Whose good token it carries; null for none, a forged one, or several. */
  readonly caller: string | null;
  readonly bytes: Buffer;
  /** Requests in it, as their sender counts them. */
  readonly count: number;
}

/** Half of the time as a careful client escapes it, half as it is, without what would end the line. */
const segment = fc
  .tuple(weird, fc.boolean())
  .map(([text, isEscaped]) => (isEscaped ? escaped(text) : text.replace(/[\r\n ]/gu, '_')));

function escaped(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '?'));
}

const cursors = [['sweeps', 'sweep'], ['open-attempts'], ['tasks', '', '']].map((parts) =>
  Buffer.from(JSON.stringify([1, ...parts, 'x'])).toString('base64url'),
);

const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  {
    weight: 2,
    arbitrary: fc
      .array(
        fc.tuple(
          fc.oneof(
            fc.constantFrom('limit', 'cursor', 'class', 'groupBy', 'from', 'format', 'agentId', 'attempt'),
            weird,
          ),
          fc.oneof(fc.constantFrom('1', '200', '-1', '1e9', 'NaN', '', '0x10', 'csv', ...cursors), weird),
        ),
        { minLength: 1, maxLength: 6 },
      )
      .map((pairs) => `?${pairs.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&')}`),
  },
  { weight: 1, arbitrary: segment.map((text) => `?${text}`) },
);

const pathOf = ({ sweepId, unitId }: Target): fc.Arbitrary<string> => {
  const id = fc.oneof(fc.constantFrom(sweepId, unitId, `${unitId}.1`), segment);
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('/sweeps', '/agents', '/tasks', '/costs', '/openapi.json') },
    { weight: 4, arbitrary: id.map((text) => `/sweeps/${text}`) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(id, fc.constantFrom('units', 'cancel', 'pause', 'resume'))
        .map(([text, verb]) => `/sweeps/${text}/${verb}`),
    },
    { weight: 4, arbitrary: id.map((text) => `/units/${text}`) },
    { weight: 2, arbitrary: id.map((text) => `/units/${text}/regrade`) },
    { weight: 2, arbitrary: segment.map((text) => `/${text}`) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '*',
        '',
        'http://attacker.example/sweeps',
        '//attacker.example/sweeps',
        '/../sweeps',
        '/sweeps/../../units',
      ),
    },
  );
};

interface Credential {
  readonly caller: string | null;
  readonly lines: readonly string[];
}

const credentialOf = ({ tokens }: Target): fc.Arbitrary<Credential> => {
  const callers = Object.keys(tokens);
  const of = (caller: string): string => tokens[caller] ?? '';
  return fc.oneof(
    {
      weight: 10,
      arbitrary: fc
        .constantFrom(...callers)
        .map((caller): Credential => ({ caller, lines: [`Authorization: Bearer ${of(caller)}`] })),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(fc.constantFrom(...callers), fc.string({ maxLength: 30 }), fc.nat(7))
        .map(([caller, text, way]): Credential => ({ caller: null, lines: forged(of(caller), text, way) })),
    },
  );
};

function forged(token: string, text: string, way: number): readonly string[] {
  const clean = text.replace(/[^\x20-\x7e]/gu, '?');
  const ways = [
    [],
    [`Authorization: Bearer ${clean}`],
    [`Authorization: Bearer ${token.slice(1)}`],
    [`Authorization: Bearer ${token}`, `Authorization: Bearer ${clean}`],
    [`Authorization: Basic ${Buffer.from(`admin:${token}`).toString('base64')}`],
    [`Authorization: Bearer eyJhbGciOiJub25lIn0.eyJyb2xlIjoiYWRtaW4ifQ.`],
    [`Cookie: token=${token}`, `X-Api-Key: ${token}`],
    [`X-Authorization: Bearer ${token}`, 'X-Amzn-Principal: arn:aws:iam::000000000000:user/admin'],
  ];
  return ways[way] ?? [];
}

const trick = fc.oneof(
  { weight: 6, arbitrary: fc.constant<readonly string[]>([]) },
  {
    weight: 4,
    arbitrary: fc.subarray(
      [
        'X-HTTP-Method-Override: DELETE',
        'X-Forwarded-For: 127.0.0.1',
        'X-Forwarded-Host: attacker.example',
        'X-Original-URL: /costs',
        'Origin: https://attacker.example',
        'Sec-Fetch-Site: cross-site',
        'Expect: 100-continue',
        'Expect: something-else',
        'Upgrade: websocket',
        'Connection: upgrade',
        'Connection: close',
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: identity, chunked',
        'Content-Encoding: gzip',
        'Content-Length: 7',
        'Content-Length: -1',
        'Host: attacker.example',
        '__proto__: polluted',
        'constructor: polluted',
        'Range: bytes=0-1',
        'If-None-Match: *',
        `Idempotency-Key: ${'k'.repeat(200)}`,
        'Idempotency-Key: a key with spaces',
        'Idempotency-Key: __proto__',
        `X-Long: ${'x'.repeat(70_000)}`,
        ' folded: header',
        'no colon at all',
        'Bad Name: x',
        'X-Null: \u0000',
        'X-Smuggled: 1\r\n\r\nGET /costs HTTP/1.1',
      ],
      { minLength: 1, maxLength: 4 },
    ),
  },
);

const types = fc.constantFrom(
  ...['application/json', 'application/json', 'application/json', 'application/json; charset=utf-16', 'text/plain'],
  ...['', 'multipart/form-data; boundary=x', 'application/json\u0000', 'application/x-www-form-urlencoded'],
);

const methods = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom('GET', 'POST') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'PUT',
      'DELETE',
      'PATCH',
      'OPTIONS',
      'TRACE',
      'CONNECT',
      'HEAD',
      'get',
      'PROPFIND',
      'NONSENSE',
    ),
  },
);

/** By somebody who may send such a body: nearly right, or around the limit. */
function aimedAt({ port, tokens, bodies }: Target): fc.Arbitrary<HostileRequest> {
  const large = fc
    .constantFrom(3, 4, 5)
    .map((mebibytes) => Buffer.from(`{"name":"${'x'.repeat(mebibytes * 1024 * 1024)}"}`));
  const body = fc.oneof({ weight: 8, arbitrary: bodyOf(bodies) }, { weight: 1, arbitrary: large });
  return fc
    .tuple(fc.constantFrom('admin', 'operator', 'publisher'), fc.constantFrom('/sweeps', '/tasks', '/agents'), body)
    .map(([caller, path, content]) => {
      const head = [
        `POST ${path} HTTP/1.1`,
        `Host: 127.0.0.1:${String(port)}`,
        `Authorization: Bearer ${tokens[caller] ?? ''}`,
        'Content-Type: application/json',
        `Content-Length: ${String(content.length)}`,
      ];
      return { caller, bytes: Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), content]), count: 1 };
    });
}

/** One request; its length is right unless a trick says otherwise. */
function oneOf(target: Target): fc.Arbitrary<HostileRequest> {
  return fc
    .tuple(methods, pathOf(target), query, credentialOf(target), trick, types, bodyOf(target.bodies))
    .map(([method, path, asked, { caller, lines }, tricks, type, body]) => {
      const isChunked = tricks.some((line) => line.startsWith('Transfer-Encoding'));
      const head = [
        `${method} ${path}${asked} HTTP/1.1`,
        `Host: 127.0.0.1:${String(target.port)}`,
        ...lines,
        ...(type === '' ? [] : [`Content-Type: ${type}`]),
        ...(body.length === 0 || isChunked ? [] : [`Content-Length: ${String(body.length)}`]),
        ...tricks,
      ];
      const sent = isChunked
        ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
        : body;
      return { caller, bytes: Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), sent]), count: 1 };
    });
}

/** Requests that nobody well-meaning sends, always the same ones. */
export function hostileRequests(target: Target, count: number, seed: number): readonly HostileRequest[] {
  const one = oneOf(target);
  const several = fc.array(one, { minLength: 2, maxLength: 5 }).map((parts): HostileRequest => ({
    // What one of them may not see, the other may: nothing can be said of their answers by caller.
    caller: parts.every(({ caller }) => caller === parts[0]?.caller) ? (parts[0]?.caller ?? null) : 'mixed',
    bytes: Buffer.concat(parts.map(({ bytes }) => bytes)),
    count: parts.length,
  }));
  const all = fc.oneof(
    { weight: 60, arbitrary: one },
    { weight: 5, arbitrary: several },
    { weight: 15, arbitrary: aimedAt(target) },
  );
  return fc.sample(all, { numRuns: count, seed });
}
