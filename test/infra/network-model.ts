import * as z from 'zod';
import type { NetworkProfile } from '../../infra/config/network-settings.ts';
import { statementsOf, type Statement } from './iam-evaluator.ts';
import { filledIn } from './resolve-statements.ts';
import { resourcesOf, type Resource } from './template.ts';

export type Purpose = NetworkProfile | 'grader' | 'calls';

/** One rule of a security group. `peer` is a CIDR, a prefix list's id, or the logical id of a group. */
export interface GroupRule {
  readonly peer: string;
  readonly protocol: string;
  readonly from: number;
  readonly to: number;
}

export interface SubnetModel {
  readonly id: string;
  readonly purpose: string;
  readonly givesPublicAddress: boolean;
  /** Destinations of its route table and where each leads (logical ids). */
  readonly routes: readonly { readonly to: string; readonly through: string }[];
  /** Gateway endpoints of its route table. */
  readonly gateways: readonly EndpointModel[];
}

export interface EndpointModel {
  readonly id: string;
  readonly service: string;
  readonly isInterface: boolean;
  readonly hasPrivateDns: boolean;
  readonly groups: readonly string[];
  readonly policy: readonly Statement[];
}

export interface NetworkModel {
  readonly subnets: readonly SubnetModel[];
  /** Logical ids of internet gateways that are attached to the VPC. */
  readonly internetGateways: readonly string[];
  readonly endpoints: readonly EndpointModel[];
  readonly groups: ReadonlyMap<
    string,
    { readonly ingress: readonly GroupRule[]; readonly egress: readonly GroupRule[] }
  >;
}

const RuleSchema = z.looseObject({
  IpProtocol: z.string(),
  FromPort: z.number().optional(),
  ToPort: z.number().optional(),
});
const PEERS = [
  'CidrIp',
  'CidrIpv6',
  'DestinationPrefixListId',
  'SourcePrefixListId',
  'DestinationSecurityGroupId',
  'SourceSecurityGroupId',
];

/** The logical id that a Ref or a GetAtt points to, or the text itself. */
export function idOf(value: unknown): string {
  const parsed = z
    .union([
      z.string(),
      z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
      z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((get) => get['Fn::GetAtt'][0]),
    ])
    .safeParse(value);
  if (!parsed.success) throw new Error(`no reference: ${JSON.stringify(value)}`);
  return parsed.data;
}

function ruleOf(value: unknown): GroupRule {
  const rule = RuleSchema.parse(value);
  const peer = PEERS.map((name) => rule[name]).find((each) => each !== undefined);
  if (peer === undefined) throw new Error(`a rule without a peer: ${JSON.stringify(value)}`);
  return { peer: idOf(peer), protocol: rule.IpProtocol, from: rule.FromPort ?? 0, to: rule.ToPort ?? 65_535 };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const ImportSchema = z.strictObject({ 'Fn::ImportValue': z.string() });

/** Other stacks' buckets, by the name of their construct in the export. */
function bucketArn(reference: unknown): string | undefined {
  const name = ImportSchema.safeParse(reference).data?.['Fn::ImportValue'] ?? '';
  const [, bucket] = /GetAtt(Artifacts|Tasks|References)[0-9A-F]{8}Arn/u.exec(name) ?? [];
  return bucket === undefined ? undefined : `arn:aws:s3:::${bucket.toLowerCase()}`;
}

const PolicySchema = z.looseObject({ Statement: z.array(z.unknown()) });

function endpointOf({ id, Properties }: Resource): EndpointModel {
  const policy = PolicySchema.parse(
    Properties['PolicyDocument'] ?? { Statement: [{ Effect: 'Allow', Action: '*', Resource: '*' }] },
  );
  return {
    id,
    service: String(filledIn(Properties['ServiceName'])).split('.').at(-1) ?? '',
    isInterface: Properties['VpcEndpointType'] === 'Interface',
    hasPrivateDns: Properties['PrivateDnsEnabled'] === true,
    groups: listOf(Properties['SecurityGroupIds']).map(idOf),
    policy: statementsOf(policy.Statement.map((statement) => filledIn(statement, bucketArn))),
  };
}

const TagsSchema = z.array(z.object({ Key: z.string(), Value: z.string() }));

/** What a template's network lets through, read from the template alone. */
export function networkModel(template: unknown): NetworkModel {
  const of = (type: string): readonly Resource[] => resourcesOf(template, `AWS::EC2::${type}`);
  const endpoints = of('VPCEndpoint');
  const subnets = of('Subnet').map(({ id, Properties }): SubnetModel => {
    const tables = of('SubnetRouteTableAssociation')
      .filter((association) => idOf(association.Properties['SubnetId']) === id)
      .map((association) => idOf(association.Properties['RouteTableId']));
    const isMine = (table: unknown): boolean => tables.includes(idOf(table));
    return {
      id,
      purpose: TagsSchema.parse(Properties['Tags']).find(({ Key }) => Key === 'aws-cdk:subnet-name')?.Value ?? '',
      givesPublicAddress: Properties['MapPublicIpOnLaunch'] === true,
      routes: of('Route')
        .filter((route) => isMine(route.Properties['RouteTableId']))
        .map(({ Properties: { DestinationCidrBlock, DestinationIpv6CidrBlock, RouteTableId: _, ...target } }) => ({
          to: idOf(DestinationCidrBlock ?? DestinationIpv6CidrBlock ?? 'elsewhere'),
          through: Object.values(target).map(idOf).join(),
        })),
      gateways: endpoints.filter(({ Properties: each }) => listOf(each['RouteTableIds']).some(isMine)).map(endpointOf),
    };
  });
  const groups = of('SecurityGroup').map(({ id, Properties }) => {
    const rules = (direction: 'Ingress' | 'Egress'): readonly GroupRule[] => [
      ...listOf(Properties[`SecurityGroup${direction}`]).map(ruleOf),
      ...of(`SecurityGroup${direction}`)
        .filter((rule) => idOf(rule.Properties['GroupId']) === id)
        .map(({ Properties: { GroupId: _, ...rule } }) => ruleOf(rule)),
    ];
    return [id, { ingress: rules('Ingress'), egress: rules('Egress') }] as const;
  });
  return {
    subnets,
    internetGateways: of('VPCGatewayAttachment').map(({ Properties }) => idOf(Properties['InternetGatewayId'])),
    endpoints: endpoints.filter(({ Properties }) => Properties['VpcEndpointType'] === 'Interface').map(endpointOf),
    groups: new Map(groups),
  };
}
