import { CfnResource, TagManager } from 'aws-cdk-lib';
import { describe, expect, it } from 'vitest';
import { exampleSettings, stageSettings } from '#test/builders/stage-settings';
import { appForTests } from './synth.ts';
import { resourceNamed, resourcesOf } from './template.ts';

const settings = stageSettings({ tags: { team: 'research' } });
const built = appForTests(settings);
const assembly = built.app.synth();
const template: unknown = assembly.getStackByName(built.data.stackName).template;
const example = appForTests(exampleSettings());
const exampleTemplate: unknown = example.app.synth().getStackByName(example.data.stackName).template;

const BUCKETS = ['Artifacts', 'Tasks', 'References'] as const;
const bucket = (name: string): ReturnType<typeof resourceNamed> => resourceNamed(template, 'AWS::S3::Bucket', name);

describe('what holds data', () => {
  it('outlives the stack: each table, bucket and key is retained, also when it is replaced', () => {
    const kept = ['AWS::DynamoDB::Table', 'AWS::S3::Bucket', 'AWS::KMS::Key'].flatMap((type) =>
      resourcesOf(template, type),
    );
    expect(kept.length).toBeGreaterThanOrEqual(1 + 4 + 4);
    for (const { DeletionPolicy, UpdateReplacePolicy } of kept) {
      expect([DeletionPolicy, UpdateReplacePolicy]).toEqual(['Retain', 'Retain']);
    }
    expect(built.data.terminationProtection).toBe(true);
  });

  it('is one table of string keys, paid by request, restorable and protected from deletion', () => {
    const [table, ...others] = resourcesOf(template, 'AWS::DynamoDB::Table');
    expect(others).toEqual([]);
    expect(table?.Properties).toMatchObject({
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      BillingMode: 'PAY_PER_REQUEST',
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
      SSESpecification: { SSEEnabled: true },
    });
  });

  it.each(BUCKETS)('encrypts %s with a key of its own, versioned, never public, with no CORS and no ACL', (name) => {
    const { Properties } = bucket(name);
    const keyId = resourceNamed(template, 'AWS::KMS::Key', `${name}Key`).id;
    expect(Properties).toMatchObject({
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [
          {
            BucketKeyEnabled: true,
            ServerSideEncryptionByDefault: {
              SSEAlgorithm: 'aws:kms',
              KMSMasterKeyID: { 'Fn::GetAtt': [keyId, 'Arn'] },
            },
          },
        ],
      },
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
      VersioningConfiguration: { Status: 'Enabled' },
    });
    expect(Properties).not.toHaveProperty('CorsConfiguration');
    expect(Properties).not.toHaveProperty('BucketName');
    expect(JSON.stringify(Properties['LifecycleConfiguration'])).toContain('"DaysAfterInitiation":7');
    expect(JSON.stringify(Properties['LoggingConfiguration'])).toContain(`${name.toLowerCase()}/`);
  });

  it('is reached over TLS 1.2 or later only: every bucket denies the rest', () => {
    const buckets = resourcesOf(template, 'AWS::S3::Bucket');
    const policies = resourcesOf(template, 'AWS::S3::BucketPolicy');
    expect(buckets).toHaveLength(4);
    for (const { id } of buckets) {
      const policy = policies.find(
        ({ Properties }) => JSON.stringify(Properties['Bucket']) === JSON.stringify({ Ref: id }),
      );
      expect(policy?.Properties['PolicyDocument']).toMatchObject({
        Statement: expect.arrayContaining([
          expect.objectContaining({
            Effect: 'Deny',
            Action: 's3:*',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          }),
          expect.objectContaining({
            Effect: 'Deny',
            Action: 's3:*',
            Condition: { NumericLessThan: { 's3:TlsVersion': 1.2 } },
          }),
        ]) as unknown,
      });
    }
  });

  it('rotates its keys yearly', () => {
    const keys = resourcesOf(template, 'AWS::KMS::Key');
    expect(keys).toHaveLength(4);
    for (const { Properties } of keys) expect(Properties['EnableKeyRotation']).toBe(true);
  });

  it('uses the keys that the settings bring, and makes only the others', () => {
    expect(
      resourcesOf(exampleTemplate, 'AWS::KMS::Key')
        .map(({ id }) => id.slice(0, 5))
        .sort(),
    ).toEqual(['Refer', 'Tasks']);
    const { Properties } = resourceNamed(exampleTemplate, 'AWS::S3::Bucket', 'Artifacts');
    expect(JSON.stringify(Properties)).toContain('key/11111111-1111-4111-8111-111111111111');
  });
});

/** Tags as a map, whether a type writes them as a list or as a map. */
function tagsOf(tags: unknown): Readonly<Record<string, unknown>> {
  if (!Array.isArray(tags)) return typeof tags === 'object' && tags !== null ? (tags as Record<string, unknown>) : {};
  return Object.fromEntries(tags.map((tag: { Key: string; Value: unknown }) => [tag.Key, tag.Value]));
}

describe('every stack', () => {
  it('tags each resource that can be tagged with stage, stack and the tags of the settings', () => {
    const taggable = built.app.node
      .findAll()
      .flatMap((construct) =>
        CfnResource.isCfnResource(construct) && TagManager.of(construct) !== undefined ? [construct] : [],
      );
    expect(taggable.length).toBeGreaterThan(100);
    expect(new Set(taggable.map(({ stack }) => stack.stackName)).size).toBe(5);
    for (const { stack, logicalId, cfnResourceType } of taggable) {
      const id = String(stack.resolve(logicalId));
      const resource = resourcesOf(assembly.getStackByName(stack.stackName).template, cfnResourceType).find(
        (each) => each.id === id,
      );
      expect(tagsOf(resource?.Properties['Tags']), `${stack.stackName} ${id} (${cfnResourceType})`).toMatchObject({
        'examhall:stage': 'default',
        'examhall:stack': stack.stackName.split('-').at(-1),
        team: 'research',
      });
    }
  });

  it('bounds every role with the permissions boundary of the settings, and without one none', () => {
    const roles = (of: typeof assembly): readonly unknown[] =>
      of.stacks.flatMap((stack) =>
        resourcesOf(stack.template, 'AWS::IAM::Role').map(({ Properties }) => Properties['PermissionsBoundary']),
      );
    expect(roles(assembly).length).toBeGreaterThan(0);
    expect(roles(assembly).every((boundary) => boundary === undefined)).toBe(true);
    const bounded = appForTests(
      stageSettings({ permissionsBoundaryArn: 'arn:aws:iam::111122223333:policy/team-boundary' }),
    );
    const boundaries = roles(bounded.app.synth());
    expect(boundaries.length).toBe(roles(assembly).length);
    for (const boundary of boundaries) expect(boundary).toBe('arn:aws:iam::111122223333:policy/team-boundary');
  });

  it('is for no account and no region in particular', () => {
    expect(assembly.stacks.length).toBeGreaterThanOrEqual(2);
    for (const { environment, template: each, stackName } of assembly.stacks) {
      expect([environment.account, environment.region]).toEqual(['unknown-account', 'unknown-region']);
      expect(stackName).toMatch(/^ExamHall-default-[a-z]+$/);
      expect(JSON.stringify(each)).not.toMatch(/"[a-z]{2}-(?:east|west|north|south|central)[a-z]*-\d"/);
    }
    expect(assembly.manifest.missing).toBeUndefined();
  });
});
