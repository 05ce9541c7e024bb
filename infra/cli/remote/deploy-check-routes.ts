import type { RouteTable, VpcEndpoint } from '@aws-sdk/client-ec2';
import type { SeenNetwork, SeenTable } from '../../config/seen-routes.ts';
import type { StageSettings } from '../../config/settings.ts';
import { clientOptions, type AwsSession } from './aws-session.ts';
import { checked, fail, pass, warn, type DeployCheck } from './deploy-check.ts';

const RIGHT = 'ec2:DescribeRouteTables, ec2:DescribeVpcEndpoints and ec2:DescribeSubnets';

/** Looks into an existing VPC and compares its routes with the settings; none for a VPC of ours, whose routes are synthesised. */
export async function routeChecks(
  { vpc, needsEc2Messages }: StageSettings['network'],
  session: AwsSession,
): Promise<readonly DeployCheck[]> {
  if (vpc.kind === 'own') return [];
  const check = await checked('routes', RIGHT, async () => {
    const { routeDifferences } = await import('../../config/seen-routes.ts');
    const differences = routeDifferences({ vpc, needsEc2Messages }, await seenNetwork(vpc.vpcId, session));
    const told = [...new Set(differences.map(({ message }) => message))].join('\n');
    const remedy = 'correct the network, or what network.vpc says of it';
    if (differences.some(({ fails }) => fails)) return fail(told, remedy);
    if (differences.length > 0) return warn(told, remedy);
    return pass(`the subnets of ${vpc.vpcId} have the routes and endpoints that the settings name`);
  });
  return [check];
}

async function seenNetwork(vpcId: string, session: AwsSession): Promise<SeenNetwork> {
  const ec2 = await import('@aws-sdk/client-ec2');
  const client = new ec2.EC2Client(clientOptions(session));
  const Filters = [{ Name: 'vpc-id', Values: [vpcId] }];
  try {
    const tables: SeenTable[] = [];
    for await (const page of ec2.paginateDescribeRouteTables({ client }, { Filters })) {
      tables.push(...(page.RouteTables ?? []).map(tableSeen));
    }
    const endpoints: SeenNetwork['endpoints'][number][] = [];
    for await (const page of ec2.paginateDescribeVpcEndpoints({ client }, { Filters })) {
      endpoints.push(...(page.VpcEndpoints ?? []).filter(isAvailable).map(endpointSeen));
    }
    const zones = new Map<string, string>();
    for await (const page of ec2.paginateDescribeSubnets({ client }, { Filters })) {
      for (const { SubnetId = '', AvailabilityZone = '' } of page.Subnets ?? []) zones.set(SubnetId, AvailabilityZone);
    }
    return { tables, endpoints, zones };
  } finally {
    client.destroy();
  }
}

function tableSeen({ RouteTableId = '', Associations = [], Routes = [] }: RouteTable): SeenTable {
  return {
    id: RouteTableId,
    isMain: Associations.some(({ Main }) => Main === true),
    subnetIds: Associations.flatMap(({ SubnetId }) => SubnetId ?? []),
    routes: Routes.map((route) => ({
      to: route.DestinationCidrBlock ?? route.DestinationPrefixListId ?? route.DestinationIpv6CidrBlock ?? '?',
      target:
        route.NatGatewayId ??
        route.GatewayId ??
        route.EgressOnlyInternetGatewayId ??
        route.TransitGatewayId ??
        route.VpcPeeringConnectionId ??
        route.LocalGatewayId ??
        route.CarrierGatewayId ??
        route.CoreNetworkArn ??
        route.NetworkInterfaceId ??
        route.InstanceId ??
        'an unknown target',
      isActive: route.State !== 'blackhole',
    })),
  };
}

const isAvailable = ({ State }: VpcEndpoint): boolean => State?.toLowerCase() === 'available';

function endpointSeen(endpoint: VpcEndpoint): SeenNetwork['endpoints'][number] {
  const { VpcEndpointId = '', ServiceName = '', VpcEndpointType, Groups = [], PrivateDnsEnabled } = endpoint;
  const kinds = { Gateway: 'gateway', Interface: 'interface' } as const;
  const kind = VpcEndpointType === 'Gateway' || VpcEndpointType === 'Interface' ? kinds[VpcEndpointType] : 'other';
  return {
    id: VpcEndpointId,
    service: ServiceName.split('.').at(-1) ?? '',
    kind,
    groupIds: Groups.flatMap(({ GroupId }) => GroupId ?? []),
    hasPrivateNames: PrivateDnsEnabled === true,
  };
}
