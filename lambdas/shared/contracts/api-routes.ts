import type * as z from 'zod';
import type { Permission } from '#core/policy';
import {
  AgentPageSchema,
  CostsQuerySchema,
  CostsSchema,
  NoQuerySchema,
  PageQuerySchema,
  PublishAnswerSchema,
  RegradeSchema,
  StartedSweepSchema,
  StartSweepBodySchema,
  SweepDetailSchema,
  SweepPageSchema,
  SweepSummarySchema,
  TaskPageSchema,
  UnitDetailSchema,
  UnitQuerySchema,
  UnitPageSchema,
  UnitsQuerySchema,
} from '#contracts/api-schemas';
import {
  ReapAnswerSchema,
  ReapBodySchema,
  SandboxesQuerySchema,
  SandboxPageSchema,
  StopAnswerSchema,
} from '#contracts/api-sandboxes';
import { AgentOfferSchema, TaskOfferSchema } from '#contracts/publish-offer';

/** API functions by what their roles may do: one only reads, one changes things. */
export type ApiFunction = 'answer-queries' | 'accept-commands';

export interface ApiRoute {
  readonly operationId: string;
  readonly method: 'GET' | 'POST';
  /** As API Gateway writes it, `{name}` for a parameter. */
  readonly path: string;
  readonly permission: Permission;
  readonly function: ApiFunction;
  readonly summary: string;
  readonly query: z.ZodType;
  readonly body: z.ZodType | null;
  /** Status of success, and what it answers with. */
  readonly status: 200 | 202;
  readonly answer: z.ZodType;
  /** Takes `Idempotency-Key`: the same key with the same body is the same request for a day. */
  readonly isIdempotent?: true;
}

/** API Gateway's own limit is 10 MB, Lambda's 6 MB with the request's envelope. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024;
export const MAX_IDEMPOTENCY_KEY_LENGTH = 128;

const queries = [
  {
    operationId: 'listSweeps',
    method: 'GET',
    path: '/sweeps',
    permission: 'read',
    function: 'answer-queries',
    summary: 'Sweeps, newest first',
    query: PageQuerySchema,
    body: null,
    status: 200,
    answer: SweepPageSchema,
  },
  {
    operationId: 'getSweep',
    method: 'GET',
    path: '/sweeps/{sweepId}',
    permission: 'read',
    function: 'answer-queries',
    summary: 'One sweep with its ledger',
    query: NoQuerySchema,
    body: null,
    status: 200,
    answer: SweepDetailSchema,
  },
  {
    operationId: 'listUnits',
    method: 'GET',
    path: '/sweeps/{sweepId}/units',
    permission: 'read',
    function: 'answer-queries',
    summary: 'Units of a sweep',
    query: UnitsQuerySchema,
    body: null,
    status: 200,
    answer: UnitPageSchema,
  },
  {
    operationId: 'getUnit',
    method: 'GET',
    path: '/units/{unitId}',
    permission: 'read',
    function: 'answer-queries',
    summary: 'One unit: attempts, record files under short links, and what it waits for',
    query: UnitQuerySchema,
    body: null,
    status: 200,
    answer: UnitDetailSchema,
  },
  {
    operationId: 'listAgents',
    method: 'GET',
    path: '/agents',
    permission: 'read',
    function: 'answer-queries',
    summary: 'Published agents',
    query: PageQuerySchema,
    body: null,
    status: 200,
    answer: AgentPageSchema,
  },
  {
    operationId: 'listTasks',
    method: 'GET',
    path: '/tasks',
    permission: 'read',
    function: 'answer-queries',
    summary: 'Published tasks',
    query: PageQuerySchema,
    body: null,
    status: 200,
    answer: TaskPageSchema,
  },
  {
    operationId: 'getCosts',
    method: 'GET',
    path: '/costs',
    permission: 'readCosts',
    function: 'answer-queries',
    summary: 'Costs of attempts, grouped',
    query: CostsQuerySchema,
    body: null,
    status: 200,
    answer: CostsSchema,
  },
  {
    operationId: 'listSandboxes',
    method: 'GET',
    path: '/sandboxes',
    permission: 'read',
    function: 'answer-queries',
    summary: 'Sandboxes that the providers list, with what is known of each',
    query: SandboxesQuerySchema,
    body: null,
    status: 200,
    answer: SandboxPageSchema,
  },
] as const satisfies readonly ApiRoute[];

const sweepCommand = <Verb extends 'cancel' | 'pause' | 'resume'>(verb: Verb, summary: string) =>
  ({
    operationId: `${verb}Sweep`,
    method: 'POST',
    path: `/sweeps/{sweepId}/${verb}`,
    permission: 'control',
    function: 'accept-commands',
    summary,
    query: NoQuerySchema,
    body: null,
    status: 202,
    answer: SweepSummarySchema,
  }) as const satisfies ApiRoute;

const commands = [
  {
    operationId: 'startSweep',
    method: 'POST',
    path: '/sweeps',
    permission: 'control',
    function: 'accept-commands',
    summary: 'Start a sweep; answers at once',
    query: NoQuerySchema,
    body: StartSweepBodySchema,
    status: 202,
    answer: StartedSweepSchema,
    isIdempotent: true,
  },
  sweepCommand('cancel', 'Refuse waiting units and stop those that run'),
  sweepCommand('pause', 'Grant no more units; those that run go on'),
  sweepCommand('resume', 'Grant units again'),
  {
    operationId: 'regradeUnit',
    method: 'POST',
    path: '/units/{unitId}/regrade',
    permission: 'control',
    function: 'accept-commands',
    summary: 'Grade the collected output of a closed unit again',
    query: NoQuerySchema,
    body: null,
    status: 202,
    answer: RegradeSchema,
  },
  {
    operationId: 'publishTask',
    method: 'POST',
    path: '/tasks',
    permission: 'publish',
    function: 'accept-commands',
    summary: 'Offer a task revision: answers with what is still to be uploaded, or publishes it',
    query: NoQuerySchema,
    body: TaskOfferSchema,
    status: 200,
    answer: PublishAnswerSchema,
  },
  {
    operationId: 'publishAgent',
    method: 'POST',
    path: '/agents',
    permission: 'publish',
    function: 'accept-commands',
    summary: 'Offer an agent revision: answers with what is still to be uploaded, or publishes it',
    query: NoQuerySchema,
    body: AgentOfferSchema,
    status: 200,
    answer: PublishAnswerSchema,
  },
  {
    operationId: 'reapSandboxes',
    method: 'POST',
    path: '/sandboxes/reap',
    permission: 'control',
    function: 'accept-commands',
    summary: 'Tell the reaper to look now, or say what it would do',
    query: NoQuerySchema,
    body: ReapBodySchema,
    status: 202,
    answer: ReapAnswerSchema,
  },
  {
    operationId: 'stopAll',
    method: 'POST',
    path: '/stop',
    permission: 'control',
    function: 'accept-commands',
    summary: 'Cancel every open sweep, and tell the reaper to look now',
    query: NoQuerySchema,
    body: null,
    status: 202,
    answer: StopAnswerSchema,
  },
] as const satisfies readonly ApiRoute[];

const routes = [...queries, ...commands] as const;

/** The routes with their schemas, for typed clients. */
export type TypedRoute = (typeof routes)[number];

/** Every route of the API, once: the gateway, both hosts, the OpenAPI document and the CLI's client are made from it. */
export const API_ROUTES: readonly ApiRoute[] = routes;
