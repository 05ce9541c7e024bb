import type { Machines } from './machines.ts';
import { ServiceError } from './service-error.ts';

/** Which machines, volumes and interfaces whoever calls has a right to change: those with this tag. */
export interface OwnTag {
  readonly key: string;
  readonly value: string;
}

/** Operations that policies of a deployment bind to a tag of what they change. */
const BOUND = new Set([
  'DeleteNetworkInterface',
  'DeleteTags',
  'DeleteVolume',
  'GetConsoleOutput',
  'GetConsoleScreenshot',
  'ModifyInstanceAttribute',
  'SendCommand',
  'StopInstances',
  'TerminateInstances',
]);
const NAMES_IN_FORM = /^(?:InstanceId|ResourceId|VolumeId|NetworkInterfaceId)(?:\.\d+)?$/u;

/** Refuses a call that IAM would refuse, as the service words it. What is not there is for the service to tell. @throws ServiceError */
export function checkRights(machines: Machines, operation: string, body: string, { key, value }: OwnTag): void {
  if (!BOUND.has(operation)) return;
  const isCommand = operation === 'SendCommand';
  const action = `${isCommand ? 'ssm' : 'ec2'}:${operation}`;
  for (const id of isCommand ? idsOfCommand(body) : idsInForm(body)) {
    const found = machines.all.get(id) ?? machines.volumes.get(id) ?? machines.interfaces.get(id);
    if (found === undefined || found.tags.get(key) === value) continue;
    const message = `the caller is not authorized to perform: ${action} on resource: ${id}`;
    throw isCommand
      ? new ServiceError('AccessDeniedException', message)
      : new ServiceError('UnauthorizedOperation', message, 403);
  }
}

function idsOfCommand(body: string): readonly string[] {
  return (JSON.parse(body) as { readonly InstanceIds?: readonly string[] }).InstanceIds ?? [];
}

function idsInForm(body: string): readonly string[] {
  return [...new URLSearchParams(body)].filter(([name]) => NAMES_IN_FORM.test(name)).map(([, id]) => id);
}
