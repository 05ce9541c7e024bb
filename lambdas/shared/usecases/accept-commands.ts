import type { ApiAnswer } from '#contracts/api-event';
import { NoQuerySchema, StartSweepBodySchema } from '#contracts/api-schemas';
import { ReapBodySchema } from '#contracts/api-sandboxes';
import { AgentOfferSchema, TaskOfferSchema } from '#contracts/publish-offer';
import type { Ports } from '#ports/ports';
import { controlSweep, type Control } from './steps/api-control.ts';
import { answerCall } from './steps/api-frame.ts';
import { command, query, type Operation, type Operations } from './steps/api-operation.ts';
import { askToReap, stopAll } from './steps/api-reap.ts';
import { regradeUnit } from './steps/api-regrade.ts';
import { startSweep, type StartPorts } from './steps/api-start-sweep.ts';
import { offerAgent } from './steps/publish-agent.ts';
import { offerTask } from './steps/publish-task.ts';

type Needs = StartPorts & Pick<Ports, 'events' | 'providers'>;

const control = (verb: Control): Operation<Needs> =>
  query(NoQuerySchema, async ({ id: sweepId, principalArn, permissions }, ports) => ({
    body: await controlSweep({ sweepId, control: verb, principalArn, permissions }, ports),
  }));

/** What changes things, by `operationId`. */
export const COMMANDS: Operations<Needs> = {
  startSweep: command({ query: NoQuerySchema, body: StartSweepBodySchema }, async (call, ports) => {
    const body = await startSweep(call, ports);
    return { body, ...(body.sweepId === null ? {} : { location: `/sweeps/${body.sweepId}` }) };
  }),
  cancelSweep: control('cancel'),
  pauseSweep: control('pause'),
  resumeSweep: control('resume'),
  regradeUnit: query(NoQuerySchema, async ({ id, principalArn }, ports) => ({
    body: await regradeUnit(id, principalArn, ports),
  })),
  publishTask: command({ query: NoQuerySchema, body: TaskOfferSchema }, async ({ body, principalArn }, ports) => ({
    body: await offerTask(body, principalArn, ports),
  })),
  publishAgent: command({ query: NoQuerySchema, body: AgentOfferSchema }, async ({ body, principalArn }, ports) => ({
    body: await offerAgent(body, principalArn, ports),
  })),
  reapSandboxes: command({ query: NoQuerySchema, body: ReapBodySchema }, async ({ body, principalArn }, ports) => ({
    body: await askToReap({ ...body, principalArn }, ports),
  })),
  stopAll: query(NoQuerySchema, async ({ principalArn, permissions }, ports) => ({
    body: await stopAll({ principalArn, permissions }, ports),
  })),
};

/** Answers the calls of the API that change something. */
export async function acceptCommands(event: unknown, ports: Needs): Promise<ApiAnswer> {
  return await answerCall({ name: 'accept-commands', operations: COMMANDS }, event, ports);
}
