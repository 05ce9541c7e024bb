import {
  DescribeExecutionCommand,
  StartExecutionCommand,
  StopExecutionCommand,
  type SFNClient,
} from '@aws-sdk/client-sfn';
import { canonicalJson } from '#core/canonical-json';
import { ExamHallError } from '#core/errors';
import type { Executions } from '#ports/hosting';
import { callService, isAnswerNamed } from './aws-service-fault.ts';
import { cutCause, cutError, MAX_PAYLOAD_BYTES, SERVICE } from './sfn-limits.ts';

type Machine = Parameters<Executions['start']>[0];

export interface SfnExecutionsOptions {
  readonly client: SFNClient;
  /** Alias ARN of each machine that may be started, so that an execution keeps the version it began with. */
  readonly machines: Readonly<Partial<Record<Machine, string>>>;
}

/** Executions over the Step Functions API. */
export function createSfnExecutions({ client, machines }: SfnExecutionsOptions): Executions {
  return {
    start: async (machine, name, input) => {
      const stateMachineArn = machines[machine];
      if (stateMachineArn === undefined) throw noMachine(machine, Object.keys(machines));
      const json = JSON.stringify(input);
      checkSize(name, json);
      try {
        const request = { stateMachineArn, name, input: json };
        const { executionArn } = await callService(SERVICE, () => client.send(new StartExecutionCommand(request)));
        if (executionArn !== undefined) return { executionArn };
      } catch (error) {
        if (!isAnswerNamed(error, 'ExecutionAlreadyExists')) throw error;
        const executionArn = executionArnOf(stateMachineArn, name);
        if (!(await hasInput(client, executionArn, json))) throw error;
        return { executionArn };
      }
      throw new ExamHallError('StoreUnavailableError', `${SERVICE} started ${name} and named no execution`);
    },
    stop: async (executionArn, error, cause) => {
      const request = { executionArn, error: cutError(error), cause: cutCause(cause) };
      await callService(SERVICE, () => client.send(new StopExecutionCommand(request)));
    },
  };
}

/** The service takes a name again only while it runs with the same text; one that has ended is asked for here. */
async function hasInput(client: SFNClient, executionArn: string, json: string): Promise<boolean> {
  const known = await callService(SERVICE, () => client.send(new DescribeExecutionCommand({ executionArn })));
  return known.input !== undefined && canonicalJson(JSON.parse(known.input)) === canonicalJson(JSON.parse(json));
}

/** `...:stateMachine:<machine>[:<alias>]` -> `...:execution:<machine>:<name>`: executions are named without the alias. */
function executionArnOf(stateMachineArn: string, name: string): string {
  const [arn, partition, service, region, account, , machine] = stateMachineArn.split(':');
  return [arn, partition, service, region, account, 'execution', machine, name].join(':');
}

function noMachine(machine: Machine, known: readonly string[]): ExamHallError {
  const allowed = known.length === 0 ? 'none' : known.join(', ');
  const message = `machine ${machine} cannot be started here; allowed: ${allowed}; name it in the function's needs`;
  return new ExamHallError('EnvironmentInvalidError', message, { machine });
}

function checkSize(name: string, json: string): void {
  const bytes = Buffer.byteLength(json);
  if (bytes <= MAX_PAYLOAD_BYTES) return;
  const message = `the input of execution ${name} has ${String(bytes)} bytes; allowed: ${String(MAX_PAYLOAD_BYTES)}; put large content into the store and name its key`;
  throw new ExamHallError('PayloadInvalidError', message, { name, bytes });
}
