import { beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { ApiEventSchema } from '#contracts/api-event';
import { API_ROUTES } from '#contracts/api-routes';
import { ProblemSchema } from '#contracts/api-schemas';
import { planSweep } from '#usecases/plan-sweep';
import { answer, API_POLICY, apiEvent, arnOf, call, publishBoth, startBody } from '#test/builders/api-call';
import { World } from '#test/builders/world';

/** Amounts that only finance and admin may see. */
const SECRET_USD = 777123.25;
const world = new World({ policy: API_POLICY });
let sweepId = '';
let unitId = '';

beforeAll(async () => {
  await publishBoth(world);
  const started = await call(world, 'startSweep', { body: startBody({}, { budgetUsd: SECRET_USD }) });
  sweepId = String(started['sweepId']);
  await planSweep({ sweepId, run: 1 }, world.ports);
  unitId = (await world.planItems(sweepId, 1))[0]?.unitId ?? '';
});

const nasty = fc.constantFrom(
  ...[
    '',
    '..',
    '../../etc/passwd',
    '%2e%2e%2f',
    '__proto__',
    'constructor',
    '\ud800',
    '\u0000',
    '\u202e',
    '🙂',
    "' OR 1=1 --",
  ],
  ...[
    '{"$gt":""}',
    '${jndi:ldap://x}',
    '<script>',
    '-1',
    '1e309',
    'NaN',
    '9'.repeat(400),
    'a'.repeat(5000),
    'null',
    '[]',
  ],
);
const text = fc.oneof(
  { weight: 3, arbitrary: nasty },
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.string({ maxLength: 20 }),
);
const dictionary = fc.dictionary(text, text, { maxKeys: 4 });
const lists = fc.dictionary(text, fc.array(text, { maxLength: 3 }), { maxKeys: 4 });
const tree = fc.jsonValue({ maxDepth: 6 });

/** A good start with one part of it replaced. */
const spoiled = fc
  .tuple(
    fc.constantFrom(...Object.keys(startBody()), 'trials', 'dryRun', 'promptSuffix', '__proto__'),
    fc.oneof(tree, text),
  )
  .map(([key, value]) =>
    JSON.stringify(startBody()).replace(/\}$/u, `,${JSON.stringify(key)}:${JSON.stringify(value)}}`),
  );
const deep = fc.nat({ max: 20_000 }).map((depth) => `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`);
const body = fc.oneof(
  fc.constant(null),
  text,
  tree.map((value) => JSON.stringify(value)),
  spoiled,
  deep,
);
const principal = fc.oneof(
  fc.constantFrom('viewer', 'finance', 'operator', 'publisher', 'admin', 'nobody').map((role) => arnOf(role)),
  text,
);

const nearlyRight = fc
  .record({
    route: fc.constantFrom(...API_ROUTES),
    id: text,
    isKnown: fc.boolean(),
    body,
    headers: dictionary,
    query: lists,
    principal,
  })
  .map(({ route, id, isKnown, headers, query, ...given }) => {
    const known = route.path.includes('unitId') ? () => unitId : () => sweepId;
    const event = apiEvent(route, { id: isKnown ? known() : id });
    return {
      ...event,
      body: given.body,
      headers: { 'Content-Type': 'application/json', ...headers },
      multiValueQueryStringParameters: query,
      requestContext: { requestId: id, identity: { userArn: given.principal } },
    };
  });

const anything = fc.oneof(
  fc.anything(),
  fc.record({
    httpMethod: text,
    resource: fc.oneof(fc.constantFrom(...API_ROUTES.map(({ path }) => path)), text),
    pathParameters: fc.option(dictionary),
    multiValueQueryStringParameters: fc.option(lists),
    headers: fc.option(dictionary),
    multiValueHeaders: fc.option(lists),
    body: fc.option(
      fc.oneof(
        text,
        tree.map((value) => JSON.stringify(value)),
      ),
    ),
    isBase64Encoded: fc.boolean(),
    requestContext: fc.oneof(
      fc.record({ requestId: text, identity: fc.record({ userArn: principal }) }),
      fc.anything(),
    ),
  }),
);

describe('hostile calls', () => {
  it('2,000 of them are each answered below 500, with a problem that tells nothing of the inside', async () => {
    const event = fc.oneof({ weight: 4, arbitrary: nearlyRight }, { weight: 1, arbitrary: anything });
    const seen = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(
        event,
        fc.constantFrom('answer-queries' as const, 'accept-commands' as const),
        async (given, name) => {
          const routed = API_ROUTES.find((route) => isRouted(given, route));
          const {
            statusCode,
            headers,
            body: answered,
          } = await answer(world, { function: routed?.function ?? name }, given);
          seen.set(statusCode, (seen.get(statusCode) ?? 0) + 1);
          expect(statusCode).toBeGreaterThanOrEqual(200);
          expect(statusCode).toBeLessThan(500);
          expect(answered).not.toMatch(/\n\s+at |node:internal|\.ts:\d/u);
          if (headers['content-type'] !== 'text/csv; charset=utf-8') JSON.parse(answered);
          if (statusCode >= 400) expect(ProblemSchema.parse(JSON.parse(answered)).status).toBe(statusCode);
          else if (routed !== undefined && headers['content-type'] === 'application/json') {
            expect(routed.answer.safeParse(JSON.parse(answered)).error).toBeUndefined();
          }
          if (isBlind(given)) expect(answered).not.toContain(String(SECRET_USD));
        },
      ),
      { numRuns: 2000 },
    );
    expect([...seen.keys()].sort()).toEqual(expect.arrayContaining([200, 400, 403, 404]));
    expect(world.log.lines.filter(({ event: name }) => name === 'api.failed')).toEqual([]);
  }, 180_000);
});

function isRouted(event: unknown, { path, method }: (typeof API_ROUTES)[number]): boolean {
  if (typeof event !== 'object' || event === null) return false;
  return Reflect.get(event, 'resource') === path && Reflect.get(event, 'httpMethod') === method;
}

/** Callers who see no amount at all. */
function isBlind(event: unknown): boolean {
  const parsed = ApiEventSchema.safeParse(event);
  const { userArn } = parsed.data?.requestContext.identity ?? {};
  return !(['finance', 'operator', 'admin'] as const).some((role) => arnOf(role) === userArn);
}
