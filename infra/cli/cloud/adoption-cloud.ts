import {
  CreateImageCommand,
  DeleteSnapshotCommand,
  DeregisterImageCommand,
  DescribeImagesCommand,
  DescribeInstancesCommand,
  DescribeSnapshotsCommand,
  RunInstancesCommand,
  TerminateInstancesCommand,
  type EC2Client,
  type Filter,
  type Image,
  type Tag,
} from '@aws-sdk/client-ec2';
import type { SourceImage } from '#core/image-adoption';
import { RemoteError } from '#cli/remote/remote-error';

export interface AdoptionMachine {
  readonly image: SourceImage;
  readonly subnetId: string;
  readonly template: { readonly id: string; readonly version: string };
  readonly volumeKeyArn: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly userData: string;
  /** Repeats of a launch with it are one machine. */
  readonly clientToken: string;
}

interface NewImage {
  readonly instanceId: string;
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
}

/** What adoption asks of EC2. */
export interface AdoptionCloud {
  describeImage(imageId: string): Promise<SourceImage>;
  launch(machine: AdoptionMachine): Promise<string>;
  /** Ends a machine; true once it was seen terminated. */
  terminate(instanceId: string): Promise<boolean>;
  /** Machines with that tag, of which some are still there. */
  machinesTagged(
    key: string,
  ): Promise<readonly { readonly instanceId: string; readonly tags: Readonly<Record<string, string>> }[]>;
  /** What a launch with that token has made, looked for until it is seen or a minute is over. */
  machinesLaunchedBy(clientToken: string): Promise<readonly string[]>;
  /** Makes an image and waits until it can be used. */
  createImage(image: NewImage): Promise<string>;
  /** With its snapshots. */
  removeImage(imageId: string): Promise<void>;
  /** Removes our own images with that tag that were made before, and then such snapshots. @returns their ids. */
  removeImagesTagged(key: string, beforeIso: string): Promise<readonly string[]>;
}

/** Two vCPUs and 8 GiB: enough to install a desktop. */
const MACHINE_TYPE = 'm7i.large';
const LOOK_SECONDS = 10;
const TERMINATE_SECONDS = 600;
const APPEAR_SECONDS = 60;
const IMAGE_SECONDS = 2 * 3600;

interface Pauses {
  /** Between looks at an ending machine; never cut short. */
  readonly delay: (seconds: number) => Promise<void>;
  /** Between all other looks; rejects when the work was interrupted. */
  readonly pause: (seconds: number) => Promise<void>;
}

export function createAdoptionCloud(client: EC2Client, pauses: Pauses): AdoptionCloud {
  return new Ec2AdoptionCloud(client, pauses);
}

class Ec2AdoptionCloud implements AdoptionCloud {
  readonly #client: EC2Client;
  readonly #pauses: Pauses;

  constructor(client: EC2Client, pauses: Pauses) {
    this.#client = client;
    this.#pauses = pauses;
  }

  async describeImage(imageId: string): Promise<SourceImage> {
    const image = await this.#image(imageId);
    if (image === undefined)
      throw new RemoteError(
        'request',
        `there is no image ${imageId} here that these credentials may see; check the id and --region, and that it is shared with the account`,
      );
    return sourceOf(image);
  }

  async launch(machine: AdoptionMachine): Promise<string> {
    const { image, tags, volumeKeyArn, template, userData } = machine;
    const { Instances: [instance] = [] } = await this.#client.send(
      new RunInstancesCommand({
        ImageId: image.imageId,
        InstanceType: MACHINE_TYPE,
        MinCount: 1,
        MaxCount: 1,
        SubnetId: machine.subnetId,
        LaunchTemplate: { LaunchTemplateId: template.id, Version: template.version },
        BlockDeviceMappings: image.volumes.map(({ device }) => ({
          DeviceName: device,
          Ebs: { Encrypted: true, KmsKeyId: volumeKeyArn, DeleteOnTermination: true, VolumeType: 'gp3' },
        })),
        InstanceInitiatedShutdownBehavior: 'terminate',
        TagSpecifications: (['instance', 'volume', 'network-interface'] as const).map((ResourceType) => ({
          ResourceType,
          Tags: tagsOf(tags),
        })),
        UserData: Buffer.from(userData).toString('base64'),
        ClientToken: machine.clientToken,
      }),
    );
    if (instance?.InstanceId === undefined) throw new RemoteError('host', `EC2 launched nothing of ${image.imageId}`);
    return instance.InstanceId;
  }

  async terminate(instanceId: string): Promise<boolean> {
    for (let waited = 0; waited < TERMINATE_SECONDS; waited += LOOK_SECONDS) {
      try {
        const ended = await this.#client.send(new TerminateInstancesCommand({ InstanceIds: [instanceId] }));
        if (ended.TerminatingInstances?.[0]?.CurrentState?.Name === 'terminated') return true;
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        // Right after its launch EC2 may not know it yet: only a look long after says that it is gone.
        if (error.name === 'InvalidInstanceID.NotFound' && waited > 300) return true;
        if (/^(?:UnauthorizedOperation|OperationNotPermitted)/u.test(error.name)) throw error;
      }
      await this.#pauses.delay(LOOK_SECONDS);
    }
    return false;
  }

  async machinesTagged(key: string): ReturnType<AdoptionCloud['machinesTagged']> {
    return await this.#machines({ Name: 'tag-key', Values: [key] });
  }

  async machinesLaunchedBy(clientToken: string): Promise<readonly string[]> {
    for (let waited = 0; ; waited += LOOK_SECONDS) {
      const found = await this.#machines({ Name: 'client-token', Values: [clientToken] });
      if (found.length > 0 || waited >= APPEAR_SECONDS) return found.map(({ instanceId }) => instanceId);
      await this.#pauses.delay(LOOK_SECONDS);
    }
  }

  async #machines(filter: Filter): ReturnType<AdoptionCloud['machinesTagged']> {
    const found: { instanceId: string; tags: Readonly<Record<string, string>> }[] = [];
    let NextToken: string | undefined;
    do {
      const page = await this.#client.send(
        new DescribeInstancesCommand({
          Filters: [filter, { Name: 'instance-state-name', Values: ['pending', 'running', 'stopping', 'stopped'] }],
          ...(NextToken === undefined ? {} : { NextToken }),
        }),
      );
      for (const { InstanceId, Tags = [] } of (page.Reservations ?? []).flatMap(({ Instances = [] }) => Instances))
        if (InstanceId !== undefined)
          found.push({
            instanceId: InstanceId,
            tags: Object.fromEntries(Tags.map(({ Key = '', Value = '' }) => [Key, Value])),
          });
      NextToken = page.NextToken;
    } while (NextToken !== undefined);
    return found;
  }

  async createImage({ instanceId, name, tags }: NewImage): Promise<string> {
    const { ImageId } = await this.#client.send(
      new CreateImageCommand({
        InstanceId: instanceId,
        Name: name,
        TagSpecifications: (['image', 'snapshot'] as const).map((ResourceType) => ({
          ResourceType,
          Tags: tagsOf(tags),
        })),
      }),
    );
    if (ImageId === undefined) throw new RemoteError('host', `EC2 made no image of ${instanceId}`);
    try {
      await this.#awaitImage(ImageId, instanceId);
      return ImageId;
    } catch (error) {
      await this.removeImage(ImageId).catch(() => undefined);
      throw error;
    }
  }

  async #awaitImage(ImageId: string, instanceId: string): Promise<void> {
    for (let waited = 0; waited < IMAGE_SECONDS; waited += LOOK_SECONDS) {
      const state = (await this.#image(ImageId))?.State;
      if (state === 'available') return;
      if (state === 'failed' || state === 'error' || state === 'invalid')
        throw new RemoteError('host', `image ${ImageId} of ${instanceId} is ${state}; try again`);
      await this.#pauses.pause(LOOK_SECONDS);
    }
    throw new RemoteError('timeout', `image ${ImageId} of ${instanceId} is not available after two hours; try again`);
  }

  async removeImage(imageId: string): Promise<void> {
    const image = await this.#image(imageId);
    if (image === undefined) return;
    await this.#client.send(new DeregisterImageCommand({ ImageId: imageId }));
    for (const { Ebs } of image.BlockDeviceMappings ?? [])
      if (Ebs?.SnapshotId !== undefined)
        await this.#client.send(new DeleteSnapshotCommand({ SnapshotId: Ebs.SnapshotId }));
  }

  async removeImagesTagged(key: string, beforeIso: string): Promise<readonly string[]> {
    const Filters = [{ Name: 'tag-key', Values: [key] }];
    const removed: string[] = [];
    const { Images = [] } = await this.#client.send(new DescribeImagesCommand({ Owners: ['self'], Filters }));
    for (const { ImageId, CreationDate } of Images) {
      if (ImageId === undefined || !isBefore(CreationDate, beforeIso)) continue;
      await this.removeImage(ImageId);
      removed.push(ImageId);
    }
    const { Snapshots = [] } = await this.#client.send(new DescribeSnapshotsCommand({ OwnerIds: ['self'], Filters }));
    for (const { SnapshotId, StartTime } of Snapshots) {
      if (SnapshotId === undefined || !isBefore(StartTime?.toISOString(), beforeIso)) continue;
      if (await this.#removeSnapshot(SnapshotId)) removed.push(SnapshotId);
    }
    return removed;
  }

  /** False when it has gone with its image. */
  async #removeSnapshot(SnapshotId: string): Promise<boolean> {
    try {
      await this.#client.send(new DeleteSnapshotCommand({ SnapshotId }));
      return true;
    } catch (error) {
      if (error instanceof Error && error.name === 'InvalidSnapshot.NotFound') return false;
      throw error;
    }
  }

  /** One that is made just now may not be known yet. */
  async #image(imageId: string): Promise<Image | undefined> {
    try {
      return (await this.#client.send(new DescribeImagesCommand({ ImageIds: [imageId] }))).Images?.[0];
    } catch (error) {
      if (error instanceof Error && /^InvalidAMIID\./u.test(error.name)) return undefined;
      throw error;
    }
  }
}

/** False for what does not say when it was made. */
function isBefore(time: string | undefined, beforeIso: string): boolean {
  return time !== undefined && Date.parse(time) < Date.parse(beforeIso);
}

function tagsOf(tags: Readonly<Record<string, string>>): Tag[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value: Value.slice(0, 256) }));
}

function sourceOf(image: Image): SourceImage {
  return {
    imageId: image.ImageId ?? '',
    name: image.Name ?? '',
    ownerId: image.OwnerId ?? '',
    state: image.State ?? 'unknown',
    architecture: image.Architecture ?? 'unknown',
    isWindows: image.Platform?.toLowerCase() === 'windows',
    rootDeviceType: image.RootDeviceType ?? 'unknown',
    rootDevice: image.RootDeviceName ?? '',
    volumes: (image.BlockDeviceMappings ?? []).flatMap(({ DeviceName, Ebs }) =>
      DeviceName === undefined || Ebs === undefined ? [] : [{ device: DeviceName, sizeGiB: Ebs.VolumeSize ?? 0 }],
    ),
    productCodes: (image.ProductCodes ?? []).flatMap(({ ProductCodeId }) => ProductCodeId ?? []),
  };
}
