import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { deploymentParameterName } from '#contracts/deployment-outputs';
import { stageDocument } from '#test/builders/stage-settings';
import { loadSettings } from '../../infra/config/load-settings.ts';
import { environmentProblems } from '../../infra/config/environment-size.ts';
import { changed, problemsOf } from './settings-documents.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'examhall-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const context = (values: object): Record<string, string> => ({ CDK_CONTEXT_JSON: JSON.stringify(values) });

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return '';
}

describe('loading settings', () => {
  it('takes stage default on a fresh clone, and the stage or the file that the command line names', () => {
    expect(loadSettings({}).stage).toBe('default');
    expect(loadSettings(context({ stage: 'example' })).stage).toBe('example');
    const file = path.join(folder, 'own.json');
    writeFileSync(file, JSON.stringify(changed('default', { stage: 'own' })));
    expect(loadSettings(context({ settings: file })).stage).toBe('own');
    expect(loadSettings(context({ settings: file, stage: 'own' })).stage).toBe('own');
  });

  it('refuses a file of another stage than the one named', () => {
    const file = path.join(folder, 'other.json');
    writeFileSync(file, JSON.stringify(changed('default', { stage: 'other' })));
    expect(() => loadSettings(context({ settings: file, stage: 'prod' }))).toThrow(
      /stage: "other" is not .*-c stage=prod/,
    );
  });

  it('says which stages there are when one is unknown, and what is wrong with a file that is no JSON', () => {
    const text = messageOf(() => loadSettings(context({ stage: 'no-such-stage' })));
    expect(text).toMatch(/no settings at .*no-such-stage\.json/u);
    // An operator's own stages are named too.
    const [, known = ''] = /infra\/config\/stages: ([^.]*)\./u.exec(text) ?? [];
    expect(known.split(', ')).toEqual(expect.arrayContaining(['default', 'example']));
    const file = path.join(folder, 'broken.json');
    writeFileSync(file, '{"stage": ');
    expect(() => loadSettings(context({ settings: file }))).toThrow(/broken\.json is no JSON/);
  });

  it('refuses a stage that would name a file elsewhere', () => {
    expect(() => loadSettings(context({ stage: '../../package' }))).toThrow(/lower-case letters/);
    expect(() => loadSettings(context({ stage: ['a'] }))).toThrow(/one text each/);
  });
});

describe('a settings file', () => {
  it('is fine as shipped', () => {
    expect(problemsOf(stageDocument('default'))).toEqual([]);
    expect(problemsOf(stageDocument('example'))).toEqual([]);
  });

  it('names every problem at once: where, the value seen, what is allowed', () => {
    const problems = problemsOf(
      changed('default', {
        stage: 'Prod!',
        logRetentionDays: 42,
        'network.vpc.cidr': '8.8.8.0/24',
        'network.openPorts': [80],
        'api.burst': 0,
        'policy.costCenters': [],
        'tags.aws:x': 'y',
        'keys.artifacts': 'alias/mine',
        permissionBoundary: 'arn:x',
        'policy.roles.admin': ['arn:aws:sts::111122223333:assumed-role/ops/me'],
        'policy.caps.vCpusByProvider': { AWS: 64 },
      }),
    );
    const expected = [
      /^stage: "Prod!": must be 1 to 16 lower-case/,
      /^logRetentionDays: 42: must be one of 1, 3, 5/,
      /^network\.vpc\.cidr: "8\.8\.8\.0\/24": must be a private IPv4 range/,
      /^network\.openPorts: \[80\]: must hold 443/,
      /^api\.burst: 0: must be 1 to 5000/,
      /^policy\.costCenters: \[\]: /,
      /^tags\.aws:x: the key "aws:x": must be a tag key/,
      /^keys\.artifacts: "alias\/mine": must be the ARN of a KMS key/,
      /^permissionBoundary: "arn:x": is not a setting/,
      /^policy\.roles\.admin\.0: "arn:aws:sts.*": names a session.*write arn:aws:iam::111122223333:role\/ops/,
      /^policy\.caps\.vCpusByProvider\.AWS: .*"AWS" is no provider.*allowed: .*write aws/,
    ];
    for (const pattern of expected) expect(problems).toContainEqual(expect.stringMatching(pattern));
    expect(problems).toHaveLength(expected.length);
  });

  it.each([
    ['nothing at all', null],
    ['an empty object', {}],
    ['a list', []],
  ])('is refused when it is %s', (_, document) => {
    expect(problemsOf(document).length).toBeGreaterThan(0);
  });

  it('may not hold tags whose keys differ by case alone, which IAM takes for one', () => {
    expect(problemsOf(changed('default', { tags: { Team: 'a', team: 'b' } }))).toEqual([
      'tags: {"Team":"a","team":"b"}: must have no two keys that differ by case alone: IAM takes them for one',
    ]);
  });

  it('names a stage as the command line takes it', () => {
    const longest = 'a234567890123456';
    expect(problemsOf(changed('default', { stage: longest }))).toEqual([]);
    expect(deploymentParameterName(longest)).toBe(`/examhall/${longest}/deployment`);
    expect(problemsOf(changed('default', { stage: `${longest}7` }))).toHaveLength(1);
    expect(() => deploymentParameterName(`${longest}7`)).toThrow('1 to 16 of a-z, 0-9 and -');
  });

  it('may not give the references a key that something else uses', () => {
    const key = 'arn:aws:kms:eu-central-1:111122223333:key/11111111-1111-4111-8111-111111111111';
    expect(problemsOf(changed('default', { 'keys.references': key, 'keys.tasks': key }))).toEqual([
      `keys.references: "${key}": must be a key that nothing else uses, or null for a key of its own`,
    ]);
    expect(problemsOf(changed('default', { 'keys.references': key }))).toEqual([]);
  });

  const arns = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `arn:aws:iam::111122223333:role/${'r'.repeat(60)}-${String(index)}`);

  it('may not hold a policy that does not fit the environment of a function', () => {
    expect(problemsOf(changed('default', { 'policy.roles.viewer': arns(5) }))).toEqual([]);
    const [problem, ...more] = problemsOf(changed('default', { 'policy.roles.viewer': arns(60) }));
    expect(problem).toMatch(/^policy: .*takes \d+ bytes as JSON; it must fit \d+ beside the other variables/);
    expect(more).toEqual([]);
    const [, room = ''] = /it must fit (\d+)/u.exec(problem ?? '') ?? [];
    expect(Number(room)).toBeGreaterThan(1000);
  });

  it('may not hold sandboxes that do not fit there either, and is told so by name', () => {
    const types = Object.fromEntries(
      Array.from({ length: 80 }, (_, index) => [`n2-standard-${String(index)}`, ['m7i.large', 'm6i.large']]),
    );
    const [problem, ...more] = problemsOf(changed('default', { sandboxes: { machineTypes: types } }));
    expect(problem).toMatch(/^sandboxes: .*takes \d+ bytes as JSON; it must fit \d+ .*name fewer images/);
    expect(more).toEqual([]);
    const settings = loadSettings({});
    expect(environmentProblems(settings)).toEqual([]);
    expect(environmentProblems({ ...settings, tags: { long: 'x'.repeat(3000) } }).map(({ path }) => path)).toEqual([
      ['sandboxes'],
    ]);
  });

  it.each(['10.42.0.0', '10.42.0.0/8', '10.42.0.0/28', '10.42.0.1/16', '10.420.0.0/16', '172.32.0.0/16', '::/16'])(
    'may not have %s as the range of its VPC',
    (cidr) => {
      const problems = problemsOf(changed('default', { 'network.vpc.cidr': cidr }));
      expect(problems).toEqual([expect.stringContaining(`network.vpc.cidr: "${cidr}": must be a private IPv4 range`)]);
    },
  );

  it('may not give a sweep more sandboxes than a subnet has addresses', () => {
    const problems = problemsOf(
      changed('default', { 'network.vpc.cidr': '10.0.0.0/24', 'policy.caps.sweepConcurrency': 500 }),
    );
    expect(problems).toEqual([expect.stringMatching(/^network\.vpc\.cidr: "10\.0\.0\.0\/24": leaves 118 addresses/)]);
  });
});

describe('the routes of an existing VPC', () => {
  it.each([
    ['open', [], 'must hold internet-gateway or nat-gateway'],
    ['open', ['internet-gateway', 'other-network'], 'must not hold other-network'],
    ['sealed', ['ssm-endpoint', 'ssmmessages-endpoint'], 'must hold s3-gateway'],
    ['sealed', ['s3-gateway', 'ssmmessages-endpoint'], 'must hold ssm-endpoint'],
    ['sealed', ['s3-gateway', 'ssm-endpoint'], 'must hold ssmmessages-endpoint'],
    ['sealed', ['s3-gateway', 'ssm-endpoint', 'ssmmessages-endpoint', 'nat-gateway'], 'must not hold nat-gateway'],
    ['grader', [], 'must hold s3-gateway'],
    ['grader', ['s3-gateway', 'internet-gateway'], 'must not hold internet-gateway'],
  ])('of %s as %j are refused: %s', (purpose, routes, message) => {
    const problems = problemsOf(changed('example', { [`network.vpc.${purpose}.routes`]: routes }));
    expect(problems).toEqual([
      expect.stringContaining(`network.vpc.${purpose}.routes: ${JSON.stringify(routes)}: ${message}`),
    ]);
  });

  it('need the endpoint of older SSM agents only where the settings say so', () => {
    expect(problemsOf(changed('example', { 'network.needsEc2Messages': true }))).toEqual([
      expect.stringContaining('must hold ec2messages-endpoint'),
    ]);
  });

  it("need subnets for each profile offered, and the endpoints' group for sealed", () => {
    expect(problemsOf(changed('example', { 'network.vpc.sealed': null }))).toEqual([
      expect.stringMatching(/^network\.vpc\.sealed: null: must name the subnets/),
    ]);
    expect(problemsOf(changed('example', { 'network.vpc.endpointSecurityGroupId': null }))).toEqual([
      expect.stringMatching(/^network\.vpc\.endpointSecurityGroupId: null: must be the security group/),
    ]);
    expect(problemsOf(changed('example', { 'network.profiles': ['open'], 'network.vpc.sealed': null }))).toEqual([]);
  });

  it('may not name a subnet twice, nor zones of two regions, in whatever purpose', () => {
    const first = 'subnet-0a00000000000000a';
    expect(problemsOf(changed('example', { 'network.vpc.open.subnets.1.subnetId': first }))).toEqual([
      `network.vpc.open.subnets.1.subnetId: "${first}": must be named once for this purpose`,
    ]);
    for (const where of ['open.subnets.1', 'grader.subnets.0'])
      expect(problemsOf(changed('example', { [`network.vpc.${where}.zone`]: 'eu-west-1a' }))).toEqual([
        `network.vpc.${where}.zone: "eu-west-1a": must be a zone of eu-central-1, as the first subnet's`,
      ]);
  });

  it('may not be shared between purposes', () => {
    const shared = changed('example', { 'network.vpc.grader.subnets.0.routeTableId': 'rtb-0a0000000000000a0' });
    expect(problemsOf(shared)).toEqual([
      expect.stringMatching(
        /^network\.vpc\.grader\.subnets\.0\.routeTableId: .*must not serve a grader and a sandbox of profile open/,
      ),
    ]);
  });
});
