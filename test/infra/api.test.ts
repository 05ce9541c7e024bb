import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { API_ROUTES, type ApiRoute } from '#contracts/api-routes';
import { ProblemSchema } from '#contracts/api-schemas';
import {
  DEPLOYMENT_OUTPUTS_MAX_BYTES,
  DeploymentOutputsSchema,
  deploymentParameterName,
} from '#contracts/deployment-outputs';
import { apiProblemOf } from '#core/api-status';
import { stageSettings } from '#test/builders/stage-settings';
import { gatewaySchema, queryNames } from '../../infra/constructs/gateway-schema.ts';
import { Deployment } from './deployment.ts';
import { appForTests } from './synth.ts';

const settings = stageSettings();
const deployment = new Deployment(appForTests(settings));

const MethodSchema = z.object({
  HttpMethod: z.string(),
  OperationName: z.string(),
  AuthorizationType: z.string(),
  RequestValidatorId: z.string(),
  RequestParameters: z.record(z.string(), z.boolean()).default({}),
  RequestModels: z.record(z.string(), z.string()).default({}),
  Integration: z.object({ Type: z.string(), Uri: z.string(), TimeoutInMillis: z.number() }),
});
const methods = deployment
  .ofType('AWS::ApiGateway::Method')
  .map(({ properties }) => ({ ...MethodSchema.parse(properties), resource: String(properties['ResourceId']) }));

/** Path of each resource, from its parents. */
const parts = new Map(
  deployment
    .ofType('AWS::ApiGateway::Resource')
    .map(({ id, properties }) => [
      `${id}.Ref`,
      { part: String(properties['PathPart']), parent: String(properties['ParentId']) },
    ]),
);
const pathOf = (resource: string): string => {
  const found = parts.get(resource);
  return found === undefined ? '' : `${pathOf(found.parent)}/${found.part}`;
};
const methodOf = ({ method, path }: ApiRoute) => {
  const found = methods.filter((each) => each.HttpMethod === method && pathOf(each.resource) === path);
  if (found.length !== 1) throw new Error(`${String(found.length)} methods are ${method} ${path}`);
  return found[0];
};

describe('the routes of the gateway', () => {
  it('are those of the table, and no other', () => {
    expect(API_ROUTES.length).toBeGreaterThan(10);
    expect(methods.map(({ HttpMethod, resource }) => `${HttpMethod} ${pathOf(resource)}`).toSorted()).toEqual(
      API_ROUTES.map(({ method, path }) => `${method} ${path}`).toSorted(),
    );
  });

  it.each(API_ROUTES)('$method $path asks for a signature, checks its request and calls its function', (route) => {
    const method = methodOf(route);
    expect(method?.AuthorizationType).toBe('AWS_IAM');
    expect(method?.RequestValidatorId).not.toBe('');
    expect(method?.OperationName).toBe(route.operationId);
    expect(method?.Integration).toMatchObject({ Type: 'AWS_PROXY', TimeoutInMillis: 29_000 });
    expect(method?.Integration.Uri).toContain(`:function:${route.function}:live/invocations`);
  });

  it.each(API_ROUTES)('$method $path knows its parameters; those of the path are required', (route) => {
    const wanted = {
      ...Object.fromEntries(
        [...route.path.matchAll(/\{(\w+)\}/gu)].map(([, name]) => [`method.request.path.${String(name)}`, true]),
      ),
      ...Object.fromEntries(queryNames(route.query).map((name) => [`method.request.querystring.${name}`, false])),
      ...(route.isIdempotent === true ? { 'method.request.header.Idempotency-Key': false } : {}),
    };
    expect(methodOf(route)?.RequestParameters).toEqual(wanted);
  });

  it('are open to each function from the gateway alone', () => {
    const permissions = deployment.ofType('AWS::Lambda::Permission', 'api').map(({ properties }) => properties);
    expect(permissions.map(({ Principal }) => Principal)).toEqual([
      'apigateway.amazonaws.com',
      'apigateway.amazonaws.com',
    ]);
  });
});

describe('the models of bodies', () => {
  const bodies = API_ROUTES.flatMap((route) => (route.body === null ? [] : [{ ...route, body: route.body }]));
  const models = new Map(
    deployment.ofType('AWS::ApiGateway::Model').map(({ id, properties }) => [`${id}.Ref`, properties['Schema']]),
  );

  it('are there for every route with a body', () => {
    expect(bodies.length).toBeGreaterThan(2);
    expect(models.size).toBe(bodies.length);
    for (const route of bodies) {
      const schema = models.get(methodOf(route)?.RequestModels['application/json'] ?? '');
      expect(schema).toMatchObject(gatewaySchema(route.body));
    }
  });

  it.each(bodies)('of $operationId use nothing that API Gateway does not know', ({ body }) => {
    const text = JSON.stringify(gatewaySchema(body));
    expect(text).not.toMatch(
      /"(?:\$ref|\$defs|definitions|const|pattern|format|exclusiveM\w+|propertyNames|default)":/u,
    );
  });

  const start = {
    name: 'first',
    costCenter: 'default',
    agents: [{ agentId: 'nop', config: { deep: { er: [1, null, 'x'] } } }],
    tasks: [{ path: 'demo/copy', variants: [0, 1] }],
    snapshots: {},
    limits: { concurrency: 2, budgetUsd: null },
  };
  const [startRoute] = bodies.filter(({ operationId }) => operationId === 'startSweep');
  const isTaken = new Ajv({ strict: false }).compile(gatewaySchema(startRoute?.body ?? z.never()));

  it('take what the function takes', () => {
    expect(startRoute?.body.safeParse(start).success).toBe(true);
    expect(isTaken(start)).toBe(true);
    expect(isTaken({ ...start, limits: { ...start.limits, budgetUsd: 0 } })).toBe(true);
  });

  it.each([
    ['no body', null],
    ['a list', []],
    ['a missing name', { ...start, name: undefined }],
    ['an unknown field', { ...start, unknown: 1 }],
    ['a name of another type', { ...start, name: 7 }],
    ['no agents', { ...start, agents: [] }],
    ['a name that is too long', { ...start, name: 'x'.repeat(65) }],
    ['a word that is none of a list', { ...start, network: 'wide-open' }],
  ])('refuse %s before any function is called', (_, body) => {
    expect(isTaken(JSON.parse(JSON.stringify(body)))).toBe(false);
  });
});

describe('what the gateway answers by itself', () => {
  const responses = deployment.ofType('AWS::ApiGateway::GatewayResponse').map(({ properties }) => properties);

  it('covers both defaults and what callers run into', () => {
    const types = responses.map(({ ResponseType }) => ResponseType);
    for (const type of [
      'DEFAULT_4XX',
      'DEFAULT_5XX',
      'ACCESS_DENIED',
      'BAD_REQUEST_BODY',
      'THROTTLED',
      'REQUEST_TOO_LARGE',
    ]) {
      expect(types).toContain(type);
    }
  });

  it.each(responses.map((response) => [String(response['ResponseType']), response] as const))(
    '%s is a problem as the API has them',
    (_, response) => {
      const templates = z.object({ 'application/json': z.string() }).parse(response['ResponseTemplates']);
      const text = templates['application/json'];
      const filled = text
        .replace('$context.error.messageString', JSON.stringify('Missing "Authentication" Token'))
        .replace('$context.requestId', 'c6af9ac6-7b61-11e6-9a41-93e8deadbeef');
      const problem = ProblemSchema.parse(JSON.parse(filled));
      expect(filled).not.toContain('$');
      expect(apiProblemOf(problem.code).code).toBe(problem.code);
      if (problem.status !== 500)
        expect(problem.code).not.toBe(problem.status < 500 ? 'InternalError' : 'InvalidRequestError');
      const status = response['StatusCode'];
      if (status !== undefined) expect(String(problem.status)).toBe(status);
      expect(JSON.stringify(response['ResponseParameters'])).toContain("'application/problem+json'");
    },
  );
});

describe('the stage of the API', () => {
  it('is throttled as the settings say, measured, traced, and logs neither bodies nor what functions get', () => {
    const [stage] = deployment.ofType('AWS::ApiGateway::Stage');
    expect(stage?.properties).toMatchObject({
      StageName: 'v1',
      TracingEnabled: true,
      MethodSettings: [
        {
          DataTraceEnabled: false,
          LoggingLevel: 'OFF',
          MetricsEnabled: true,
          ThrottlingRateLimit: settings.api.requestsPerSecond,
          ThrottlingBurstLimit: settings.api.burst,
        },
      ],
    });
    const { Format } = z.object({ Format: z.string() }).parse(stage?.properties['AccessLogSetting']);
    expect(Object.keys(JSON.parse(Format) as object)).toContain('requestId');
    expect(Format).not.toMatch(/body|querystring|header|context\.path/iu);
  });

  it('is regional, without mock methods for other origins', () => {
    const [api] = deployment.ofType('AWS::ApiGateway::RestApi');
    expect(api?.properties).toMatchObject({ EndpointConfiguration: { Types: ['REGIONAL'] } });
    expect(api?.properties['Policy']).toBeUndefined();
    expect(methods.filter(({ HttpMethod }) => HttpMethod === 'OPTIONS')).toEqual([]);
  });
});

describe('the outputs of a deployment', () => {
  it('are in one parameter that the CLI can read', () => {
    const name = deploymentParameterName(settings.stage);
    const parameter = deployment.ofType('AWS::SSM::Parameter').find(({ properties }) => properties['Name'] === name);
    expect(parameter?.properties).toMatchObject({ Name: name, Type: 'String' });
    const value = String(parameter?.properties['Value']);
    const outputs = DeploymentOutputsSchema.parse(JSON.parse(value));
    expect(Buffer.byteLength(value)).toBeLessThan(DEPLOYMENT_OUTPUTS_MAX_BYTES);
    expect(outputs.machines.sweep).toMatch(/:stateMachine:Sweep:live$/u);
    expect(outputs.buckets).toEqual({ artifacts: 'artifacts', tasks: 'tasks', references: 'references' });
    expect(outputs.apiUrl).toMatch(/^https:\/\/.+\.execute-api\.eu-central-1\.amazonaws\.com\/v1$/u);
  });
});
