import { describe, expect, it } from 'vitest';
import { sendCommandStatements, UNSCOPED_COMMAND_ACTIONS } from '../../infra/constructs/send-command-rule.ts';
import {
  evidenceStatements,
  terminateStatements,
  UNSCOPED_DESCRIBE_ACTIONS,
} from '../../infra/constructs/terminate-rule.ts';
import { isAllowed, statementsOf } from './iam-evaluator.ts';
import { ACCOUNT, deployed, REGION } from './resolve-statements.ts';

const ec2 = (resource: string): string => `arn:aws:ec2:${REGION}:${ACCOUNT}:${resource}`;
const tagged = (prefix: string, stage: string | null, attempt: string | null): Record<string, string> => ({
  ...(stage === null ? {} : { [`${prefix}/examhall:stage`]: stage }),
  ...(attempt === null ? {} : { [`${prefix}/examhall:attempt`]: attempt }),
});

const STRANGERS: readonly (readonly [string, string | null, string | null])[] = [
  ['no tag at all', null, null],
  ['no stage', null, 'u.1'],
  ['another stage', 'dev', 'u.1'],
  ['no attempt', 'prod', null],
  ['an empty attempt', 'prod', ''],
];

describe('sending a command', () => {
  const statements = deployed(sendCommandStatements({ stage: 'prod', documentNames: ['examhall-prod-job'] }));
  const document = (name: string, account = ACCOUNT): string => `arn:aws:ssm:${REGION}:${account}:document/${name}`;
  const send = (resource: string, context = {}): boolean =>
    isAllowed(statements, { action: 'ssm:SendCommand', resource, context });

  it('is allowed with our document to a sandbox of this stage', () => {
    expect(send(document('examhall-prod-job'))).toBe(true);
    expect(send(ec2('instance/i-1'), tagged('ssm:resourceTag', 'prod', 'u.1'))).toBe(true);
  });

  it.each(STRANGERS)('is denied to a machine with %s', (_, stage, attempt) => {
    expect(send(ec2('instance/i-1'), tagged('ssm:resourceTag', stage, attempt))).toBe(false);
  });

  it('is denied with any other document, above all those of AWS that run any script', () => {
    expect(send(document('AWS-RunShellScript', ''))).toBe(false);
    expect(send(document('AWS-RunPowerShellScript', ''))).toBe(false);
    expect(send(document('examhall-dev-job'))).toBe(false);
    expect(send(document('examhall-prod-job', '999988887777'))).toBe(false);
  });

  it('opens no session and changes no document', () => {
    for (const action of ['ssm:StartSession', 'ssm:CreateDocument', 'ssm:UpdateDocument', 'ssm:GetParameter']) {
      expect(isAllowed(statements, { action, resource: document('examhall-prod-job') })).toBe(false);
    }
  });

  it('is unscoped only where SSM has no scope, and only for questions', () => {
    const unscoped = statements.filter(({ Resource }) => Resource.includes('*')).flatMap(({ Action }) => Action);
    expect([...unscoped].sort()).toEqual([...UNSCOPED_COMMAND_ACTIONS]);
    for (const action of unscoped) expect(action).toMatch(/^ssm:(?:Describe|Get|List)/);
  });
});

describe('ending a sandbox', () => {
  const statements = deployed(terminateStatements('prod'));
  const CALLS = [
    ['ec2:TerminateInstances', 'instance/i-1'],
    ['ec2:StopInstances', 'instance/i-1'],
    ['ec2:DeleteVolume', 'volume/vol-1'],
    ['ec2:DeleteNetworkInterface', 'network-interface/eni-1'],
  ] as const;
  const end = (action: string, resource: string, context: Record<string, string>): boolean =>
    isAllowed(statements, { action, resource: ec2(resource), context });

  it.each(CALLS)('by %s is allowed on what a sandbox of this stage is made of', (action, resource) => {
    expect(end(action, resource, tagged('aws:ResourceTag', 'prod', 'u.1'))).toBe(true);
  });

  it.each(
    CALLS.flatMap(([action, resource]) =>
      STRANGERS.map(([who, stage, attempt]) => ({ action, resource, who, stage, attempt })),
    ),
  )('by $action is denied on what has $who', ({ action, resource, stage, attempt }) => {
    expect(end(action, resource, tagged('aws:ResourceTag', stage, attempt))).toBe(false);
  });

  it('starts, images and tags nothing', () => {
    for (const action of ['ec2:RunInstances', 'ec2:StartInstances', 'ec2:CreateImage', 'ec2:CreateTags']) {
      expect(end(action, 'instance/i-1', tagged('aws:ResourceTag', 'prod', 'u.1'))).toBe(false);
    }
  });

  it('changes of a sandbox only what its own shutdown does', () => {
    const change = (attribute: string | null, stage = 'prod'): boolean =>
      end('ec2:ModifyInstanceAttribute', 'instance/i-1', {
        ...tagged('aws:ResourceTag', stage, 'u.1'),
        ...(attribute === null ? {} : { 'ec2:Attribute': attribute }),
      });
    expect(change('InstanceInitiatedShutdownBehavior')).toBe(true);
    for (const other of ['UserData', 'SourceDestCheck', 'GroupSet', 'DisableApiTermination', null])
      expect(change(other)).toBe(false);
    expect(change('InstanceInitiatedShutdownBehavior', 'dev')).toBe(false);
  });

  it('lets go of a sandbox by the tag of the stage, and takes no other tag away', () => {
    const untag = (keys: readonly string[] | null, stage = 'prod'): boolean =>
      isAllowed(statements, {
        action: 'ec2:DeleteTags',
        resource: ec2('instance/i-1'),
        context: { ...tagged('aws:ResourceTag', stage, 'u.1'), ...(keys === null ? {} : { 'aws:TagKeys': keys }) },
      });
    expect(untag(['examhall:stage'])).toBe(true);
    expect(untag(['examhall:stage', 'examhall:cost-center'])).toBe(false);
    expect(untag(['examhall:attempt'])).toBe(false);
    expect(untag(['examhall:stage'], 'dev')).toBe(false);
    // A call that names no tag takes all of them away.
    expect(untag(null)).toBe(false);
  });

  it('is unscoped only where EC2 has no scope, and only for questions', () => {
    const unscoped = statements.filter(({ Resource }) => Resource.includes('*')).flatMap(({ Action }) => Action);
    expect([...unscoped].sort()).toEqual([...UNSCOPED_DESCRIBE_ACTIONS].sort());
    for (const action of unscoped) expect(action).toMatch(/^ec2:Describe/);
  });
});

describe('seeing why a sandbox did not start', () => {
  const statements = deployed(evidenceStatements('prod'));
  const see = (action: string, stage: string | null, attempt: string | null): boolean =>
    isAllowed(statements, {
      action,
      resource: ec2('instance/i-1'),
      context: tagged('aws:ResourceTag', stage, attempt),
    });

  it.each(['ec2:GetConsoleOutput', 'ec2:GetConsoleScreenshot'])('by %s is for sandboxes of this stage', (action) => {
    expect(see(action, 'prod', 'u.1')).toBe(true);
    for (const [, stage, attempt] of STRANGERS) expect(see(action, stage, attempt)).toBe(false);
  });

  it('shows no password and no attribute', () => {
    for (const action of ['ec2:GetPasswordData', 'ec2:DescribeInstanceAttribute'])
      expect(see(action, 'prod', 'u.1')).toBe(false);
  });
});

describe('the evaluator of these tests', () => {
  const one = (statement: object, context: Record<string, string | readonly string[]> = {}): boolean =>
    isAllowed(statementsOf([{ Effect: 'Allow', Action: 's3:Get*', Resource: 'arn:a/*', ...statement }]), {
      action: 's3:GetObject',
      resource: 'arn:a/b',
      context,
    });

  it('allows nothing that no statement names, and lets a denial win', () => {
    expect(one({})).toBe(true);
    expect(one({ Action: 's3:Put*' })).toBe(false);
    expect(one({ Resource: 'arn:b/*' })).toBe(false);
    const both = statementsOf([
      { Effect: 'Allow', Action: '*', Resource: '*' },
      { Effect: 'Deny', Action: 's3:GetObject', Resource: 'arn:a/b' },
    ]);
    expect(isAllowed(both, { action: 's3:GetObject', resource: 'arn:a/b' })).toBe(false);
    expect(isAllowed(both, { action: 's3:GetObject', resource: 'arn:a/c' })).toBe(true);
  });

  it('treats keys that are missing as IAM does', () => {
    expect(one({ Condition: { StringEquals: { k: 'v' } } })).toBe(false);
    expect(one({ Condition: { StringNotEquals: { k: 'v' } } })).toBe(true);
    expect(one({ Condition: { StringEqualsIfExists: { k: 'v' } } })).toBe(true);
    expect(one({ Condition: { 'ForAllValues:StringEquals': { k: 'v' } } })).toBe(true);
    expect(one({ Condition: { 'ForAnyValue:StringEquals': { k: 'v' } } })).toBe(false);
    expect(one({ Condition: { Null: { k: 'true' } } })).toBe(true);
    expect(one({ Condition: { Null: { k: 'false' } } })).toBe(false);
  });

  it('joins values of one key by or, keys by and, and takes key names in any case', () => {
    const condition = { Condition: { StringLike: { K: ['a*', 'b?'] }, Bool: { flag: true } } };
    expect(one(condition, { k: 'abc', Flag: 'true' })).toBe(true);
    expect(one(condition, { k: 'bc', flag: 'true' })).toBe(true);
    expect(one(condition, { k: 'bcd', flag: 'true' })).toBe(false);
    expect(one(condition, { k: 'abc' })).toBe(false);
    expect(one({ Condition: { 'ForAllValues:StringEquals': { k: ['a', 'b'] } } }, { k: ['a', 'c'] })).toBe(false);
  });

  it('fails on what it does not know, rather than allow or deny', () => {
    expect(() => one({ Condition: { IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } } })).toThrow(
      /does not know .* IpAddress/,
    );
    expect(() => one({ NotAction: 's3:PutObject' })).toThrow();
  });
});
