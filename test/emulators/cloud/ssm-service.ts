import type {
  CancelCommandRequest,
  Command,
  CommandInvocation,
  DescribeInstanceInformationRequest,
  GetCommandInvocationRequest,
  GetCommandInvocationResult,
  GetParameterRequest,
  GetParameterResult,
  InstanceInformation,
  ListCommandInvocationsRequest,
  ListCommandsRequest,
  SendCommandRequest,
} from '@aws-sdk/client-ssm';
import type { MachineRecord } from './machine-record.ts';
import type { Machines } from './machines.ts';
import { ServiceError } from './service-error.ts';
import type { CommandRecord, Commands } from './ssm-commands.ts';
import type { CommandDocuments } from './ssm-documents.ts';

export interface Ssm {
  readonly machines: Machines;
  readonly commands: Commands;
  readonly documents: CommandDocuments;
  readonly parameters: ReadonlyMap<string, string>;
}

type Act = (ssm: Ssm, request: never) => object;

const OPERATIONS: Readonly<Record<string, Act>> = {
  SendCommand: sendCommand,
  GetCommandInvocation: getCommandInvocation,
  ListCommandInvocations: listCommandInvocations,
  ListCommands: listCommands,
  CancelCommand: cancelCommand,
  DescribeInstanceInformation: describeInstanceInformation,
  GetParameter: getParameter,
};

/** Answers one call of the JSON 1.1 protocol. @throws ServiceError. */
export function answerSsm(ssm: Ssm, operation: string, body: string): string {
  const act = OPERATIONS[operation];
  if (act === undefined) throw new ServiceError('UnknownOperationException', `${operation} is not an operation`);
  return JSON.stringify(inSeconds(act(ssm, JSON.parse(body) as never)));
}

/** Times as the protocol writes them. */
function inSeconds(value: unknown): unknown {
  if (value instanceof Date) return value.getTime() / 1000;
  if (Array.isArray(value)) return value.map(inSeconds);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, inSeconds(field)]));
}

/** Known to the service from the first time that its agent was online until it is gone. */
function isRegistered({ machines }: Ssm, machine: MachineRecord): boolean {
  return !['terminated', 'shutting-down'].includes(machine.state) && machines.now >= machine.onlineAt;
}

function sendCommand(ssm: Ssm, request: SendCommandRequest): object {
  const { DocumentName = '', InstanceIds = [], Parameters = {}, TimeoutSeconds = 3600, Comment = '' } = request;
  if (InstanceIds.length !== 1) throw new ServiceError('ValidationException', 'one machine for each command, here');
  if (TimeoutSeconds < 30 || TimeoutSeconds > 2_592_000)
    throw new ServiceError(
      'ValidationException',
      "Value at 'timeoutSeconds' failed to satisfy constraint: at least 30",
    );
  if (Comment.length > 100) throw new ServiceError('ValidationException', "Value at 'comment' failed: at most 100");
  if (JSON.stringify(Parameters).length > 65_536)
    throw new ServiceError('InvalidParameters', 'The parameters are larger than 64 KB');
  const machine = ssm.machines.all.get(InstanceIds[0] ?? '');
  if (machine === undefined || !isRegistered(ssm, machine)) {
    const message = `Instances [[${InstanceIds.join()}]] not in a valid state for account 123456789012`;
    throw new ServiceError('InvalidInstanceId', message);
  }
  const record = ssm.commands.send({
    document: DocumentName,
    machine,
    parameters: Parameters,
    comment: Comment,
    deliverySeconds: TimeoutSeconds,
    plan: ssm.documents.plan(DocumentName, Parameters, machine.os),
    hiddenLooks: 1,
  });
  return { Command: describeCommand(record) };
}

function describeCommand(record: CommandRecord): Command {
  return {
    CommandId: record.commandId,
    DocumentName: record.document,
    Comment: record.comment,
    Parameters: Object.fromEntries(Object.entries(record.parameters).map(([name, values]) => [name, [...values]])),
    InstanceIds: [record.machine.instanceId],
    RequestedDateTime: new Date(record.requestedAt),
    Status: record.status === 'Delayed' ? 'Pending' : record.status,
    StatusDetails: record.details,
    TimeoutSeconds: record.deliverySeconds,
    TargetCount: 1,
  };
}

function isKnown(record: CommandRecord): boolean {
  if (record.hiddenLooks <= 0) return true;
  record.hiddenLooks -= 1;
  return false;
}

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 23)}\n---Output truncated---`;

function getCommandInvocation({ commands }: Ssm, request: GetCommandInvocationRequest): GetCommandInvocationResult {
  const { CommandId = '', InstanceId = '', PluginName } = request;
  const record = commands.all.get(CommandId);
  if (record?.machine.instanceId !== InstanceId || !isKnown(record))
    throw new ServiceError('InvocationDoesNotExist', `the command ${CommandId} has no invocation on ${InstanceId}`);
  if (PluginName === undefined && record.steps.length > 1)
    throw new ServiceError('InvalidPluginName', 'the document has several steps; PluginName says which');
  const step = PluginName === undefined ? record.steps[0] : record.steps.find(({ name }) => name === PluginName);
  if (step === undefined) throw new ServiceError('InvalidPluginName', `there is no step ${String(PluginName)}`);
  return {
    CommandId,
    InstanceId,
    DocumentName: record.document,
    PluginName: step.name,
    ResponseCode: step.exitCode,
    Status: record.steps.length === 1 ? record.status : step.status,
    StatusDetails: record.steps.length === 1 ? record.details : step.status,
    StandardOutputContent: cut(step.stdout, 24_000),
    StandardErrorContent: cut(step.stderr, 8_000),
  };
}

function listCommandInvocations({ commands }: Ssm, request: ListCommandInvocationsRequest): object {
  const { CommandId, InstanceId, Details = false } = request;
  const found = [...commands.all.values()].filter(
    (record) =>
      (CommandId === undefined || record.commandId === CommandId) &&
      (InstanceId === undefined || record.machine.instanceId === InstanceId) &&
      isKnown(record),
  );
  return { CommandInvocations: found.map((record) => describeInvocation(record, Details)) };
}

function describeInvocation(record: CommandRecord, hasDetails: boolean): CommandInvocation {
  const plugins = record.steps.map((step) => ({
    Name: step.name,
    Status: step.status === 'Delayed' || step.status === 'Cancelling' ? ('Pending' as const) : step.status,
    StatusDetails: step.status,
    ResponseCode: step.exitCode,
    Output: cut(step.stderr === '' ? step.stdout : `${step.stdout}\n----------ERROR-------\n${step.stderr}`, 2_500),
  }));
  return {
    CommandId: record.commandId,
    InstanceId: record.machine.instanceId,
    DocumentName: record.document,
    Comment: record.comment,
    RequestedDateTime: new Date(record.requestedAt),
    Status: record.status,
    StatusDetails: record.details,
    CommandPlugins: hasDetails ? plugins : [],
  };
}

function listCommands({ commands }: Ssm, { CommandId, InstanceId }: ListCommandsRequest): object {
  const found = [...commands.all.values()].filter(
    (record) =>
      (CommandId === undefined || record.commandId === CommandId) &&
      (InstanceId === undefined || record.machine.instanceId === InstanceId),
  );
  return { Commands: found.map(describeCommand) };
}

function cancelCommand({ commands }: Ssm, { CommandId = '' }: CancelCommandRequest): object {
  const record = commands.all.get(CommandId);
  if (record === undefined) throw new ServiceError('InvalidCommandId', `there is no command ${CommandId}`);
  commands.cancel(record);
  return {};
}

function describeInstanceInformation(ssm: Ssm, request: DescribeInstanceInformationRequest): object {
  const { Filters = [], InstanceInformationFilterList = [] } = request;
  const asked = [
    ...Filters.map(({ Key, Values = [] }) => ({ key: Key, values: Values })),
    ...InstanceInformationFilterList.map(({ key, valueSet = [] }) => ({ key, values: valueSet })),
  ];
  const unknown = asked.find(({ key }) => key !== 'InstanceIds');
  if (unknown !== undefined)
    throw new ServiceError('InvalidFilterKey', `the key ${String(unknown.key)} is not one here`);
  const found = [...ssm.machines.all.values()]
    .filter((machine) => isRegistered(ssm, machine))
    .filter(({ instanceId }) => asked.every(({ values }) => values.includes(instanceId)));
  return { InstanceInformationList: found.map((machine) => describeAgent(ssm, machine)) };
}

function getParameter({ parameters }: Ssm, { Name = '' }: GetParameterRequest): GetParameterResult {
  const Value = parameters.get(Name);
  if (Value === undefined) throw new ServiceError('ParameterNotFound', `Parameter ${Name} not found.`);
  return { Parameter: { Name, Type: 'String', Value, Version: 1, DataType: 'text' } };
}

function describeAgent({ machines }: Ssm, machine: MachineRecord): InstanceInformation {
  return {
    InstanceId: machine.instanceId,
    PingStatus: machines.isOnline(machine) ? 'Online' : 'ConnectionLost',
    LastPingDateTime: new Date(machines.now),
    AgentVersion: '3.3.0.0',
    PlatformType: machine.os === 'linux' ? 'Linux' : 'Windows',
    ResourceType: 'EC2Instance',
    IPAddress: machine.privateIp,
  };
}
