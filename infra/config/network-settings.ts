import * as z from 'zod';

/** Profiles a deployment can build. That a sweep may ask for one is decided apart (`#core/network-profile`). */
export const NETWORK_PROFILES = ['open', 'sealed'] as const;
export type NetworkProfile = (typeof NETWORK_PROFILES)[number];

/** What the route tables and endpoints of existing subnets lead to. `other-network`: peering, transit gateway, VPN, Direct Connect. */
export const ROUTES = [
  'internet-gateway',
  'nat-gateway',
  's3-gateway',
  'dynamodb-gateway',
  'ssm-endpoint',
  'ssmmessages-endpoint',
  'ec2messages-endpoint',
  'other-network',
] as const;
export type Route = (typeof ROUTES)[number];

const id = (prefix: string): z.ZodString =>
  z.string().regex(new RegExp(`^${prefix}-[0-9a-f]{8,17}$`, 'u'), `must be an id like ${prefix}-0123456789abcdef0`);

const SubnetsSchema = z.strictObject({
  subnets: z
    .array(
      z.strictObject({
        subnetId: id('subnet'),
        zone: z.string().regex(/^[a-z]{2}(?:-[a-z]+)+-\d[a-z]$/u, 'must be an availability zone like eu-central-1a'),
        routeTableId: id('rtb'),
      }),
    )
    .min(1, 'must name at least one subnet'),
  /** As the organisation has built them; synthesis cannot look. */
  routes: z.array(z.enum(ROUTES, `must be one of ${ROUTES.join(', ')}`)),
});
export type ExistingSubnets = z.infer<typeof SubnetsSchema>;

const PRIVATE_RANGE = 'must be a private IPv4 range of /16 to /24 that starts where it says, as 10.42.0.0/16';

const PRIVATE_SYNTAX = /^(?:10|172\.(?:1[6-9]|2\d|3[01])|192\.168)(?:\.\d{1,3}){2,3}\/(?:1[6-9]|2[0-4])$/u;

function isPrivateRange(cidr: string): boolean {
  const [address = '', mask = ''] = cidr.split('/');
  const octets = address.split('.').map(Number);
  if (!PRIVATE_SYNTAX.test(cidr) || octets.length !== 4 || octets.some((octet) => octet > 255)) return false;
  const value = octets.reduce((sum, octet) => sum * 256 + octet, 0);
  return value % 2 ** (32 - Number(mask)) === 0;
}

const VpcSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('own'),
    cidr: z.string().refine(isPrivateRange, { error: PRIVATE_RANGE, abort: true }),
    zones: z.int('must be 1, 2 or 3').min(1, 'must be 1, 2 or 3').max(3, 'must be 1, 2 or 3'),
  }),
  z.strictObject({
    kind: z.literal('existing'),
    vpcId: id('vpc'),
    /** Subnets by purpose; null for a profile that is not offered. */
    open: SubnetsSchema.nullable(),
    sealed: SubnetsSchema.nullable(),
    grader: SubnetsSchema,
    /** Of the function that asks sandboxes and static machines; null puts it beside the graders, under a group of its own. */
    calls: SubnetsSchema.nullable().default(null),
    /** Of the interface endpoints that `sealed` goes through; it must let 443 in from our sandboxes. Null without `sealed`. */
    endpointSecurityGroupId: id('sg').nullable(),
  }),
]);

export const NetworkSchema = z.strictObject({
  profiles: z
    .array(z.enum(NETWORK_PROFILES, `must be one of ${NETWORK_PROFILES.join(', ')}`))
    .min(1, 'must name at least one profile')
    .refine((profiles) => new Set(profiles).size === profiles.length, 'must name each profile once'),
  vpc: VpcSchema,
  /** TCP ports of the internet that a sandbox of profile `open` may reach. 443 must be one: SSM and S3 answer there. */
  openPorts: z
    .array(z.int('must be a port').min(1, 'must be 1 to 65535').max(65_535, 'must be 1 to 65535'))
    .max(20, 'must be at most 20 ports')
    .refine((ports) => ports.includes(443), 'must hold 443: SSM and S3 answer there'),
  /** Older SSM agents need it; costs one interface endpoint for each zone. */
  needsEc2Messages: z.boolean(),
  /** `pl-` id of S3 in the region, which narrows egress to S3 also in the security groups; null leaves that to routes and endpoint policies. */
  s3PrefixListId: id('pl').nullable(),
});
export type NetworkSettings = z.infer<typeof NetworkSchema>;
