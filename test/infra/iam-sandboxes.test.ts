import { describe, expect, it } from 'vitest';
import { FUNCTIONS } from '#contracts/functions';
import type { Need } from '#contracts/needs';
import { stageSettings } from '#test/builders/stage-settings';
import { AGENT_ACTIONS } from '../../infra/constructs/network-endpoints.ts';
import { Deployment } from './deployment.ts';
import { isAllowed, type Statement } from './iam-evaluator.ts';
import { ACCOUNT, REGION } from './resolve-statements.ts';
import { appForTests } from './synth.ts';

const deployment = new Deployment(appForTests());
const { sandboxes } = stageSettings();
const listing = new Deployment(
  appForTests(stageSettings({ sandboxes: { ...sandboxes, staticHosts: ['10.9.8.7:5000'] } })),
);
const roleOf = (name: string): string =>
  `${name.replace(/(?:^|-)(\w)/gu, (_, letter: string) => letter.toUpperCase())}Role`;
const allowed = (role: string): readonly Statement[] =>
  deployment.statementsOf(role).filter(({ Effect }) => Effect === 'Allow');
/** Roles with an action in any statement, whatever its conditions. */
const holdersOf = (action: string): readonly string[] =>
  deployment.roleNames.filter((role) => allowed(role).some(({ Action }) => Action.includes(action))).toSorted();
const declaring = (isNeed: (need: Need) => boolean): readonly string[] =>
  FUNCTIONS.filter(({ needs }) => needs.some(isNeed))
    .map(({ name }) => roleOf(name))
    .toSorted();

/** Roles that may invoke the function that calls guests. */
function callersIn(stage: Deployment): readonly string[] {
  const action = 'lambda:InvokeFunction';
  const resource = `arn:aws:lambda:${REGION}:${ACCOUNT}:function:call-guest:live`;
  return stage.roleNames.filter((role) => isAllowed(stage.statementsOf(role), { action, resource })).toSorted();
}

const launches = declaring((need) => need.port === 'sandboxes' && need.access === 'launch');
const releases = declaring((need) => need.port === 'sandboxes' && need.access === 'release');
const drives = declaring((need) => need.port === 'channel' && need.access === 'jobs');
const calls = declaring((need) => need.port === 'channel' && need.access === 'call');

describe('sandboxes', () => {
  it('are launched by the provisioner alone', () => {
    expect(launches).toEqual(['ProvisionSandboxRole']);
    for (const action of ['ec2:RunInstances', 'ec2:CreateTags', 'kms:CreateGrant'])
      expect([action, holdersOf(action)]).toEqual([action, launches]);
  });

  it('are ended by those that release', () => {
    expect(releases.length).toBeGreaterThan(3);
    const ending = ['ec2:TerminateInstances', 'ec2:StopInstances', 'ec2:DeleteVolume', 'ec2:DeleteTags'];
    for (const action of [...ending, 'ec2:ModifyInstanceAttribute'])
      expect([action, holdersOf(action)]).toEqual([action, releases]);
  });

  it('are driven by those that declare jobs', () => {
    expect(drives.length).toBeGreaterThan(3);
    expect(holdersOf('ssm:SendCommand')).toEqual(drives);
    const [role = ''] = drives;
    const send = (resource: string, context = {}): boolean =>
      isAllowed(deployment.statementsOf(role), { action: 'ssm:SendCommand', resource, context });
    const document = (name: string): string => `arn:aws:ssm:${REGION}:${ACCOUNT}:document/${name}`;
    const names = deployment.ofType('AWS::SSM::Document').map(({ properties }) => String(properties['Name']));
    expect(names.toSorted()).toEqual(['examhall-default-run', 'examhall-default-wait']);
    for (const name of names) expect(send(document(name))).toBe(true);
    expect(send(document('AWS-RunShellScript'))).toBe(false);
  });

  it('are called over the network by those that declare calls, and by nobody else', () => {
    expect(calls.length).toBeGreaterThan(2);
    expect(callersIn(deployment)).toEqual(calls);
  });

  it('that were given by address are called by those that declare them too, once the settings list one', () => {
    const asking = declaring((need) => need.port === 'staticMachines');
    expect(asking.filter((role) => !calls.includes(role)).length).toBeGreaterThan(5);
    expect(callersIn(listing)).toEqual([...new Set([...calls, ...asking])].toSorted());
    for (const role of ['AnswerQueriesRole', 'AcceptCommandsRole', 'PlanSweepRole', 'RunGraderRole', 'CallGuestRole'])
      expect(asking).not.toContain(role);
  });

  it('are declared as given wherever sandboxes are launched, described, released or driven, but for the API', () => {
    const uses = (need: Need): boolean =>
      (need.port === 'sandboxes' && need.access !== 'offer' && need.access !== 'evidence') || need.port === 'channel';
    const api = declaring((need) => need.port === 'policy');
    const expected = declaring(uses).filter((role) => !api.includes(role));
    expect(declaring((need) => need.port === 'staticMachines')).toEqual(expected);
  });

  it('open no session, change no document, start from no snapshot and are made into no image, by anybody', () => {
    for (const action of [
      'ssm:StartSession',
      'ssm:CreateDocument',
      'ssm:UpdateDocument',
      'ssm:CreateActivation',
      'ec2:StartInstances',
      'ec2:CreateImage',
      'ec2:GetPasswordData',
      'ec2:AuthorizeSecurityGroupIngress',
      'sts:AssumeRole',
    ])
      expect([action, holdersOf(action)]).toEqual([action, []]);
  });
});

describe('the role of a sandbox', () => {
  const actions = allowed('SandboxRole').flatMap(({ Action }) => Action);

  it('exchanges messages with SSM, and may do nothing else', () => {
    expect(actions.toSorted()).toEqual([...AGENT_ACTIONS.ssm, ...AGENT_ACTIONS.ssmmessages].toSorted());
    for (const action of ['ssm:GetParameter', 'ssm:GetDocument', 'ssm:PutInventory', 's3:GetObject', 'kms:Decrypt'])
      expect(isAllowed(deployment.statementsOf('SandboxRole'), { action, resource: '*' })).toBe(false);
  });

  it('is taken on by EC2 alone, through the one instance profile', () => {
    const roles = deployment.ofType('AWS::IAM::Role').filter(({ id }) => id.startsWith('SandboxRole'));
    expect(roles).toHaveLength(1);
    expect(JSON.stringify(roles[0]?.properties['AssumeRolePolicyDocument'])).toContain('"ec2.amazonaws.com"');
    const profiles = deployment.ofType('AWS::IAM::InstanceProfile').map(({ properties }) => properties['Roles']);
    expect(profiles).toEqual([['SandboxRole']]);
  });
});

describe('the function that calls guests', () => {
  const statements = deployment.statementsOf('CallGuestRole');
  const actions = [...new Set(allowed('CallGuestRole').flatMap(({ Action }) => Action))];

  it('has a role with nothing but what Lambda needs for logs and interfaces', () => {
    expect(actions.length).toBeGreaterThan(0);
    expect(
      actions.filter(
        (action) =>
          !/^(?:logs:(?:CreateLogStream|PutLogEvents)|ec2:\w+NetworkInterfaces?|ec2:DescribeSubnets|ec2:(?:Una|A)ssignPrivateIpAddresses)$/u.test(
            action,
          ),
      ),
    ).toEqual([]);
  });

  it('may call nothing of that from the inside', () => {
    const context = { 'lambda:SourceFunctionArn': `arn:aws:lambda:${REGION}:${ACCOUNT}:function:call-guest` };
    expect(actions.filter((action) => isAllowed(statements, { action, resource: '*', context }))).toEqual([]);
  });
});
