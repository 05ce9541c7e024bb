import { FORBIDDEN, neededRoutes, PURPOSES, WHO, type Purpose } from './network-routes.ts';
import type { ExistingSubnets, NetworkSettings, Route } from './network-settings.ts';

/** A route table as it is. */
export interface SeenTable {
  readonly id: string;
  readonly isMain: boolean;
  readonly subnetIds: readonly string[];
  readonly routes: readonly { readonly to: string; readonly target: string; readonly isActive: boolean }[];
}

/** What a network holds, as far as routes go. */
export interface SeenNetwork {
  /** Zone of each subnet that is there. */
  readonly zones: ReadonlyMap<string, string>;
  readonly tables: readonly SeenTable[];
  /** Endpoints that work: service as `s3` or `ssm`, and who may ask them. */
  readonly endpoints: readonly {
    readonly id: string;
    readonly service: string;
    readonly kind: 'gateway' | 'interface' | 'other';
    readonly groupIds: readonly string[];
    readonly hasPrivateNames: boolean;
  }[];
}

/** A difference between a network and what settings say of it; `fails` where units could not run, or could get out. */
export interface RouteDifference {
  readonly message: string;
  readonly fails: boolean;
}

/** Endpoints that serve a whole network by their names; they are in no route table. */
const INTERFACES = {
  ssm: 'ssm-endpoint',
  ssmmessages: 'ssmmessages-endpoint',
  ec2messages: 'ec2messages-endpoint',
} as const;
const GATEWAYS = { s3: 's3-gateway', dynamodb: 'dynamodb-gateway' } as const;
/** A route to the internet is one to all of it. */
const EVERYWHERE = '0.0.0.0/0 ';
const TO_INTERNET: readonly Route[] = ['internet-gateway', 'nat-gateway'];
type Vpc = Extract<NetworkSettings['vpc'], { readonly kind: 'existing' }>;

/** Compares what settings promise of an existing network with what was seen in it. */
export function routeDifferences(
  { vpc, needsEc2Messages }: { readonly vpc: Vpc; readonly needsEc2Messages: boolean },
  seen: SeenNetwork,
): readonly RouteDifference[] {
  return PURPOSES.flatMap((purpose) => {
    const existing = vpc[purpose];
    if (existing === null) return [];
    return existing.subnets.flatMap((subnet) => {
      const { table, problems } = tableOf(subnet, seen);
      if (table === null) return problems;
      const routes = routesOf(table, vpc, seen);
      return [...problems, ...compared({ purpose, existing, needsEc2Messages }, table, routes)];
    });
  });
}

type Subnet = ExistingSubnets['subnets'][number];

/** The table that a subnet really uses: the one it is associated with, else the main one of its network. */
function tableOf(
  { subnetId, zone, routeTableId }: Subnet,
  { zones, tables }: SeenNetwork,
): { readonly table: SeenTable | null; readonly problems: readonly RouteDifference[] } {
  const seenZone = zones.get(subnetId);
  if (seenZone === undefined) return { table: null, problems: [failure(`there is no ${subnetId} in this network`)] };
  const table = tables.find(({ subnetIds }) => subnetIds.includes(subnetId)) ?? tables.find(({ isMain }) => isMain);
  const problems = [
    ...(seenZone === zone ? [] : [failure(`${subnetId} lies in ${seenZone}, not in ${zone}`)]),
    ...(table === undefined ? [failure(`${subnetId} has no route table`)] : []),
    ...(table !== undefined && table.id !== routeTableId
      ? [failure(`${subnetId} uses ${table.id}, not ${routeTableId}`)]
      : []),
  ];
  return { table: table ?? null, problems };
}

/** Kinds of routes that lead out of a table, with one target of each; routes to nowhere are none. */
function routesOf(table: SeenTable, vpc: Vpc, { endpoints }: SeenNetwork): ReadonlyMap<Route, string> {
  const found = new Map<Route, string>();
  for (const { to, target, isActive } of table.routes) {
    const kind = isActive ? kindOf(target, endpoints) : null;
    if (kind !== null && found.get(kind)?.startsWith(EVERYWHERE) !== true) found.set(kind, `${to} by ${target}`);
  }
  for (const { id, service, kind, groupIds, hasPrivateNames } of endpoints) {
    const route = Object.entries(INTERFACES).find(([name]) => name === service)?.[1];
    if (route === undefined || kind !== 'interface' || !hasPrivateNames) continue;
    const group = vpc.endpointSecurityGroupId;
    if (group === null || groupIds.includes(group)) found.set(route, id);
  }
  return found;
}

/** What stands behind a target; null for the network itself. */
function kindOf(target: string, endpoints: SeenNetwork['endpoints']): Route | null {
  if (target === 'local') return null;
  if (/^e?igw-/u.test(target)) return 'internet-gateway';
  if (target.startsWith('nat-')) return 'nat-gateway';
  const endpoint = endpoints.find(({ id }) => id === target);
  if (endpoint?.kind === 'gateway') {
    return Object.entries(GATEWAYS).find(([name]) => name === endpoint.service)?.[1] ?? 'other-network';
  }
  // An endpoint that does not work is listed nowhere and leads nowhere; whatever else it is leads elsewhere.
  return endpoint === undefined && target.startsWith('vpce-') ? null : 'other-network';
}

interface Promised {
  readonly purpose: Purpose;
  readonly existing: ExistingSubnets;
  readonly needsEc2Messages: boolean;
}

function compared(
  { purpose, existing, needsEc2Messages }: Promised,
  table: SeenTable,
  seen: ReadonlyMap<Route, string>,
): readonly RouteDifference[] {
  const where = `${table.id} (${purpose})`;
  const isThere = (route: Route): boolean =>
    seen.has(route) && (!TO_INTERNET.includes(route) || seen.get(route)?.startsWith(EVERYWHERE) === true);
  const lacking = neededRoutes(purpose, needsEc2Messages).filter((some) => !some.some(isThere));
  const broken = existing.routes.filter((route) => !isThere(route) && !lacking.flat().includes(route));
  const isNetworkWide = (route: Route): boolean => Object.values(INTERFACES).some((each) => each === route);
  const excess = [...seen].filter(([route]) => FORBIDDEN[purpose].includes(route));
  const untold = [...seen].filter(
    ([route]) => !existing.routes.includes(route) && !FORBIDDEN[purpose].includes(route) && !isNetworkWide(route),
  );
  return [
    ...lacking.map((some) => failure(`${where} has no ${some.join(' or ')}, which ${WHO[purpose]} needs`)),
    ...broken.map((route) => failure(`${where} has no ${route}, which the settings promise`)),
    ...excess.map(([route, by]) =>
      failure(`${where} has ${route} (${by}): ${WHO[purpose]} could reach more than it may`),
    ),
    ...untold.map(([route, by]) => ({
      message: `${where} has ${route} (${by}), which the settings do not name`,
      fails: false,
    })),
  ];
}

const failure = (message: string): RouteDifference => ({ message, fails: true });
