import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseSettings } from '../../../../infra/config/load-settings.ts';
import { routeDifferences, type SeenNetwork, type SeenTable } from '../../../../infra/config/seen-routes.ts';

const FILE = 'infra/config/stages/example.json';
const { network } = parseSettings(JSON.parse(readFileSync(FILE, 'utf8')), FILE);
const { vpc, needsEc2Messages } = network;
if (vpc.kind !== 'existing') throw new Error('the example has an existing VPC');
const promised = { vpc, needsEc2Messages };

const LOCAL = { to: '10.0.0.0/16', target: 'local', isActive: true };
const TO_S3 = { to: 'pl-6fa54006', target: 'vpce-0aaa', isActive: true };
const OUT = { to: '0.0.0.0/0', target: 'igw-0abc', isActive: true };
const PEERING = { to: '10.9.0.0/16', target: 'pcx-0abc', isActive: true };
const group = 'sg-0d0000000000000d0';

type Purpose = 'open' | 'sealed' | 'grader';
const endpointOf = (service: string, changes: object = {}): SeenNetwork['endpoints'][number] => ({
  id: `vpce-${service}`,
  service,
  kind: 'interface',
  groupIds: [group],
  hasPrivateNames: true,
  ...changes,
});

function tableOf(purpose: Purpose, routes: SeenTable['routes']): SeenTable {
  const subnets = vpc.kind === 'existing' ? (vpc[purpose]?.subnets ?? []) : [];
  return {
    id: subnets[0]?.routeTableId ?? '',
    isMain: false,
    subnetIds: subnets.map(({ subnetId }) => subnetId),
    routes: [LOCAL, ...routes],
  };
}

interface Changes {
  readonly routes?: Partial<Record<Purpose, SeenTable['routes']>>;
  readonly endpoints?: SeenNetwork['endpoints'];
  readonly zones?: SeenNetwork['zones'];
  readonly tables?: readonly SeenTable[];
}

/** The network as the example says that it is, but for what is changed. */
function seen({ routes = {}, endpoints, zones, tables }: Changes = {}): SeenNetwork {
  const all = vpc.kind === 'existing' ? [vpc.open, vpc.sealed, vpc.grader].flatMap((each) => each?.subnets ?? []) : [];
  return {
    zones: zones ?? new Map(all.map(({ subnetId, zone }) => [subnetId, zone])),
    tables: tables ?? [
      tableOf('open', routes.open ?? [OUT]),
      tableOf('sealed', routes.sealed ?? [TO_S3]),
      tableOf('grader', routes.grader ?? [TO_S3]),
    ],
    endpoints: endpoints ?? [
      endpointOf('s3', { id: 'vpce-0aaa', kind: 'gateway', groupIds: [] }),
      endpointOf('ssm'),
      endpointOf('ssmmessages'),
    ],
  };
}

const told = (network: SeenNetwork): readonly string[] => [
  ...new Set(routeDifferences(promised, network).map(({ message, fails }) => `${fails ? 'fail' : 'warn'}: ${message}`)),
];

const S3 = endpointOf('s3', { id: 'vpce-0aaa', kind: 'gateway' });

describe('the routes of an existing network', () => {
  it('that are as the settings say have no difference', () => {
    expect(told(seen())).toEqual([]);
  });

  const cases: readonly (readonly [what: string, changes: Changes, told: string])[] = [
    [
      'a default route that is gone',
      { routes: { open: [] } },
      'fail: rtb-0a0000000000000a0 (open) has no internet-gateway or nat-gateway, which a sandbox of profile open needs',
    ],
    [
      'a default route to a gateway that was deleted',
      { routes: { open: [{ ...OUT, isActive: false }] } },
      'fail: rtb-0a0000000000000a0 (open) has no internet-gateway or nat-gateway, which a sandbox of profile open needs',
    ],
    [
      'a way out to a part of the internet alone',
      { routes: { open: [{ ...OUT, to: '203.0.113.0/24' }] } },
      'fail: rtb-0a0000000000000a0 (open) has no internet-gateway or nat-gateway, which a sandbox of profile open needs',
    ],
    [
      'a NAT gateway instead of what is named',
      { routes: { open: [{ ...OUT, target: 'nat-0abc' }] } },
      'fail: rtb-0a0000000000000a0 (open) has no internet-gateway, which the settings promise',
    ],
    [
      'a way out of graders',
      { routes: { grader: [TO_S3, OUT] } },
      'fail: rtb-0c0000000000000c0 (grader) has internet-gateway (0.0.0.0/0 by igw-0abc): a grader could reach more than it may',
    ],
    [
      'a way out of graders by IPv6',
      { routes: { grader: [TO_S3, { to: '::/0', target: 'eigw-0abc', isActive: true }] } },
      'fail: rtb-0c0000000000000c0 (grader) has internet-gateway (::/0 by eigw-0abc): a grader could reach more than it may',
    ],
    [
      'a way out of graders to a part of the internet',
      { routes: { grader: [TO_S3, { ...OUT, to: '203.0.113.0/24' }] } },
      'fail: rtb-0c0000000000000c0 (grader) has internet-gateway (203.0.113.0/24 by igw-0abc): a grader could reach more than it may',
    ],
    [
      'a peering',
      { routes: { open: [OUT, PEERING] } },
      'fail: rtb-0a0000000000000a0 (open) has other-network (10.9.0.0/16 by pcx-0abc): a sandbox of profile open could reach more than it may',
    ],
    [
      'no route to S3',
      { routes: { grader: [] } },
      'fail: rtb-0c0000000000000c0 (grader) has no s3-gateway, which a grader needs',
    ],
    [
      'a gateway of S3 that does not work',
      { endpoints: [endpointOf('ssm'), endpointOf('ssmmessages')] },
      'fail: rtb-0c0000000000000c0 (grader) has no s3-gateway, which a grader needs',
    ],
    [
      'no endpoint of SSM',
      { endpoints: [S3, endpointOf('ssmmessages')] },
      'fail: rtb-0b0000000000000b0 (sealed) has no ssm-endpoint, which a sandbox of profile sealed needs',
    ],
    [
      'an endpoint without private names',
      { endpoints: [S3, endpointOf('ssm', { hasPrivateNames: false }), endpointOf('ssmmessages')] },
      'fail: rtb-0b0000000000000b0 (sealed) has no ssm-endpoint, which a sandbox of profile sealed needs',
    ],
    [
      'an endpoint of another group',
      { endpoints: [S3, endpointOf('ssm', { groupIds: ['sg-0other'] }), endpointOf('ssmmessages')] },
      'fail: rtb-0b0000000000000b0 (sealed) has no ssm-endpoint, which a sandbox of profile sealed needs',
    ],
    [
      'a route that is not named',
      {
        routes: { grader: [TO_S3, { ...TO_S3, target: 'vpce-db' }] },
        endpoints: [
          S3,
          endpointOf('ssm'),
          endpointOf('ssmmessages'),
          endpointOf('dynamodb', { id: 'vpce-db', kind: 'gateway' }),
        ],
      },
      'warn: rtb-0c0000000000000c0 (grader) has dynamodb-gateway (pl-6fa54006 by vpce-db), which the settings do not name',
    ],
    ['a subnet that is not there', { zones: new Map() }, 'fail: there is no subnet-0a00000000000000a in this network'],
  ];
  it.each(cases)('with %s are told', (_what, changes, message) => {
    expect(told(seen(changes))).toContain(message);
  });

  it('of a subnet are those of the table it uses, which is the main one unless it names another', () => {
    const { tables } = seen();
    const lost = tables.map((table) => (table.id === 'rtb-0c0000000000000c0' ? { ...table, subnetIds: [] } : table));
    const main: SeenTable = { id: 'rtb-0main', isMain: true, subnetIds: [], routes: [LOCAL, OUT] };
    const found = told(seen({ tables: [...lost, main] }));
    expect(found).toContain('fail: subnet-0c00000000000000a uses rtb-0main, not rtb-0c0000000000000c0');
    expect(found).toContain('fail: rtb-0main (grader) has no s3-gateway, which a grader needs');
    expect(told(seen({ tables: lost }))).toContain('fail: subnet-0c00000000000000a has no route table');
  });

  it('of a subnet in another zone are told with it', () => {
    const { zones } = seen();
    const moved = new Map([...zones, ['subnet-0a00000000000000a', 'eu-central-1c']]);
    expect(told(seen({ zones: moved }))).toEqual([
      'fail: subnet-0a00000000000000a lies in eu-central-1c, not in eu-central-1a',
    ]);
  });
});
