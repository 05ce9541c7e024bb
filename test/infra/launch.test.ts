import { describe, expect, it } from 'vitest';
import { launchPolicies, type LaunchRuleProps } from '../../infra/constructs/launch-rule.ts';
import { SANDBOX_TAGS, STAGE_TAG } from '../../infra/constructs/sandbox-tags.ts';
import { isAllowed, type IamRequest } from './iam-evaluator.ts';
import { ACCOUNT, deployed, REGION } from './resolve-statements.ts';

const role = `arn:aws:iam::${ACCOUNT}:role/sandbox`;
const profile = `arn:aws:iam::${ACCOUNT}:instance-profile/sandbox`;
const key = `arn:aws:kms:${REGION}:${ACCOUNT}:key/volumes`;
const arn = (resource: string, account = ACCOUNT): string => `arn:aws:ec2:${REGION}:${account}:${resource}`;
const template = arn('launch-template/lt-open');

const props: LaunchRuleProps = {
  stage: 'prod',
  costCenters: ['research', 'platform'],
  tags: { team: 'research' },
  subnetIds: ['subnet-1', 'subnet-2'],
  securityGroupIds: ['sg-sandbox'],
  imageTag: 'examhall:image',
  imageIds: ['ami-public'],
  launchTemplateArns: [`arn:aws:ec2:${REGION}:${ACCOUNT}:launch-template/lt-open`],
  sandboxRoleArn: role,
  instanceProfileArn: profile,
  volumeKeyArn: key,
};
const statements = deployed(Object.values(launchPolicies(props)).flat());

const TAGS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(SANDBOX_TAGS.map((tag) => [tag, 'x'])),
  'examhall:cost-center': 'research',
  [STAGE_TAG]: 'prod',
  team: 'research',
};
const TAG_NAMES = Object.keys(TAGS);

/** The keys that a request for something new with these tags has. */
function requestTags(tags: Readonly<Record<string, string>>): Record<string, string | readonly string[]> {
  const each = Object.entries(tags).map(([tag, value]): [string, string] => [`aws:RequestTag/${tag}`, value]);
  return { ...Object.fromEntries(each), ...(each.length === 0 ? {} : { 'aws:TagKeys': Object.keys(tags) }) };
}

type Launched = 'instance' | 'volume' | 'network-interface';
const LAUNCHED: readonly Launched[] = ['instance', 'volume', 'network-interface'];

interface Launch {
  readonly tags: Readonly<Record<Launched, Readonly<Record<string, string>>>>;
  /** Keys of EC2's own, by resource; undefined takes one away. */
  readonly keys: Readonly<Record<Launched | 'image', Readonly<Record<string, string | undefined>>>>;
  /** That the request names; null for a launch without one. Whether the group is the template's, EC2 tells beside it. */
  readonly template: string | null;
  readonly isTemplatesGroup: boolean;
  readonly subnet: string;
  readonly securityGroups: readonly string[];
  readonly image: string;
  /** Resources that a launch has beside the ordinary ones. */
  readonly more: readonly string[];
}

const ALLOWED: Launch = {
  tags: { instance: TAGS, volume: TAGS, 'network-interface': TAGS },
  keys: {
    instance: {
      'ec2:MetadataHttpTokens': 'required',
      'ec2:MetadataHttpPutResponseHopLimit': '1',
      'ec2:InstanceProfile': profile,
    },
    volume: { 'ec2:Encrypted': 'true' },
    'network-interface': { 'ec2:Subnet': arn('subnet/subnet-1') },
    image: { 'ec2:Owner': ACCOUNT, 'aws:ResourceTag/examhall:image': 'ubuntu-22' },
  },
  template,
  isTemplatesGroup: true,
  subnet: arn('subnet/subnet-1'),
  securityGroups: [arn('security-group/sg-sandbox')],
  image: arn('image/ami-1', ''),
  more: [],
};

/** EC2 asks IAM once for each resource of a launch, and every answer must be yes. */
function requestsOf(launch: Launch): readonly IamRequest[] {
  const action = 'ec2:RunInstances';
  const given = (of: Launched | 'image'): Record<string, string> =>
    Object.fromEntries(
      Object.entries(launch.keys[of]).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
  const by: Readonly<Record<string, string>> =
    launch.template === null ? {} : { 'ec2:LaunchTemplate': launch.template };
  const group = { ...by, 'ec2:IsLaunchTemplateResource': String(launch.isTemplatesGroup) };
  return [
    ...(launch.template === null ? [] : [{ action, resource: launch.template, context: by }]),
    { action, resource: launch.image, context: { ...by, ...given('image') } },
    ...[launch.subnet, ...launch.more].map((resource) => ({ action, resource, context: by })),
    ...launch.securityGroups.map((resource) => ({ action, resource, context: group })),
    ...LAUNCHED.map((of) => ({
      action,
      resource: arn(`${of}/*`),
      context: { ...by, ...requestTags(launch.tags[of]), ...given(of) },
    })),
  ];
}

const mayLaunch = (changes: Partial<Launch> = {}): boolean =>
  requestsOf({ ...ALLOWED, ...changes }).every((request) => isAllowed(statements, request));

const withTags = (of: Launched, tags: Readonly<Record<string, string>>): Partial<Launch> => ({
  tags: { ...ALLOWED.tags, [of]: tags },
});
const withKey = (of: Launched | 'image', name: string, value: string | undefined): Partial<Launch> => ({
  keys: { ...ALLOWED.keys, [of]: { ...ALLOWED.keys[of], [name]: value } },
});

describe('launching a sandbox', () => {
  it('is allowed with every tag on machine, volume and interface, in our networks, from our images', () => {
    expect(mayLaunch()).toBe(true);
    expect(
      mayLaunch({
        subnet: arn('subnet/subnet-2'),
        ...withKey('network-interface', 'ec2:Subnet', arn('subnet/subnet-2')),
      }),
    ).toBe(true);
  });

  it.each(LAUNCHED.flatMap((of) => TAG_NAMES.map((tag) => [of, tag] as const)))(
    'is denied when the %s has no tag %s',
    (of, tag) => {
      const { [tag]: _, ...rest } = TAGS;
      expect(mayLaunch(withTags(of, rest))).toBe(false);
    },
  );

  it.each(LAUNCHED.flatMap((of) => TAG_NAMES.map((tag) => [of, tag] as const)))(
    'is denied when the %s has an empty tag %s',
    (of, tag) => {
      expect(mayLaunch(withTags(of, { ...TAGS, [tag]: '' }))).toBe(false);
    },
  );

  it.each(LAUNCHED)('is denied when the %s has no tags, one too many, or one of another spelling', (of) => {
    expect(mayLaunch(withTags(of, {}))).toBe(false);
    expect(mayLaunch(withTags(of, { ...TAGS, Name: 'mine' }))).toBe(false);
    const { 'examhall:sweep': sweep = '', ...rest } = TAGS;
    expect(mayLaunch(withTags(of, { ...rest, 'examhall:Sweep': sweep }))).toBe(false);
  });

  it.each(LAUNCHED)(
    'is denied when the %s names a cost center that is not allowed, another stage or another team',
    (of) => {
      expect(mayLaunch(withTags(of, { ...TAGS, 'examhall:cost-center': 'platform' }))).toBe(true);
      expect(mayLaunch(withTags(of, { ...TAGS, 'examhall:cost-center': 'marketing' }))).toBe(false);
      expect(mayLaunch(withTags(of, { ...TAGS, [STAGE_TAG]: 'dev' }))).toBe(false);
      expect(mayLaunch(withTags(of, { ...TAGS, team: 'sales' }))).toBe(false);
    },
  );

  it('is denied without IMDSv2, with a longer hop, and under any other role', () => {
    expect(mayLaunch(withKey('instance', 'ec2:MetadataHttpTokens', 'optional'))).toBe(false);
    expect(mayLaunch(withKey('instance', 'ec2:MetadataHttpTokens', undefined))).toBe(false);
    expect(mayLaunch(withKey('instance', 'ec2:MetadataHttpPutResponseHopLimit', '2'))).toBe(false);
    expect(mayLaunch(withKey('instance', 'ec2:MetadataHttpPutResponseHopLimit', undefined))).toBe(false);
    expect(mayLaunch(withKey('instance', 'ec2:InstanceProfile', `${profile}-admin`))).toBe(false);
    expect(mayLaunch(withKey('instance', 'ec2:InstanceProfile', undefined))).toBe(false);
  });

  it('is denied on a volume that is not encrypted', () => {
    expect(mayLaunch(withKey('volume', 'ec2:Encrypted', 'false'))).toBe(false);
    expect(mayLaunch(withKey('volume', 'ec2:Encrypted', undefined))).toBe(false);
  });

  it('is denied outside of our subnets and security groups', () => {
    expect(mayLaunch({ subnet: arn('subnet/subnet-9') })).toBe(false);
    expect(mayLaunch(withKey('network-interface', 'ec2:Subnet', arn('subnet/subnet-9')))).toBe(false);
    expect(mayLaunch({ securityGroups: [arn('security-group/sg-sandbox'), arn('security-group/sg-default')] })).toBe(
      false,
    );
  });

  it('is denied without a launch template, and by any other than those of the deployment', () => {
    expect(mayLaunch({ template: null })).toBe(false);
    expect(mayLaunch({ template: arn('launch-template/lt-other') })).toBe(false);
    expect(mayLaunch({ template: arn('launch-template/lt-open', '999988887777') })).toBe(false);
  });

  it.each(['image', 'subnet', 'group', 'instance', 'volume', 'network-interface'])(
    'is denied when a request for the %s alone comes without the template',
    (what) => {
      const requests = requestsOf(ALLOWED).filter(({ resource }) => resource !== template);
      const index = ['image', 'subnet', 'group', 'instance', 'volume', 'network-interface'].indexOf(what);
      const { 'ec2:LaunchTemplate': _, ...context } = { ...requests[index]?.context };
      expect(requests).toHaveLength(6);
      expect(isAllowed(statements, { action: 'ec2:RunInstances', resource: '', ...requests[index], context })).toBe(
        false,
      );
    },
  );

  it('is denied when the request names a group itself, also one of ours', () => {
    expect(mayLaunch({ isTemplatesGroup: false })).toBe(false);
  });

  it('is allowed from an image that the settings name, whoever it belongs to', () => {
    const named = { image: arn('image/ami-public', ''), ...withKey('image', 'ec2:Owner', '099720109477') };
    expect(mayLaunch({ ...named })).toBe(true);
    expect(mayLaunch({ ...named, image: arn('image/ami-publicx', '') })).toBe(false);
  });

  it('is denied from an image of somebody else, and from one of ours that is not for sandboxes', () => {
    expect(mayLaunch(withKey('image', 'ec2:Owner', 'amazon'))).toBe(false);
    expect(mayLaunch(withKey('image', 'ec2:Owner', '999988887777'))).toBe(false);
    expect(mayLaunch(withKey('image', 'aws:ResourceTag/examhall:image', undefined))).toBe(false);
  });

  it.each([
    ['a key pair', arn('key-pair/mine')],
    ['an interface that is there already', arn('network-interface/eni-1')],
    ['a snapshot of somebody', arn('snapshot/snap-1', '')],
    ['a spot request', arn('spot-instances-request/*')],
  ])('is denied with %s', (_, resource) => {
    expect(mayLaunch({ more: [resource] })).toBe(false);
  });
});

describe('tagging', () => {
  const tag = (resource: string, context: Record<string, string>, tags = TAGS): boolean =>
    isAllowed(statements, { action: 'ec2:CreateTags', resource, context: { ...requestTags(tags), ...context } });

  it.each(LAUNCHED)('is allowed for the %s of a launch, with every tag', (of) => {
    expect(tag(arn(`${of}/x-1`), { 'ec2:CreateAction': 'RunInstances' })).toBe(true);
    const { 'examhall:owner': _, ...rest } = TAGS;
    expect(tag(arn(`${of}/x-1`), { 'ec2:CreateAction': 'RunInstances' }, rest)).toBe(false);
  });

  it('is denied for what is there already, for other calls that create, and for other kinds of resource', () => {
    expect(tag(arn('instance/i-1'), {})).toBe(false);
    expect(tag(arn('volume/vol-1'), { 'ec2:CreateAction': 'CreateVolume' })).toBe(false);
    expect(tag(arn('image/ami-1'), { 'ec2:CreateAction': 'RunInstances' })).toBe(false);
    expect(isAllowed(statements, { action: 'ec2:DeleteTags', resource: arn('instance/i-1') })).toBe(false);
  });
});

describe('what a launcher may hand on', () => {
  const pass = (resource: string, service?: string): boolean =>
    isAllowed(statements, {
      action: 'iam:PassRole',
      resource,
      context: service === undefined ? {} : { 'iam:PassedToService': service },
    });

  it('is the role of the sandbox, to EC2', () => {
    expect(pass(role, 'ec2.amazonaws.com')).toBe(true);
    expect(pass(role, 'lambda.amazonaws.com')).toBe(false);
    expect(pass(role)).toBe(false);
    expect(pass(`arn:aws:iam::${ACCOUNT}:role/admin`, 'ec2.amazonaws.com')).toBe(false);
  });

  it('is the key of the volumes, to EC2', () => {
    const grant = (changes: Record<string, string>, resource = key): boolean =>
      isAllowed(statements, {
        action: 'kms:CreateGrant',
        resource,
        context: { 'kms:ViaService': `ec2.${REGION}.amazonaws.com`, 'kms:GrantIsForAWSResource': 'true', ...changes },
      });
    expect(grant({})).toBe(true);
    expect(grant({ 'kms:GrantIsForAWSResource': 'false' })).toBe(false);
    expect(grant({ 'kms:ViaService': `s3.${REGION}.amazonaws.com` })).toBe(false);
    expect(grant({}, key.replace('volumes', 'references'))).toBe(false);
  });

  it('holds no wildcard action and no resource of every kind', () => {
    for (const { Action, Resource } of statements) {
      expect(Action.join()).not.toContain('*');
      expect(Resource).not.toContain('*');
    }
  });
});
