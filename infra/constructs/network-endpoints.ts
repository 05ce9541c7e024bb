import { Aws } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/** What the SSM agent of a sandbox calls: messages in both directions, and nothing that reads parameters or documents of ours. */
export const AGENT_ACTIONS = {
  ssm: ['ssm:ListInstanceAssociations', 'ssm:UpdateInstanceInformation'],
  ssmmessages: [
    'ssmmessages:CreateControlChannel',
    'ssmmessages:CreateDataChannel',
    'ssmmessages:OpenControlChannel',
    'ssmmessages:OpenDataChannel',
  ],
  ec2messages: [
    'ec2messages:AcknowledgeMessage',
    'ec2messages:DeleteMessage',
    'ec2messages:FailMessage',
    'ec2messages:GetEndpoint',
    'ec2messages:GetMessages',
    'ec2messages:SendReply',
  ],
} as const satisfies Record<string, readonly string[]>;
export type AgentService = keyof typeof AGENT_ACTIONS;

const SERVICES: Readonly<Record<AgentService, ec2.InterfaceVpcEndpointAwsService>> = {
  ssm: ec2.InterfaceVpcEndpointAwsService.SSM,
  ssmmessages: ec2.InterfaceVpcEndpointAwsService.SSM_MESSAGES,
  ec2messages: ec2.InterfaceVpcEndpointAwsService.EC2_MESSAGES,
};

/** Through an endpoint of ours only our own account's principals: nobody can carry data out with credentials brought along. */
const ownAccount = { StringEquals: { 'aws:PrincipalAccount': Aws.ACCOUNT_ID } };

const allow = (actions: readonly string[], resources: readonly string[]): iam.PolicyStatement =>
  new iam.PolicyStatement({
    principals: [new iam.AnyPrincipal()],
    actions: [...actions],
    resources: [...resources],
    conditions: ownAccount,
  });

export interface ObjectAccess {
  /** ARNs of objects, with `*` for any rest of a key. */
  readonly readable: readonly string[];
  readonly writable: readonly string[];
}

export interface Placement {
  readonly vpc: ec2.IVpc;
  readonly subnets: ec2.SubnetSelection;
}

/** Routes the subnets to S3, where they may read and write what is named and no other object of anybody. */
export function addS3Endpoint(scope: Construct, id: string, { vpc, subnets }: Placement, access: ObjectAccess): void {
  const endpoint = new ec2.GatewayVpcEndpoint(scope, id, {
    vpc,
    service: ec2.GatewayVpcEndpointAwsService.S3,
    subnets: [subnets],
  });
  endpoint.addToPolicy(allow(['s3:GetObject'], access.readable));
  endpoint.addToPolicy(allow(['s3:PutObject'], access.writable));
}

/** Lets the SSM agents in the subnets reach their services without any route out. */
export function addAgentEndpoints(
  scope: Construct,
  { vpc, subnets }: Placement,
  securityGroup: ec2.ISecurityGroup,
  services: readonly AgentService[],
): void {
  for (const service of services) {
    const endpoint = new ec2.InterfaceVpcEndpoint(scope, `Endpoint-${service}`, {
      vpc,
      subnets,
      service: SERVICES[service],
      securityGroups: [securityGroup],
      open: false,
      privateDnsEnabled: true,
    });
    endpoint.addToPolicy(allow(AGENT_ACTIONS[service], ['*']));
  }
}
