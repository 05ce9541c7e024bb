import { Annotations, Fn, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as logs from 'aws-cdk-lib/aws-logs';
import type * as s3 from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { networkRefusal } from '#core/network-profile';
import { halfSubnetMask, subnetMask } from '../config/address-space.ts';
import type { ExistingSubnets, NetworkProfile } from '../config/network-settings.ts';
import type { StageSettings } from '../config/settings.ts';
import { addAgentEndpoints, addS3Endpoint, type AgentService } from '../constructs/network-endpoints.ts';
import {
  admitSandbox,
  allowCalls,
  allowEndpoints,
  allowInternet,
  allowS3,
  closedGroup,
} from '../constructs/network-groups.ts';
import type { SandboxNetwork } from '../constructs/sandbox-resources.ts';
import type { BucketName } from './data-stack.ts';

export interface NetworkStackProps extends StackProps {
  readonly settings: StageSettings;
  readonly buckets: Readonly<Record<BucketName, s3.IBucket>>;
}

type Purpose = NetworkProfile | 'grader' | 'calls';
type OwnVpc = Extract<StageSettings['network']['vpc'], { kind: 'own' }>;
type ExistingVpc = Extract<StageSettings['network']['vpc'], { kind: 'existing' }>;

/** Where sandboxes, graders and calls to guests run: a subnet and a security group for each purpose, and the only ways in and out of them. */
export class NetworkStack extends Stack {
  readonly vpc: ec2.IVpc;
  readonly graderSubnets: ec2.SubnetSelection;
  readonly graderSecurityGroup: ec2.ISecurityGroup;
  /** Of the one function that talks to sandboxes over their private addresses. */
  readonly callSubnets: ec2.SubnetSelection;
  readonly callSecurityGroup: ec2.ISecurityGroup;
  /** Of the profiles that the settings offer. */
  readonly sandboxes: ReadonlyMap<NetworkProfile, SandboxNetwork>;
  readonly #settings: StageSettings;
  readonly #buckets: Readonly<Record<BucketName, s3.IBucket>>;

  constructor(scope: Construct, id: string, { settings, buckets, ...props }: NetworkStackProps) {
    super(scope, id, props);
    this.#settings = settings;
    this.#buckets = buckets;
    const { vpc, profiles, s3PrefixListId } = settings.network;
    this.vpc = vpc.kind === 'own' ? this.#makeVpc(vpc) : this.#importVpc(vpc);
    const subnetsOf = (purpose: Purpose): readonly ec2.ISubnet[] =>
      vpc.kind === 'own'
        ? this.vpc.selectSubnets({ subnetGroupName: purpose }).subnets
        : this.#importSubnets(purpose, vpc[purpose]);
    const graders = closedGroup(this, 'GraderGroup', this.vpc, 'Exam Hall graders: S3 and nothing else');
    allowS3(graders, s3PrefixListId);
    this.graderSecurityGroup = graders;
    this.graderSubnets = { subnets: [...subnetsOf('grader')] };
    const isBesideGraders = vpc.kind === 'existing' && vpc.calls === null;
    this.callSubnets = isBesideGraders ? this.graderSubnets : { subnets: [...subnetsOf('calls')] };
    const groups = new Map(profiles.map((profile) => [profile, this.#sandboxGroup(profile)]));
    const calls = closedGroup(this, 'CallGroup', this.vpc, 'Exam Hall calls to guests: sandboxes and nothing else');
    allowCalls(calls, groups, settings.sandboxes.staticHosts);
    this.callSecurityGroup = calls;
    this.sandboxes = new Map(
      [...groups].map(([profile, securityGroup]) => [profile, { subnets: subnetsOf(profile), securityGroup }]),
    );
    if (vpc.kind === 'own') this.#addEndpoints(groups);
    else this.#useEndpoints(vpc, groups);
    this.#warnOfRefusedProfiles();
  }

  /** As many zones as the settings say; without an account CDK itself would know of two. */
  override get availabilityZones(): string[] {
    const { vpc } = this.#settings.network;
    if (vpc.kind === 'existing') return [...new Set(vpc.grader.subnets.map(({ zone }) => zone))];
    return Array.from({ length: vpc.zones }, (_, index) => Fn.select(index, Fn.getAzs()));
  }

  #makeVpc({ cidr, zones }: OwnVpc): ec2.Vpc {
    const { profiles } = this.#settings.network;
    const cidrMask = subnetMask(cidr, profiles.length, zones);
    const half = halfSubnetMask(cidr, profiles.length, zones);
    const isolated = (name: Purpose, mask: number): ec2.SubnetConfiguration => ({
      name,
      cidrMask: mask,
      subnetType: ec2.SubnetType.PRIVATE_ISOLATED,
    });
    const open = { name: 'open', cidrMask, subnetType: ec2.SubnetType.PUBLIC, mapPublicIpOnLaunch: true };
    const vpc = new ec2.Vpc(this, 'Vpc', {
      ipAddresses: ec2.IpAddresses.cidr(cidr),
      maxAzs: zones,
      natGateways: 0,
      subnetConfiguration: [
        ...(profiles.includes('open') ? [open] : []),
        ...(profiles.includes('sealed') ? [isolated('sealed', cidrMask)] : []),
        isolated('grader', half),
        isolated('calls', half),
      ],
    });
    const logGroup = new logs.LogGroup(this, 'FlowLogs', {
      retention: this.#settings.logRetentionDays,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    vpc.addFlowLog('FlowLog', { destination: ec2.FlowLogDestination.toCloudWatchLogs(logGroup) });
    return vpc;
  }

  #importVpc({ vpcId }: ExistingVpc): ec2.IVpc {
    return ec2.Vpc.fromVpcAttributes(this, 'Vpc', { vpcId, availabilityZones: this.availabilityZones });
  }

  #importSubnets(purpose: Purpose, existing: ExistingSubnets | null): readonly ec2.ISubnet[] {
    return (existing?.subnets ?? []).map(({ subnetId, zone, routeTableId }, index) =>
      ec2.Subnet.fromSubnetAttributes(this, `${purpose}-${String(index)}`, {
        subnetId,
        availabilityZone: zone,
        routeTableId,
      }),
    );
  }

  #sandboxGroup(profile: NetworkProfile): ec2.SecurityGroup {
    const { openPorts, s3PrefixListId } = this.#settings.network;
    const group = closedGroup(this, `SandboxGroup-${profile}`, this.vpc, `Exam Hall sandboxes of profile ${profile}`);
    if (profile === 'open') allowInternet(group, openPorts);
    else allowS3(group, s3PrefixListId);
    return group;
  }

  #addEndpoints(groups: ReadonlyMap<NetworkProfile, ec2.SecurityGroup>): void {
    const { artifacts, tasks, references } = this.#buckets;
    addS3Endpoint(
      this,
      'GraderS3',
      { vpc: this.vpc, subnets: this.graderSubnets },
      {
        readable: [
          artifacts.arnForObjects('attempts/*'),
          artifacts.arnForObjects('grades/*'),
          tasks.arnForObjects('tasks/*'),
          references.arnForObjects('tasks/*'),
        ],
        writable: [artifacts.arnForObjects('grades/*')],
      },
    );
    const sealed = groups.get('sealed');
    if (sealed === undefined) return;
    const placement = { vpc: this.vpc, subnets: { subnetGroupName: 'sealed' } };
    addS3Endpoint(this, 'SandboxS3', placement, {
      readable: [
        artifacts.arnForObjects('attempts/*'),
        tasks.arnForObjects('tasks/*'),
        tasks.arnForObjects('agents/*'),
        tasks.arnForObjects('solutions/*'),
        tasks.arnForObjects('boot/*'),
      ],
      writable: [artifacts.arnForObjects('attempts/*')],
    });
    const endpoints = closedGroup(this, 'EndpointGroup', this.vpc, 'Exam Hall: endpoints of AWS services');
    const services: readonly AgentService[] = [
      'ssm',
      'ssmmessages',
      ...(this.#settings.network.needsEc2Messages ? (['ec2messages'] as const) : []),
    ];
    addAgentEndpoints(this, placement, endpoints, services);
    allowEndpoints(sealed, endpoints);
    // With private DNS every sandbox of the VPC finds SSM behind these endpoints.
    for (const [profile, group] of groups) admitSandbox(endpoints, group, profile);
  }

  #useEndpoints(
    { endpointSecurityGroupId }: ExistingVpc,
    groups: ReadonlyMap<NetworkProfile, ec2.SecurityGroup>,
  ): void {
    const sealed = groups.get('sealed');
    if (sealed === undefined || endpointSecurityGroupId === null) return;
    allowEndpoints(
      sealed,
      ec2.SecurityGroup.fromSecurityGroupId(this, 'EndpointGroup', endpointSecurityGroupId, { mutable: false }),
    );
  }

  #warnOfRefusedProfiles(): void {
    for (const profile of this.#settings.network.profiles) {
      const refusal = networkRefusal(profile);
      if (refusal !== null)
        Annotations.of(this).addInfo(
          `profile ${profile} is built, but a sweep that asks for it is refused: ${refusal}`,
        );
    }
  }
}
