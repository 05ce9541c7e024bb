import * as z from 'zod';
import { API_PROBLEMS, type ApiCode } from '#core/api-status';
import { API_EXAMPLES } from '#contracts/api-examples';
import { PROBLEM_EXAMPLES } from '#contracts/api-problem-examples';
import { API_ROUTES, MAX_IDEMPOTENCY_KEY_LENGTH, type ApiRoute } from '#contracts/api-routes';
import { ProblemSchema } from '#contracts/api-schemas';

type Json = Readonly<Record<string, unknown>>;

/** The API as an OpenAPI 3.1 document, whose schemas are JSON Schema as zod itself writes it. */
export function openApiDocument(version: string): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of API_ROUTES) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Exam Hall',
      version,
      summary: 'Runs agents against tasks, and tells what came of it.',
      description:
        'One deployment is one tenant. Roles come from patterns of principal ARNs in its settings; each operation names the permission it needs. Errors are problems (RFC 9457) that list all that is wrong at once.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: SERVERS,
    security: [{ sigv4: [] }, { bearer: [] }],
    tags: TAGS,
    paths,
    components: { securitySchemes: SECURITY_SCHEMES, schemas: schemas(), responses: problemResponses() },
  };
}

const SERVERS = [
  {
    url: 'https://{apiId}.execute-api.{region}.amazonaws.com/{stage}',
    description: 'In an AWS account',
    variables: { apiId: { default: 'abcdef1234' }, region: { default: 'eu-west-1' }, stage: { default: 'v1' } },
  },
  {
    url: 'http://127.0.0.1:{port}',
    description: 'On one computer (examhall serve)',
    variables: { port: { default: '7878' } },
  },
];

const SECURITY_SCHEMES = {
  sigv4: {
    type: 'apiKey',
    name: 'Authorization',
    in: 'header',
    description: 'AWS Signature Version 4 for the service execute-api',
    'x-amazon-apigateway-authtype': 'awsSigv4',
  },
  bearer: { type: 'http', scheme: 'bearer', description: 'The token that `examhall serve` prints' },
};

const TAGS = [
  { name: 'sweeps', description: 'Experiments: start, watch, steer' },
  { name: 'units', description: 'One agent at one variant of one task' },
  { name: 'agents', description: 'Published agents' },
  { name: 'tasks', description: 'Published tasks' },
  { name: 'costs', description: 'What it cost' },
  { name: 'sandboxes', description: 'Machines that attempts run on' },
];

/** The first part of a path that is no parameter and names its thing; what is stopped are sweeps. */
function tagOf({ path }: ApiRoute): string {
  if (path === '/stop') return 'sweeps';
  return path.endsWith('/units') ? 'units' : (path.split('/')[1] ?? '');
}

function operationOf(route: ApiRoute): Json {
  const { operationId, summary, permission, body } = route;
  const example = API_EXAMPLES[operationId];
  return {
    operationId,
    summary,
    description: `Needs the permission \`${permission}\`.`,
    tags: [tagOf(route)],
    parameters: parametersOf(route),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: schemaRef(route, 'Body'), example: example?.body } },
          },
        }),
    responses: {
      [String(route.status)]: success(route),
      ...Object.fromEntries(codesOf(route).map((code) => [String(API_PROBLEMS[code].status), problemRef(code)])),
    },
  };
}

function success(route: ApiRoute): Json {
  const json = { schema: schemaRef(route, 'Answer'), example: API_EXAMPLES[route.operationId]?.answer };
  const csv = { schema: { type: 'string' }, example: 'key,attempts,known_usd\r\ncodex,3,1.5\r\n' };
  return {
    description: route.status === 202 ? 'Taken on' : 'Found',
    headers: { 'x-request-id': { description: 'Finds the request in the logs', schema: { type: 'string' } } },
    content: { 'application/json': json, ...(route.operationId === 'getCosts' ? { 'text/csv': csv } : {}) },
  };
}

/** Which problems a route can be answered with. */
function codesOf({ operationId, path, method, body }: ApiRoute): readonly ApiCode[] {
  const hasState = method === 'POST' && (path.includes('{') || path === '/sweeps');
  return [
    'InvalidRequestError',
    'UnauthenticatedError',
    'AccessDeniedError',
    'NotFoundError',
    ...(hasState ? (['StateConflictError'] as const) : []),
    'BodyTooLargeError',
    ...(body === null ? [] : (['UnsupportedMediaTypeError'] as const)),
    // Costs of too many attempts are refused too.
    ...(body === null && operationId !== 'getCosts' ? [] : (['RequestRefusedError'] as const)),
    'TooManyRequestsError',
    'InternalError',
    'StoreUnavailableError',
  ];
}

function problemRef(code: ApiCode): Json {
  return { $ref: `#/components/responses/${code.replace(/Error$/u, '')}` };
}

function problemResponses(): Json {
  const codes = Object.keys(PROBLEM_EXAMPLES).filter((code): code is ApiCode => code in API_PROBLEMS);
  return Object.fromEntries(
    codes.map((code) => {
      const { status, title } = API_PROBLEMS[code];
      const type = `urn:examhall:problem:${code}`;
      const example = {
        type,
        title,
        status,
        ...PROBLEM_EXAMPLES[code],
        instance: 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef',
        code,
      };
      const headers = HEADERS_OF_STATUS[status] ?? {};
      const content = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' }, example } };
      return [code.replace(/Error$/u, ''), { description: title, headers, content }];
    }),
  );
}

const HEADERS_OF_STATUS: Readonly<Record<number, Json>> = {
  401: { 'www-authenticate': { description: 'How to say who one is', schema: { type: 'string' } } },
  503: { 'retry-after': { description: 'Seconds', schema: { type: 'integer' } } },
};

function parametersOf(route: ApiRoute): readonly Json[] {
  const examples = API_EXAMPLES[route.operationId]?.parameters ?? {};
  const shown = (name: string): Json => (name in examples ? { example: examples[name] } : {});
  const names = [...route.path.matchAll(/\{(\w+)\}/gu)].map((match) => match[1] ?? '');
  const inPath = names.map((name) => {
    return {
      name,
      in: 'path',
      required: true,
      schema: { type: 'string', pattern: '^[A-Za-z0-9_.-]+$' },
      ...shown(name),
    };
  });
  const { properties = {} } = jsonSchema(route.query, 'input') as {
    readonly properties?: Readonly<Record<string, Json>>;
  };
  const inQuery = Object.entries(properties).map(([name, { description, ...schema }]) => {
    return {
      name,
      in: 'query',
      required: false,
      ...(description === undefined ? {} : { description }),
      schema,
      ...shown(name),
    };
  });
  if (route.isIdempotent !== true) return [...inPath, ...inQuery];
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'The same key with the same body is the same request for a day; with another body it is refused.',
    schema: { type: 'string', minLength: 1, maxLength: MAX_IDEMPOTENCY_KEY_LENGTH, pattern: '^[!-~]+$' },
    ...shown('Idempotency-Key'),
  };
  return [...inPath, ...inQuery, key];
}

const nameOf = ({ operationId }: ApiRoute, what: 'Body' | 'Answer'): string =>
  `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}${what}`;

function schemaRef(route: ApiRoute, what: 'Body' | 'Answer'): Json {
  return { $ref: `#/components/schemas/${nameOf(route, what)}` };
}

function schemas(): Json {
  const all: Record<string, Json> = { Problem: jsonSchema(ProblemSchema, 'output') };
  for (const route of API_ROUTES) {
    if (route.body !== null) all[nameOf(route, 'Body')] = jsonSchema(route.body, 'input');
    all[nameOf(route, 'Answer')] = jsonSchema(route.answer, 'output');
  }
  return all;
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    override: ({ jsonSchema: made }) => {
      // Whole numbers are bounded by JavaScript, not by us; formats say more than the patterns made from them.
      if (made.minimum === Number.MIN_SAFE_INTEGER) delete made.minimum;
      if (made.maximum === Number.MAX_SAFE_INTEGER) delete made.maximum;
      if (made.format !== undefined) delete made.pattern;
      spellOut(made);
    },
  });
  return plain;
}

/** A record whose keys are a closed list has a property for each: readers know those better than lists of names. */
function spellOut(made: z.core.JSONSchema.BaseSchema): void {
  const { propertyNames, required, additionalProperties: value } = made;
  if (typeof propertyNames !== 'object' || required === undefined || typeof value !== 'object') return;
  delete made.propertyNames;
  made.properties = Object.fromEntries(required.map((name) => [name, value]));
  made.additionalProperties = false;
}
