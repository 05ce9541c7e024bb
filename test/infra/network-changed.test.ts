import { describe, expect, it } from 'vitest';
import { stageSettings } from '#test/builders/stage-settings';
import { networkModel } from './network-model.ts';
import { walkNetwork } from './network-walk.ts';
import { appForTests } from './synth.ts';
import { resourceNamed, resourcesOf, type Resource } from './template.ts';

const settings = stageSettings();
const built = appForTests(settings);
const template: unknown = built.app.synth().getStackByName(built.network.stackName).template;
const input = { profiles: settings.network.profiles, openPorts: settings.network.openPorts };

type Resources = Record<string, { Type: string; Properties: Record<string, unknown> }>;

/** What the walk finds once the template is changed. */
function after(change: (resources: Resources) => void): readonly string[] {
  const copy = structuredClone(template) as { Resources: Resources };
  change(copy.Resources);
  return walkNetwork(networkModel(copy), input);
}

/** The one resource of a type that a logical id starts with. */
const named = (type: string, prefix: string): Resource => resourceNamed(template, `AWS::EC2::${type}`, prefix);
const without = (type: string, prefix: string) => (resources: Resources) => {
  Reflect.deleteProperty(resources, named(type, prefix).id);
};
const withProperty = (type: string, prefix: string, name: string, value: unknown) => (resources: Resources) => {
  Reflect.set(resources[named(type, prefix).id]?.Properties ?? {}, name, value);
};
const plus = (id: string, type: string, Properties: Record<string, unknown>) => (resources: Resources) => {
  resources[id] = { Type: `AWS::EC2::${type}`, Properties };
};
const anywhere = (port: number): object => ({ CidrIp: '0.0.0.0/0', IpProtocol: 'tcp', FromPort: port, ToPort: port });
const group = (prefix: string): object => ({ 'Fn::GetAtt': [named('SecurityGroup', prefix).id, 'GroupId'] });
const wideOpen = { Statement: [{ Effect: 'Allow', Principal: '*', Action: '*', Resource: '*' }] };

it('the walk finds nothing in the network as it is', () => {
  expect(after(() => undefined)).toEqual([]);
});

describe('the walk finds', () => {
  it.each<[string, (resources: Resources) => void, string]>([
    ['no default route', without('Route', 'VpcopenSubnet2'), 'open: does not reach the internet on port 443'],
    ['a gateway that is not attached', without('VPCGatewayAttachment', 'Vpc'), 'open: does not reach the internet'],
    [
      'no public address',
      withProperty('Subnet', 'VpcopenSubnet1', 'MapPublicIpOnLaunch', false),
      'open: has no route for s3:PutObject',
    ],
    [
      'a port that is closed',
      withProperty('SecurityGroup', 'SandboxGroupopen', 'SecurityGroupEgress', [anywhere(443)]),
      'on port 80',
    ],
    [
      'a port that nobody asked for',
      withProperty('SecurityGroup', 'SandboxGroupopen', 'SecurityGroupEgress', [80, 443, 25].map(anywhere)),
      'open: may leave on ports 25 to 25',
    ],
    [
      'open sandboxes shut out of the endpoints that their DNS names',
      without('SecurityGroupIngress', 'EndpointGroupfromExamHalldefaultnetworkSandboxGroupopen'),
      'open: is not let through to ssm',
    ],
    [
      'sealed ones shut out',
      without('SecurityGroupIngress', 'EndpointGroupfromExamHalldefaultnetworkSandboxGroupsealed'),
      'sealed: is not let through to ssm',
    ],
    ['no endpoint of ssm', without('VPCEndpoint', 'Endpointssm3'), 'sealed: has no route to ssm'],
    [
      'no endpoint of ssmmessages',
      without('VPCEndpoint', 'Endpointssmmessages'),
      'sealed: has no route to ssmmessages',
    ],
    [
      'an endpoint without private DNS',
      withProperty('VPCEndpoint', 'Endpointssm3', 'PrivateDnsEnabled', false),
      'sealed: has no route to ssm',
    ],
    [
      'an endpoint for everything',
      withProperty('VPCEndpoint', 'Endpointssm3', 'PolicyDocument', wideOpen),
      'sealed: may call ssm:GetParameter',
    ],
    [
      'S3 without a route table',
      withProperty('VPCEndpoint', 'SandboxS3', 'RouteTableIds', []),
      'sealed: has no route for s3:GetObject arn:aws:s3:::tasks',
    ],
    [
      'S3 for everybody',
      withProperty('VPCEndpoint', 'SandboxS3', 'PolicyDocument', wideOpen),
      'sealed: has a route for s3:GetObject arn:aws:s3:::references',
    ],
    [
      'S3 without a policy',
      withProperty('VPCEndpoint', 'SandboxS3', 'PolicyDocument', undefined),
      'sealed: has a route for s3:PutObject arn:aws:s3:::somebody-else/loot',
    ],
    [
      'a group without a way out',
      withProperty('SecurityGroup', 'SandboxGroupsealed', 'SecurityGroupEgress', []),
      'sealed: has no route for s3:GetObject',
    ],
    [
      'a sealed subnet with a route out',
      (resources) =>
        plus('Leak', 'Route', {
          RouteTableId: { Ref: named('RouteTable', 'VpcsealedSubnet1').id },
          DestinationCidrBlock: '0.0.0.0/0',
          NatGatewayId: 'nat-1',
        })(resources),
      'sealed: has a route to 0.0.0.0/0 through nat-1',
    ],
    [
      'a sealed subnet with a peering',
      (resources) =>
        plus('Leak', 'Route', {
          RouteTableId: { Ref: named('RouteTable', 'VpcsealedSubnet2').id },
          DestinationCidrBlock: '10.0.0.0/8',
          VpcPeeringConnectionId: 'pcx-1',
        })(resources),
      'sealed: has a route to 10.0.0.0/8',
    ],
    [
      'sealed sandboxes let out by another port',
      withProperty('SecurityGroup', 'SandboxGroupsealed', 'SecurityGroupEgress', [anywhere(443), anywhere(22)]),
      'sealed: may leave to 0.0.0.0/0 on more than port 443',
    ],
    [
      'graders without S3',
      without('VPCEndpoint', 'GraderS3'),
      'grader: has no route for s3:GetObject arn:aws:s3:::references',
    ],
    [
      'graders that may write anywhere',
      withProperty('VPCEndpoint', 'GraderS3', 'PolicyDocument', wideOpen),
      'grader: has a route for s3:PutObject arn:aws:s3:::somebody-else',
    ],
    [
      'graders with a way out',
      (resources) =>
        plus('Leak', 'Route', {
          RouteTableId: { Ref: named('RouteTable', 'VpcgraderSubnet1').id },
          DestinationCidrBlock: '0.0.0.0/0',
          GatewayId: 'igw-1',
        })(resources),
      'grader: has a route to 0.0.0.0/0',
    ],
    [
      'sandboxes reached from outside',
      withProperty('SecurityGroup', 'SandboxGroupopen', 'SecurityGroupIngress', [anywhere(8000)]),
      'open: is reached by 0.0.0.0/0 on ports 8000',
    ],
    [
      'sandboxes reached from another sandbox',
      (resources) =>
        plus('In', 'SecurityGroupIngress', {
          GroupId: group('SandboxGroupopen'),
          SourceSecurityGroupId: group('SandboxGroupsealed'),
          IpProtocol: 'tcp',
          FromPort: 1,
          ToPort: 65535,
        })(resources),
      'open: is reached by SandboxGroupsealed',
    ],
    [
      'graders reached from a sandbox',
      (resources) =>
        plus('In', 'SecurityGroupIngress', {
          GroupId: group('GraderGroup'),
          SourceSecurityGroupId: group('SandboxGroupopen'),
          IpProtocol: '-1',
        })(resources),
      'grader: is reached by SandboxGroupopen',
    ],
    [
      'endpoints reached by address',
      withProperty('SecurityGroup', 'EndpointGroup', 'SecurityGroupIngress', [
        { CidrIp: '10.0.0.0/8', IpProtocol: 'tcp', FromPort: 443, ToPort: 443 },
      ]),
      'lets in 10.0.0.0/8',
    ],
    [
      'sandboxes that no call reaches',
      (resources) => {
        for (const { id, Properties } of resourcesOf(template, 'AWS::EC2::SecurityGroupIngress'))
          if (Properties['FromPort'] === 5000) Reflect.deleteProperty(resources, id);
      },
      'open: is not reached by calls',
    ],
    [
      'calls that may go to any port of a sandbox',
      (resources) =>
        plus('Out', 'SecurityGroupEgress', {
          GroupId: group('CallGroup'),
          DestinationSecurityGroupId: group('SandboxGroupopen'),
          IpProtocol: 'tcp',
          FromPort: 1,
          ToPort: 65535,
        })(resources),
      'calls: may leave to SandboxGroupopen:tcp 1-65535',
    ],
    [
      'calls that may go to the graders',
      (resources) =>
        plus('Out', 'SecurityGroupEgress', {
          GroupId: group('CallGroup'),
          DestinationSecurityGroupId: group('GraderGroup'),
          IpProtocol: 'tcp',
          FromPort: 5000,
          ToPort: 5000,
        })(resources),
      'calls: may leave to GraderGroup',
    ],
    [
      'calls with a way out',
      (resources) =>
        plus('Leak', 'Route', {
          RouteTableId: { Ref: named('RouteTable', 'VpccallsSubnet1').id },
          DestinationCidrBlock: '0.0.0.0/0',
          GatewayId: 'igw-1',
        })(resources),
      'calls: has a route to 0.0.0.0/0',
    ],
    [
      'calls reached from a sandbox',
      (resources) =>
        plus('In', 'SecurityGroupIngress', {
          GroupId: group('CallGroup'),
          SourceSecurityGroupId: group('SandboxGroupopen'),
          IpProtocol: 'tcp',
          FromPort: 443,
          ToPort: 443,
        })(resources),
      'calls: is reached by SandboxGroupopen',
    ],
    [
      'a profile without subnets',
      (resources) => {
        for (const { id } of resourcesOf(template, 'AWS::EC2::Subnet'))
          if (id.includes('sealed')) Reflect.deleteProperty(resources, id);
      },
      'sealed: has no subnet',
    ],
  ])('%s', (_, change, problem) => {
    expect(after(change)).toContainEqual(expect.stringContaining(problem));
  });
});
