import {
  DeleteNetworkInterface$,
  DeleteTags$,
  DeleteVolume$,
  DescribeImages$,
  DescribeInstances$,
  DescribeInstanceStatus$,
  DescribeNetworkInterfaces$,
  DescribeSnapshots$,
  DescribeVolumes$,
  GetConsoleOutput$,
  GetConsoleScreenshot$,
  ModifyInstanceAttribute$,
  RunInstances$,
  StopInstances$,
  TerminateInstances$,
  type GetConsoleOutputRequest,
  type GetConsoleOutputResult,
  type GetConsoleScreenshotRequest,
  type GetConsoleScreenshotResult,
  type InstanceStateChange,
  type StopInstancesRequest,
  type TerminateInstancesRequest,
} from '@aws-sdk/client-ec2';
import { deleteTags, modifyInstanceAttribute } from './ec2-attributes.ts';
import { describeImages, describeInstances, describeInstanceStatus, stateOf } from './ec2-describe.ts';
import { runInstances } from './ec2-launch.ts';
import { deleteNetworkInterface, deleteVolume, describeNetworkInterfaces, describeVolumes } from './ec2-parts.ts';
import { readQuery } from './ec2-query.ts';
import { writeAnswer } from './ec2-xml.ts';
import type { MachineRecord } from './machine-record.ts';
import type { Machines } from './machines.ts';
import { readOperation, type OperationShape } from './sdk-shapes.ts';
import { ServiceError } from './service-error.ts';

/** The smallest picture that a JPEG reader takes for one. */
const JPEG = Buffer.from(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z',
  'base64',
);

type Act = (machines: Machines, request: never) => object;

interface Operation {
  readonly shape: OperationShape;
  readonly act: (machines: Machines, request: unknown) => object;
}

function operation(schema: unknown, act: Act): readonly [string, Operation] {
  const shape = readOperation(schema);
  return [shape.name, { shape, act: act as Operation['act'] }];
}

const OPERATIONS = new Map<string, Operation>([
  operation(RunInstances$, runInstances),
  operation(DescribeInstances$, describeInstances),
  operation(DescribeInstanceStatus$, describeInstanceStatus),
  operation(DescribeImages$, describeImages),
  // Nothing here makes snapshots.
  operation(DescribeSnapshots$, () => ({ Snapshots: [] })),
  operation(TerminateInstances$, terminateInstances),
  operation(StopInstances$, stopInstances),
  operation(ModifyInstanceAttribute$, modifyInstanceAttribute),
  operation(DeleteTags$, deleteTags),
  operation(DescribeVolumes$, describeVolumes),
  operation(DeleteVolume$, deleteVolume),
  operation(DescribeNetworkInterfaces$, describeNetworkInterfaces),
  operation(DeleteNetworkInterface$, deleteNetworkInterface),
  operation(GetConsoleOutput$, getConsoleOutput),
  operation(GetConsoleScreenshot$, getConsoleScreenshot),
]);

/** Answers one form of EC2's query protocol with XML. @throws ServiceError. */
export function answerEc2(machines: Machines, form: URLSearchParams, requestId: string): string {
  const name = form.get('Action') ?? '';
  const found = OPERATIONS.get(name);
  if (found === undefined)
    throw new ServiceError('InvalidAction', `The action ${name} is not valid for this web service.`);
  return writeAnswer(found.shape, found.act(machines, readQuery(form, found.shape.input)), requestId);
}

/** One id that is not there fails the whole call. */
function changeStates(
  machines: Machines,
  ids: readonly string[] | undefined,
  change: (machine: MachineRecord) => void,
): InstanceStateChange[] {
  const found = (ids ?? []).map((instanceId) => machines.look(instanceId));
  return found.map((machine) => {
    const PreviousState = stateOf(machine);
    change(machine);
    return { InstanceId: machine.instanceId, PreviousState, CurrentState: stateOf(machine) };
  });
}

function terminateInstances(machines: Machines, request: TerminateInstancesRequest): object {
  const isHurried = request.SkipOsShutdown === true || request.Force === true;
  const reason = 'Client.UserInitiatedShutdown: User initiated shutdown';
  return {
    TerminatingInstances: changeStates(machines, request.InstanceIds, (machine) =>
      machines.terminate(machine, { isHurried, reason }),
    ),
  };
}

function stopInstances(machines: Machines, { InstanceIds }: StopInstancesRequest): object {
  return { StoppingInstances: changeStates(machines, InstanceIds, (machine) => machines.stop(machine)) };
}

function getConsoleOutput(machines: Machines, { InstanceId = '' }: GetConsoleOutputRequest): GetConsoleOutputResult {
  const { instanceId, onlineAt, os } = machines.look(InstanceId);
  const lines = [
    `${instanceId} ${os} boots`,
    Number.isFinite(onlineAt) ? 'agent starts' : 'agent cannot reach its service',
  ];
  const Output = Buffer.from(`${lines.join('\r\n')}\r\n`).toString('base64');
  return { InstanceId, Timestamp: new Date(machines.now), Output };
}

function getConsoleScreenshot(machines: Machines, request: GetConsoleScreenshotRequest): GetConsoleScreenshotResult {
  const { InstanceId = '' } = request;
  if (machines.look(InstanceId).state !== 'running')
    throw new ServiceError('IncorrectInstanceState', `The instance '${InstanceId}' is not in the 'running' state.`);
  return { InstanceId, ImageData: JPEG.toString('base64') };
}
