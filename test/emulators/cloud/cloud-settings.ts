import type { RunInstancesRequest } from '@aws-sdk/client-ec2';

/** What every launch from a template has unless the request says otherwise. */
export type TemplateData = Pick<
  RunInstancesRequest,
  | 'BlockDeviceMappings'
  | 'IamInstanceProfile'
  | 'InstanceInitiatedShutdownBehavior'
  | 'MetadataOptions'
  | 'NetworkInterfaces'
  | 'SecurityGroupIds'
  | 'TagSpecifications'
>;

export interface LaunchTemplate {
  readonly id: string;
  readonly version: string;
  readonly data: TemplateData;
}

export interface MachineImage {
  readonly imageId: string;
  readonly os: 'linux' | 'windows';
  readonly rootDevice: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** Where a machine is reached: inside its network, and from outside it. */
export interface MachineAddress {
  readonly privateIp: string;
  readonly publicIp: string;
}

export interface Subnet {
  readonly id: string;
  readonly zone: string;
}

/** What the account holds before anything is launched, and how long things take there. */
export interface CloudSettings {
  readonly region: string;
  readonly subnets: readonly Subnet[];
  readonly images: readonly MachineImage[];
  readonly templates: readonly LaunchTemplate[];
  /** Of the machines in the order of their launch. Any more have an address of the stand-in's own, and none that is public. */
  readonly addresses: readonly MachineAddress[];
  readonly bootSeconds: number;
  /** From the launch until the agent is online. */
  readonly onlineSeconds: number;
  readonly terminateSeconds: number;
  /** How long a terminated machine is still shown. */
  readonly shownSeconds: number;
}

export const ACCOUNT_ID = '123456789012';

/** Two zones, one image of each system and one template, as a deployment makes them. */
export const DEFAULT_CLOUD: CloudSettings = {
  region: 'us-east-1',
  subnets: [
    { id: 'subnet-0000000000000000a', zone: 'us-east-1a' },
    { id: 'subnet-0000000000000000b', zone: 'us-east-1b' },
  ],
  images: [
    { imageId: 'ami-00000000000000001', os: 'linux', rootDevice: '/dev/sda1' },
    { imageId: 'ami-00000000000000002', os: 'windows', rootDevice: '/dev/sda1' },
  ],
  templates: [
    {
      id: 'lt-00000000000000001',
      version: '1',
      data: {
        InstanceInitiatedShutdownBehavior: 'terminate',
        SecurityGroupIds: ['sg-00000000000000001'],
        IamInstanceProfile: { Arn: `arn:aws:iam::${ACCOUNT_ID}:instance-profile/sandbox` },
        MetadataOptions: { HttpTokens: 'required', HttpPutResponseHopLimit: 1, InstanceMetadataTags: 'disabled' },
      },
    },
  ],
  addresses: [],
  bootSeconds: 10,
  onlineSeconds: 40,
  terminateSeconds: 15,
  shownSeconds: 3600,
};
