import {
  DeleteTagsCommand,
  ModifyInstanceAttributeCommand,
  StopInstancesCommand,
  type Instance,
} from '@aws-sdk/client-ec2';
import { eachOnce, withFate } from '#core/teardown';
import type { ReleaseMode, ReleaseReport, SandboxToRelease, TeardownResource } from '#ports/sandbox-provider';
import { isAnswerNamed } from './aws-service-fault.ts';
import { askEc2, releaseFailed } from './ec2-faults.ts';
import { Patience } from './ec2-patience.ts';
import { deleteSandbox, type ReleaseTools } from './ec2-release.ts';
import { resourcesOf } from './ec2-sandbox.ts';
import { mayBeTooNew } from './ec2-state.ts';
import { attemptFilters, isOurs, STAGE_TAG, tagged } from './ec2-tags.ts';

/**
 * Leaves a machine where it is. From then on shutting itself down, as its own timer does at the end of its time, stops it
 * and no longer deletes it. A machine that is detached loses the tag that makes it ours, and with it every right we had.
 */
export async function setAside(
  tools: ReleaseTools,
  sandbox: SandboxToRelease,
  mode: Exclude<ReleaseMode, 'delete'>,
): Promise<ReleaseReport> {
  const instance = await find(tools, sandbox.sandboxId);
  const isNew = mayBeTooNew(sandbox.launchedAt, tools.clock.now());
  if (instance === undefined && isNew) return withFate([machineOf(sandbox)], 'left');
  // What it leaves is to be seen gone too.
  if (instance === undefined || isEnding(instance)) return await deleteSandbox(tools, sandbox);
  // Detached by an earlier call, whose answer was lost, or taken by somebody.
  if (!isOurs(instance.Tags, tools.settings))
    return isNew && mode !== 'detach'
      ? withFate([machineOf(sandbox)], 'left')
      : withFate(partsOf(sandbox, resourcesOf(instance)), 'not-ours');
  const isAside = (await keepFromEnding(tools, sandbox)) && (mode !== 'stop' || (await stop(tools, sandbox.sandboxId)));
  if (!isAside) return await ifEnded(tools, sandbox);
  if (mode === 'detach') await detach(tools, sandbox, instance);
  return withFate(partsOf(sandbox), 'set-aside');
}

/** One that has ended instead is no machine that was left on purpose. */
async function ifEnded(tools: ReleaseTools, sandbox: SandboxToRelease): Promise<ReleaseReport> {
  const instance = await find(tools, sandbox.sandboxId);
  const isOver = instance === undefined ? !mayBeTooNew(sandbox.launchedAt, tools.clock.now()) : isEnding(instance);
  return isOver ? await deleteSandbox(tools, sandbox) : withFate([machineOf(sandbox)], 'left');
}

function machineOf({ sandboxId }: SandboxToRelease): TeardownResource {
  return { kind: 'machine', resourceId: sandboxId };
}

function partsOf(sandbox: SandboxToRelease, seen: readonly TeardownResource[] = []): readonly TeardownResource[] {
  return eachOnce([machineOf(sandbox), ...sandbox.resources, ...seen]);
}

async function keepFromEnding({ client }: ReleaseTools, { sandboxId }: SandboxToRelease): Promise<boolean> {
  const InstanceInitiatedShutdownBehavior = { Value: 'stop' };
  return await change(sandboxId, () =>
    client.send(new ModifyInstanceAttributeCommand({ InstanceId: sandboxId, InstanceInitiatedShutdownBehavior })),
  );
}

async function find({ lookup }: ReleaseTools, id: string): Promise<Instance | undefined> {
  return (await lookup.instances([{ Name: 'instance-id', Values: [id] }]))[0];
}

function isEnding({ State }: Instance): boolean {
  return State?.Name === 'shutting-down' || State?.Name === 'terminated';
}

/** @returns whether it was seen stopped; a machine that still starts is told again. */
async function stop(tools: ReleaseTools, id: string): Promise<boolean> {
  const patience = new Patience(tools.clock);
  for (;;) {
    const state = (await find(tools, id))?.State?.Name;
    if (state === 'stopped') return true;
    if (state === 'shutting-down' || state === 'terminated' || state === undefined) return false;
    if (state === 'running') await change(id, () => tools.client.send(new StopInstancesCommand({ InstanceIds: [id] })));
    if (!(await patience.wait())) return false;
  }
}

async function detach(
  { client, lookup, settings }: ReleaseTools,
  sandbox: SandboxToRelease,
  instance: Instance,
): Promise<void> {
  const attemptId = tagged(instance.Tags).attemptId;
  const filters = attemptFilters(settings, attemptId);
  const volumes = attemptId === '' ? [] : await lookup.volumes(filters);
  const interfaces = attemptId === '' ? [] : await lookup.interfaces(filters);
  const Resources = [
    // Last of all: while the machine is ours, a repeat finds what still has the tag.
    ...volumes.flatMap(({ VolumeId }) => VolumeId ?? []),
    ...interfaces.flatMap(({ NetworkInterfaceId }) => NetworkInterfaceId ?? []),
    sandbox.sandboxId,
  ];
  await change(sandbox.sandboxId, () =>
    client.send(new DeleteTagsCommand({ Resources, Tags: [{ Key: STAGE_TAG, Value: settings.stage }] })),
  );
}

/** @returns false when its state does not allow that now. */
async function change(id: string, call: () => Promise<unknown>): Promise<boolean> {
  try {
    await askEc2(call);
    return true;
  } catch (error) {
    if (!isAnswerNamed(error, 'IncorrectInstanceState')) throw releaseFailed(id, error);
    return false;
  }
}
