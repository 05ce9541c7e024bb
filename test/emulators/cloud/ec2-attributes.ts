import type { DeleteTagsRequest, ModifyInstanceAttributeRequest } from '@aws-sdk/client-ec2';
import type { Tags } from './machine-record.ts';
import type { Machines } from './machines.ts';
import { ServiceError } from './service-error.ts';

/** Changes one attribute of an instance; only what it does when its system shuts itself down. */
export function modifyInstanceAttribute(machines: Machines, request: ModifyInstanceAttributeRequest): object {
  const { InstanceId = '', InstanceInitiatedShutdownBehavior: behavior, ...others } = request;
  const machine = machines.look(InstanceId);
  if (Object.values(others).some((value) => value !== undefined) || behavior === undefined)
    throw new ServiceError('InvalidParameterCombination', 'The stand-in changes the shutdown behavior alone.');
  const { Value } = behavior;
  if (Value !== 'stop' && Value !== 'terminate')
    throw new ServiceError('InvalidParameterValue', `Value (${String(Value)}) for parameter value is invalid.`);
  if (machine.state === 'shutting-down' || machine.state === 'terminated')
    throw new ServiceError('IncorrectInstanceState', `The instance '${InstanceId}' is ending.`);
  machine.shutdownBehavior = Value;
  return {};
}

/** Takes tags from resources: those of that value where one is given, all of that key else, and all of them without keys. */
export function deleteTags(machines: Machines, { Resources = [], Tags: named }: DeleteTagsRequest): object {
  const found = Resources.map((id) => tagsOf(machines, id));
  for (const tags of found) {
    for (const { Key = '', Value } of named ?? [...tags.keys()].map((Key) => ({ Key, Value: undefined })))
      if (Value === undefined || tags.get(Key) === Value) tags.delete(Key);
  }
  return {};
}

function tagsOf(machines: Machines, id: string): Tags {
  if (id.startsWith('i-')) return machines.look(id).tags;
  const part = machines.volumes.get(id) ?? machines.interfaces.get(id);
  if (part !== undefined) return part.tags;
  throw new ServiceError('InvalidID', `The ID '${id}' is not valid`);
}
