import { createHash } from 'node:crypto';
import {
  RunInstancesCommand,
  type EC2Client,
  type Instance,
  type RunInstancesCommandInput,
  type _InstanceType,
} from '@aws-sdk/client-ec2';
import { ExamHallError } from '#core/errors';
import { launchToken, nextTry, planLaunches, type Launch } from '#core/launch-plan';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { LaunchLog, SandboxSpec } from '#ports/sandbox-provider';
import { launchFault, textOf, type LaunchFault } from './ec2-faults.ts';
import type { Ec2Lookup } from './ec2-lookup.ts';
import { attemptFilters, launchTags } from './ec2-tags.ts';
import type { Ec2Choice } from './ec2-wish.ts';

interface LaunchTools {
  readonly client: EC2Client;
  readonly lookup: Ec2Lookup;
  readonly settings: SandboxSettings;
}

interface LaunchOrder {
  readonly spec: SandboxSpec;
  readonly choice: Ec2Choice;
  /** Text of the user data. */
  readonly userData: string;
  readonly log: LaunchLog;
}

/** States in which a machine can still be had; one that is stopping is ours to release all the same. */
const THERE = ['pending', 'running', 'stopping', 'stopped'];
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The machine that an earlier call launched for this attempt, found by its tags. */
export async function findLaunched(
  { lookup, settings }: LaunchTools,
  attemptId: string,
): Promise<Instance | undefined> {
  const state = { Name: 'instance-state-name', Values: THERE };
  return oldest(await lookup.instances([...attemptFilters(settings, attemptId), state]));
}

/**
 * Launches one machine, in the first pool that has one. Each launch is noted before it is sent, with a token that is the same
 * whenever it is repeated.
 * @throws CapacityUnavailableError | ImageMissingError | ProvisionFailedError; after the last one the launch may have happened,
 * and a repeat finds it.
 */
export async function launchMachine(tools: LaunchTools, order: LaunchOrder): Promise<Instance> {
  const { choice, log } = order;
  const zones = [...choice.subnets.keys()];
  const refusals: string[] = [];
  for (const launch of planLaunches({ types: choice.types, zones, coolingPools: log.coolingPools, last: log.last })) {
    const outcome = await tryPool(tools, order, launch);
    if (typeof outcome !== 'string') return outcome;
    refusals.push(`${launch.pool}: ${outcome}`);
  }
  const message = `none of ${String(refusals.length)} pools had a machine (${refusals.join('; ')}); it is tried again later`;
  throw new ExamHallError('CapacityUnavailableError', message, { refusals });
}

/** @returns the machine, or why the pool has none. */
async function tryPool(tools: LaunchTools, order: LaunchOrder, first: Launch): Promise<Instance | string> {
  for (let launch: Launch | null = first; launch !== null; launch = nextTry(launch)) {
    await order.log.note({ launchTry: launch.launchTry, pool: launch.pool });
    try {
      return await run(tools, order, launch);
    } catch (error) {
      const fault = launchFault(error);
      if (fault !== 'token-ended' && fault !== 'token-differs') return await refusedBy(error, fault, order, launch);
      const found = await byToken(tools, order, launch, error);
      if (found !== 'ended') return found;
    }
  }
  const message = `every try of ${first.pool} belongs to a machine that has ended already; another attempt starts anew`;
  throw new ExamHallError('ProvisionFailedError', message, { pool: first.pool });
}

async function run({ client, settings }: LaunchTools, order: LaunchOrder, launch: Launch): Promise<Instance> {
  const { Instances: [instance] = [] } = await client.send(new RunInstancesCommand(requestOf(settings, order, launch)));
  if (instance === undefined) throw new Error('EC2 took the launch and named no machine');
  return instance;
}

/** Network, role, metadata options and the end at shutdown come from the launch template alone. */
function requestOf(settings: SandboxSettings, order: LaunchOrder, launch: Launch): RunInstancesCommandInput {
  const { spec, choice, userData } = order;
  const { image, network, subnets } = choice;
  return {
    MinCount: 1,
    MaxCount: 1,
    ImageId: image.imageId,
    InstanceType: launch.type as _InstanceType,
    SubnetId: subnets.get(launch.zone),
    LaunchTemplate: { LaunchTemplateId: network.template.id, Version: network.template.version },
    ClientToken: launchToken(spec.clientToken, launch, sha256),
    UserData: Buffer.from(userData).toString('base64'),
    TagSpecifications: launchTags(spec, settings),
    BlockDeviceMappings: [
      {
        DeviceName: image.rootDevice,
        Ebs: {
          Encrypted: true,
          KmsKeyId: settings.volumeKeyArn,
          DeleteOnTermination: true,
          VolumeSize: image.volumeGiB,
          VolumeType: 'gp3',
        },
      },
    ],
  };
}

/** @returns why this pool has none, when another may have one. */
async function refusedBy(
  error: unknown,
  fault: LaunchFault,
  { spec, log }: LaunchOrder,
  launch: Launch,
): Promise<string> {
  const seen = textOf(error);
  const details = { attemptId: spec.attemptId, pool: launch.pool };
  if (fault === 'capacity' || fault === 'not-offered') {
    await log.refused(launch.pool, 'capacity');
    return seen;
  }
  if (fault === 'quota') {
    await log.refused(launch.pool, 'quota');
    const message = `the account's quota allows no further machine (${seen}); raise it, or lower caps.vCpusByProvider of the settings`;
    throw new ExamHallError('CapacityUnavailableError', message, details, error);
  }
  if (fault === 'throttled') {
    const message = `EC2 takes no more launches just now (${seen}); it is tried again later`;
    throw new ExamHallError('CapacityUnavailableError', message, details, error);
  }
  if (fault === 'image') {
    const message = `the image of ${JSON.stringify(spec.image)} is not there: ${seen}; deploy again, which looks up the newest of a public image, or name another in sandboxes.images of the settings`;
    throw new ExamHallError('ImageMissingError', message, details, error);
  }
  throw new ExamHallError('ProvisionFailedError', `EC2 did not launch in ${launch.pool}: ${seen}`, details, error);
}

/** Another try is due only once EC2 itself shows that the machine of this one has ended. */
async function byToken(
  { lookup }: LaunchTools,
  { spec }: LaunchOrder,
  launch: Launch,
  error: unknown,
): Promise<Instance | 'ended'> {
  const Values = [launchToken(spec.clientToken, launch, sha256)];
  const found = await lookup.instances([{ Name: 'client-token', Values }]);
  const there = oldest(found.filter(({ State }) => THERE.includes(State?.Name ?? '')));
  if (there !== undefined) return there;
  const hasEnded = found.every(({ State }) => State?.Name === 'terminated');
  if (hasEnded && (found.length > 0 || launchFault(error) === 'token-ended')) return 'ended';
  const message = `EC2 knows the launch in ${launch.pool} (${textOf(error)}), and does not show yet what became of it; it is asked again`;
  throw new ExamHallError('ProvisionFailedError', message, { attemptId: spec.attemptId, pool: launch.pool }, error);
}

function oldest(instances: readonly Instance[]): Instance | undefined {
  return instances.toSorted((one, other) => (one.LaunchTime?.getTime() ?? 0) - (other.LaunchTime?.getTime() ?? 0))[0];
}
