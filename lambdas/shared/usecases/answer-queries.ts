import type { ApiAnswer } from '#contracts/api-event';
import {
  CostsQuerySchema,
  NoQuerySchema,
  PageQuerySchema,
  UnitQuerySchema,
  UnitsQuerySchema,
} from '#contracts/api-schemas';
import { SandboxesQuerySchema } from '#contracts/api-sandboxes';
import type { Ports } from '#ports/ports';
import { pageOfAgents, pageOfTasks } from './steps/api-catalogue.ts';
import { costsReply } from './steps/api-costs.ts';
import { answerCall } from './steps/api-frame.ts';
import { query, type Operations } from './steps/api-operation.ts';
import { pageOfSandboxes } from './steps/api-sandboxes.ts';
import { pageOfSweeps, sweepDetail } from './steps/api-sweeps.ts';
import { unitDetail } from './steps/api-unit-detail.ts';
import { pageOfUnits } from './steps/api-units.ts';

type Needs = Pick<Ports, 'unitStore' | 'artifacts' | 'providers' | 'clock' | 'digest' | 'policy' | 'ids' | 'log'>;

/** What only reads, by `operationId`. */
export const QUERIES: Operations<Needs> = {
  listSweeps: query(PageQuerySchema, async ({ query: page, permissions }, ports) => ({
    body: await pageOfSweeps(page, permissions, ports),
  })),
  getSweep: query(NoQuerySchema, async ({ id, permissions }, ports) => ({
    body: await sweepDetail(id, permissions, ports),
  })),
  listUnits: query(UnitsQuerySchema, async ({ id, query: page }, ports) => ({
    body: await pageOfUnits(id, page, ports),
  })),
  getUnit: query(UnitQuerySchema, async ({ id, query: page, permissions }, ports) => ({
    body: await unitDetail(id, page, permissions, ports),
  })),
  listAgents: query(PageQuerySchema, async ({ query: page }, ports) => ({ body: await pageOfAgents(page, ports) })),
  listTasks: query(PageQuerySchema, async ({ query: page }, ports) => ({ body: await pageOfTasks(page, ports) })),
  getCosts: query(CostsQuerySchema, async ({ query: asked }, ports) => await costsReply(asked, ports)),
  listSandboxes: query(SandboxesQuerySchema, async ({ query: page }, ports) => ({
    body: await pageOfSandboxes(page, ports),
  })),
};

/** Answers the calls of the API that only read. */
export async function answerQueries(event: unknown, ports: Needs): Promise<ApiAnswer> {
  return await answerCall({ name: 'answer-queries', operations: QUERIES }, event, ports);
}
