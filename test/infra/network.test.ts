import { describe, expect, it } from 'vitest';
import { exampleSettings, stageSettings } from '#test/builders/stage-settings';
import { networkRefusal } from '#core/network-profile';
import type { StageSettings } from '../../infra/config/settings.ts';
import { networkModel } from './network-model.ts';
import { walkNetwork, type WalkInput } from './network-walk.ts';
import { appForTests } from './synth.ts';
import { resourcesOf } from './template.ts';

function networkOf(settings: StageSettings): { template: unknown; messages: readonly string[] } {
  const { app, network } = appForTests(settings);
  const stack = app.synth().getStackByName(network.stackName);
  const template: unknown = stack.template;
  return { template, messages: stack.messages.map(({ entry }) => JSON.stringify(entry.data)) };
}

const settings = stageSettings();
const { network } = settings;
const { template, messages } = networkOf(settings);
const input: WalkInput = { profiles: ['open', 'sealed'], openPorts: network.openPorts };

describe('a VPC of our own', () => {
  it('gives sandboxes of each profile and graders a route to all that they need, and to nothing else, and lets nobody in', () => {
    expect(networkModel(template).subnets).toHaveLength(8);
    expect(walkNetwork(networkModel(template), input)).toEqual([]);
  });

  it.each([1, 3])('does so in %i zones, with older agents, ports of its own and the prefix list of S3', (zones) => {
    const changed = {
      ...network,
      vpc: { kind: 'own' as const, cidr: '10.9.0.0/20', zones },
      openPorts: [443, 8443],
      needsEc2Messages: true,
      s3PrefixListId: 'pl-0123456789abcdef0',
    };
    const other = networkModel(networkOf({ ...settings, network: changed }).template);
    expect(other.subnets).toHaveLength(4 * zones);
    expect(other.endpoints.map(({ service }) => service).sort()).toEqual(['ec2messages', 'ssm', 'ssmmessages']);
    expect(walkNetwork(other, { ...input, openPorts: [443, 8443] })).toEqual([]);
    const narrow = [...other.groups].filter(([id]) => /^(?:GraderGroup|SandboxGroupsealed)/.test(id));
    expect(narrow).toHaveLength(2);
    for (const [, { egress }] of narrow) expect(egress.map(({ peer }) => peer)).not.toContain('0.0.0.0/0');
  });

  it.each(['open', 'sealed'] as const)('has nothing of the other profile when only %s is offered', (profile) => {
    const alone = networkOf({ ...settings, network: { ...network, profiles: [profile] } }).template;
    expect(walkNetwork(networkModel(alone), { ...input, profiles: [profile] })).toEqual([]);
    const purposes = new Set(networkModel(alone).subnets.map(({ purpose }) => purpose));
    expect([...purposes].sort()).toEqual(['calls', 'grader', profile].sort());
    expect(resourcesOf(alone, 'AWS::EC2::InternetGateway')).toHaveLength(profile === 'open' ? 1 : 0);
    expect(resourcesOf(alone, 'AWS::EC2::VPCEndpoint')).toHaveLength(profile === 'open' ? 1 : 4);
  });

  it('pays for no NAT gateway and no fixed address, and logs every flow for as long as the settings say', () => {
    expect(resourcesOf(template, 'AWS::EC2::NatGateway')).toEqual([]);
    expect(resourcesOf(template, 'AWS::EC2::EIP')).toEqual([]);
    const [flowLog, ...more] = resourcesOf(template, 'AWS::EC2::FlowLog');
    expect(more).toEqual([]);
    expect(flowLog?.Properties).toMatchObject({ TrafficType: 'ALL', ResourceType: 'VPC' });
    const [logGroup] = resourcesOf(template, 'AWS::Logs::LogGroup');
    expect(logGroup?.Properties['RetentionInDays']).toBe(settings.logRetentionDays);
  });

  it('says at synthesis that a sweep may not ask for sealed yet', () => {
    expect(networkRefusal('sealed')).not.toBeNull();
    expect(messages).toContainEqual(
      expect.stringContaining('profile sealed is built, but a sweep that asks for it is refused'),
    );
  });
});

describe('a VPC that is there already', () => {
  const example = exampleSettings();
  const { template: own } = networkOf(example);

  it('is left as it is: only security groups are made', () => {
    expect([...new Set(resourcesOf(own).map(({ Type }) => Type))].sort()).toEqual(
      ['AWS::EC2::SecurityGroup', 'AWS::EC2::SecurityGroupEgress', 'AWS::EC2::SecurityGroupIngress'].filter(
        (type) => resourcesOf(own, type).length > 0,
      ),
    );
    const groups = networkModel(own).groups;
    expect([...groups.keys()].map((id) => id.replace(/[0-9A-F]{8}$/, '').slice(0, 12)).sort()).toEqual([
      'CallGroup',
      'GraderGroup',
      'SandboxGroup',
      'SandboxGroup',
    ]);
  });

  it('lets sandboxes and graders out to what they need and lets nobody in', () => {
    const plain = (id: string): string => id.replace(/[0-9A-F]{8}$/, '');
    const groups = new Map([...networkModel(own).groups].map(([id, each]) => [plain(id), each]));
    const peers = (id: string, way: 'ingress' | 'egress' = 'egress'): readonly string[] =>
      (groups.get(id)?.[way] ?? []).map(({ peer, from, to }) => `${plain(peer)} ${String(from)}-${String(to)}`);
    expect(peers('GraderGroup')).toEqual(['pl-0123456789abcdef0 443-443']);
    expect(peers('SandboxGroupopen')).toEqual(['0.0.0.0/0 80-80', '0.0.0.0/0 443-443']);
    expect([...peers('SandboxGroupsealed')].sort()).toEqual([
      'pl-0123456789abcdef0 443-443',
      'sg-0d0000000000000d0 443-443',
    ]);
    expect([...peers('CallGroup')].sort()).toEqual(['SandboxGroupopen 5000-5000', 'SandboxGroupsealed 5000-5000']);
    for (const profile of ['open', 'sealed'])
      expect(peers(`SandboxGroup${profile}`, 'ingress')).toEqual(['CallGroup 5000-5000']);
    expect([...peers('GraderGroup', 'ingress'), ...peers('CallGroup', 'ingress')]).toEqual([]);
  });

  it('has calls beside its graders, or in subnets of their own, from where static machines are reached by address', () => {
    const { vpc } = example.network;
    if (vpc.kind === 'own') throw new Error('the example has a VPC of its own');
    expect(appForTests(example).network.callSubnets.subnets?.map(({ subnetId }) => subnetId)).toEqual(
      vpc.grader.subnets.map(({ subnetId }) => subnetId),
    );
    const calls = {
      ...vpc.grader,
      subnets: [{ subnetId: 'subnet-0e', zone: 'eu-central-1a', routeTableId: 'rtb-0e' }],
    };
    const changed = {
      ...example,
      network: { ...example.network, vpc: { ...vpc, calls } },
      sandboxes: { ...example.sandboxes, staticHosts: ['10.9.8.7:8000'] },
    };
    const { template: other } = networkOf(changed);
    expect(appForTests(changed).network.callSubnets.subnets?.map(({ subnetId }) => subnetId)).toEqual(['subnet-0e']);
    const [group] = [...networkModel(other).groups].filter(([id]) => id.startsWith('CallGroup'));
    expect(group?.[1].egress.filter(({ peer }) => peer.includes('/'))).toEqual([
      { peer: '10.9.8.7/32', protocol: 'tcp', from: 8000, to: 8000 },
    ]);
  });

  it('has its subnets handed to the functions and sandboxes that run there', () => {
    const { network: stack } = appForTests(example);
    const { vpc } = example.network;
    if (vpc.kind === 'own') throw new Error('the example has a VPC of its own');
    expect(stack.graderSubnets.subnets?.map(({ subnetId }) => subnetId)).toEqual(
      vpc.grader.subnets.map(({ subnetId }) => subnetId),
    );
    expect(stack.sandboxes.get('sealed')?.subnets.map(({ subnetId }) => subnetId)).toEqual(
      vpc.sealed?.subnets.map(({ subnetId }) => subnetId),
    );
    expect([...stack.sandboxes.keys()]).toEqual(example.network.profiles);
  });
});
