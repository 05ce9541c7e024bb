import { rowKeys } from '#core/keys';
import type { DeploymentPolicy, Role } from '#core/policy';
import { agentManifestKey, PublishedAgentSchema, taskManifestKey } from '#core/catalog';
import type { ApiAnswer } from '#contracts/api-event';
import { API_ROUTES, type ApiRoute } from '#contracts/api-routes';
import { ProblemSchema, type Problem } from '#contracts/api-schemas';
import { functionNamed } from '#contracts/functions';
import { grantedPorts } from '#runtime/granted-ports';
import { acceptCommands } from '#usecases/accept-commands';
import { answerQueries } from '#usecases/answer-queries';
import { publishFakeAgent, publishFakeTask, type TaskOptions } from './catalog.ts';
import type { World } from './world.ts';

export const ACCOUNT = '111122223333';

export function arnOf(role: Role | 'nobody'): string {
  return `arn:aws:sts::${ACCOUNT}:assumed-role/examhall-${role}/someone`;
}

/** Each role has one principal pattern; caps are small enough to be passed. */
export const API_POLICY: DeploymentPolicy = {
  roles: {
    viewer: [`arn:aws:iam::${ACCOUNT}:role/examhall-viewer`],
    finance: [`arn:aws:iam::${ACCOUNT}:role/examhall-finance`],
    operator: [`arn:aws:iam::${ACCOUNT}:role/examhall-operator`],
    publisher: [`arn:aws:iam::${ACCOUNT}:role/examhall-publisher`],
    admin: [`arn:aws:iam::${ACCOUNT}:role/examhall-admin`],
  },
  costCenters: ['local', 'research'],
  caps: { sweepConcurrency: 8, unitsPerSweep: 40, sweepBudgetUsd: null, vCpusByProvider: {} },
};

export interface CallOptions {
  readonly role?: Role | 'nobody';
  readonly id?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export function routeNamed(operationId: string): ApiRoute {
  const route = API_ROUTES.find((each) => each.operationId === operationId);
  if (route === undefined) throw new TypeError(`no route ${operationId}`);
  return route;
}

/** A call as API Gateway hands it on. */
export function apiEvent(route: ApiRoute, { role = 'admin', id, query = {}, body, headers = {} }: CallOptions = {}) {
  const name = /\{(\w+)\}/u.exec(route.path)?.[1];
  return {
    httpMethod: route.method,
    resource: route.path,
    path: route.path.replace(/\{\w+\}/u, id ?? ''),
    pathParameters: name === undefined ? null : { [name]: id ?? '' },
    multiValueQueryStringParameters: Object.fromEntries(Object.entries(query).map(([key, value]) => [key, [value]])),
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    isBase64Encoded: false,
    requestContext: { requestId: 'request-1', identity: { userArn: arnOf(role) } },
  };
}

/** As the route's function would, with the rights it declares and no others. */
export async function answer(world: World, route: Pick<ApiRoute, 'function'>, event: unknown): Promise<ApiAnswer> {
  const serve = route.function === 'answer-queries' ? answerQueries : acceptCommands;
  return await serve(event, grantedPorts(functionNamed(route.function), world.ports));
}

/** Calls a route, and reads the answer by the route's schema: one that does not fit it fails the test. */
export async function call(
  world: World,
  operationId: string,
  options: CallOptions = {},
): Promise<Record<string, unknown>> {
  const route = routeNamed(operationId);
  const answered = await answer(world, route, apiEvent(route, options));
  if (answered.statusCode !== route.status)
    throw new Error(`${operationId}: ${String(answered.statusCode)} ${answered.body}`);
  return route.answer.parse(JSON.parse(answered.body)) as Record<string, unknown>;
}

/** Calls a route that refuses. */
export async function refusal(world: World, operationId: string, options: CallOptions = {}): Promise<Problem> {
  const route = routeNamed(operationId);
  const { statusCode, body, headers } = await answer(world, route, apiEvent(route, options));
  const problem = ProblemSchema.parse(JSON.parse(body));
  if (problem.status !== statusCode || headers['content-type'] !== 'application/problem+json') throw new Error(body);
  return problem;
}

/** Publishes a task and an agent and names them in the catalogue. */
export async function publishBoth(world: World, options: TaskOptions = {}): Promise<void> {
  const task = await publishFakeTask(world.artifacts, options);
  const agentKey = await publishFakeAgent(world.artifacts);
  const bytes = await world.artifacts.get({ bucket: 'tasks', key: agentKey });
  const agent = PublishedAgentSchema.parse(JSON.parse(new TextDecoder().decode(bytes)));
  const named = { publishedAt: '2026-01-01T00:00:00.000Z', publishedBy: arnOf('publisher') };
  const { taskId, revision } = task;
  const card = {
    variants: task.variants.map(({ index, name }) => ({ index, name })),
    snapshot: 'cpu-free-ubuntu',
    os: null,
    network: 'open',
  };
  await world.store.write([
    {
      put: {
        ...rowKeys.publishedTask(taskId),
        body: { taskId, revision, manifestKey: taskManifestKey(task), ...named, ...card },
      },
      when: 'any',
    },
    {
      put: {
        ...rowKeys.publishedAgent(agent.agentId),
        body: { agentId: agent.agentId, revision: agent.revision, manifestKey: agentManifestKey(agent), ...named },
      },
      when: 'any',
    },
  ]);
}

/** A request that is accepted once the fakes are published. */
export function startBody(
  changes: Readonly<Record<string, unknown>> = {},
  limits: Readonly<Record<string, unknown>> = {},
) {
  return {
    name: 'a first sweep',
    costCenter: 'research',
    agents: [{ agentId: 'scripted' }],
    tasks: [{ path: 'demo/copy' }],
    snapshots: { '*': { provider: 'noop', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: {} } },
    limits: { concurrency: 4, ...limits },
    ...changes,
  };
}
