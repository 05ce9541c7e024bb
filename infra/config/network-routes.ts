import type { ExistingSubnets, NetworkSettings, Route } from './network-settings.ts';

export type Purpose = 'open' | 'sealed' | 'grader' | 'calls';
export const PURPOSES = ['open', 'sealed', 'grader', 'calls'] as const satisfies readonly Purpose[];

export interface RouteProblem {
  /** Below `network`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly input: unknown;
}

/** Routes out that what runs there must not have. */
export const FORBIDDEN: Readonly<Record<Purpose, readonly Route[]>> = {
  open: ['other-network'],
  sealed: ['internet-gateway', 'nat-gateway', 'other-network'],
  grader: ['internet-gateway', 'nat-gateway', 'other-network'],
  // Static machines may be behind other networks; its security group names each.
  calls: ['internet-gateway', 'nat-gateway'],
};

/** Each entry is one need; any of its routes meets it. */
export function neededRoutes(purpose: Purpose, needsEc2Messages: boolean): readonly (readonly Route[])[] {
  if (purpose === 'open') return [['internet-gateway', 'nat-gateway']];
  if (purpose === 'grader') return [['s3-gateway']];
  if (purpose === 'calls') return [];
  return [
    ['s3-gateway'],
    ['ssm-endpoint'],
    ['ssmmessages-endpoint'],
    ...(needsEc2Messages ? [['ec2messages-endpoint'] as const] : []),
  ];
}

/** Who is in the subnets of a purpose. */
export const WHO: Readonly<Record<Purpose, string>> = {
  open: 'a sandbox of profile open',
  sealed: 'a sandbox of profile sealed',
  grader: 'a grader',
  calls: 'the function that calls guests',
};

/** What is wrong with the routes that settings promise: synthesis refuses a sandbox that could not be driven, and one that could get out. */
export function routeProblems({ vpc, profiles, needsEc2Messages }: NetworkSettings): readonly RouteProblem[] {
  if (vpc.kind === 'own') return [];
  const problems: RouteProblem[] = [];
  for (const purpose of PURPOSES) {
    const subnets = vpc[purpose];
    const isOffered = purpose === 'grader' || (purpose !== 'calls' && profiles.includes(purpose));
    if (subnets === null) {
      if (isOffered) {
        problems.push({
          path: ['vpc', purpose],
          input: null,
          message: `must name the subnets of ${WHO[purpose]}: network.profiles offers it`,
        });
      }
      continue;
    }
    problems.push(...problemsOf(purpose, subnets, needsEc2Messages));
  }
  if (vpc.sealed !== null && vpc.endpointSecurityGroupId === null) {
    const message =
      'must be the security group of the interface endpoints: the sandboxes of profile sealed may reach nothing else';
    problems.push({ path: ['vpc', 'endpointSecurityGroupId'], input: null, message });
  }
  return [
    ...problems,
    ...sharedParts(PURPOSES.flatMap((purpose) => placesOf(purpose, vpc[purpose]))),
    ...subnetProblems(PURPOSES.flatMap((purpose) => zonesOf(purpose, vpc[purpose]))),
  ];
}

interface ZonePlace {
  readonly purpose: Purpose;
  readonly subnetId: string;
  readonly zone: string;
  readonly path: readonly (string | number)[];
}

function zonesOf(purpose: Purpose, existing: ExistingSubnets | null): readonly ZonePlace[] {
  return (existing?.subnets ?? []).map(({ subnetId, zone }, index) => ({
    ...{ purpose, subnetId, zone },
    path: ['vpc', purpose, 'subnets', index],
  }));
}

/** A VPC lies in one region, and a subnet that is named twice is one. */
function subnetProblems(places: readonly ZonePlace[]): readonly RouteProblem[] {
  const regionOf = (zone: string): string => zone.slice(0, -1);
  const region = regionOf(places[0]?.zone ?? '');
  return places.flatMap(({ purpose, subnetId, zone, path }, index) => {
    const isTwice = places.slice(0, index).some((other) => other.subnetId === subnetId && other.purpose === purpose);
    return [
      ...(isTwice
        ? [{ path: [...path, 'subnetId'], input: subnetId, message: 'must be named once for this purpose' }]
        : []),
      ...(regionOf(zone) === region
        ? []
        : [{ path: [...path, 'zone'], input: zone, message: `must be a zone of ${region}, as the first subnet's` }]),
    ];
  });
}

function problemsOf(purpose: Purpose, { routes }: ExistingSubnets, needsEc2Messages: boolean): readonly RouteProblem[] {
  const path = ['vpc', purpose, 'routes'];
  const missing = neededRoutes(purpose, needsEc2Messages).filter(
    (some) => !some.some((route) => routes.includes(route)),
  );
  const excess = routes.filter((route) => FORBIDDEN[purpose].includes(route));
  return [
    ...missing.map((some) => ({
      path,
      input: routes,
      message: `must hold ${some.join(' or ')}: ${WHO[purpose]} has no route to what it needs without it`,
    })),
    ...excess.map((route) => ({
      path,
      input: routes,
      message: `must not hold ${route}: ${WHO[purpose]} could reach more than it may`,
    })),
  ];
}

interface Place {
  readonly purpose: Purpose;
  readonly id: string;
  readonly path: readonly (string | number)[];
}

function placesOf(purpose: Purpose, existing: ExistingSubnets | null): readonly Place[] {
  return (existing?.subnets ?? []).flatMap(({ subnetId, routeTableId }, index) => [
    { purpose, id: subnetId, path: ['vpc', purpose, 'subnets', index, 'subnetId'] },
    { purpose, id: routeTableId, path: ['vpc', purpose, 'subnets', index, 'routeTableId'] },
  ]);
}

/** A subnet or route table of two purposes would give both the wider one's routes. */
function sharedParts(places: readonly Place[]): readonly RouteProblem[] {
  return places.flatMap((place, index) => {
    const first = places.slice(0, index).find(({ id, purpose }) => id === place.id && purpose !== place.purpose);
    return first === undefined
      ? []
      : [
          {
            path: place.path,
            input: place.id,
            message: `must not serve ${WHO[place.purpose]} and ${WHO[first.purpose]}: give each purpose subnets and route tables of its own`,
          },
        ];
  });
}
