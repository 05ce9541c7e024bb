import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { FUNCTIONS } from '#contracts/functions';
import { stageSettings } from '#test/builders/stage-settings';
import { UNSCOPED_ACTIONS } from '../../infra/constructs/grants.ts';
import { isAllowed, type IamRequest, type Statement } from './iam-evaluator.ts';
import { Deployment } from './deployment.ts';
import { ACCOUNT, REGION } from './resolve-statements.ts';
import { appForTests } from './synth.ts';

const BOUNDARY = `arn:aws:iam::${ACCOUNT}:policy/team-boundary`;
const deployment = new Deployment(appForTests(stageSettings({ permissionsBoundaryArn: BOUNDARY })));

const roleOf = (name: string): string =>
  `${name.replace(/(?:^|-)(\w)/gu, (_, letter: string) => letter.toUpperCase())}Role`;
const functionRoles = FUNCTIONS.map(({ name }) => ({ name, role: roleOf(name) }));
const allowed = (role: string): readonly Statement[] =>
  deployment.statementsOf(role).filter(({ Effect }) => Effect === 'Allow');
const rolesThatMay = (request: IamRequest): readonly string[] =>
  deployment.roleNames.filter((role) => isAllowed(deployment.statementsOf(role), request)).toSorted();

/** `arn:aws:s3:::artifacts/runs/*` -> `s3 artifacts/runs/*`. */
const short = (arn: string): string => arn.replace(/^arn:aws:([a-z0-9-]+):[^:]*:\d*:/u, '$1 ');

function rightsOf(role: string): readonly string[] {
  const lines = allowed(role).flatMap(({ Action, Resource, Condition }) => {
    const only = Object.entries(Condition).flatMap(([operator, keys]) =>
      Object.entries(keys).map(
        ([key, values]) =>
          ` when ${key} is ${operator.endsWith('IfExists') ? 'not told, or ' : ''}${values.join(' or ')}`,
      ),
    );
    return Action.flatMap((action) => Resource.map((resource) => `  ${action} on ${short(resource)}${only.join('')}`));
  });
  return [...new Set(lines)].toSorted();
}

describe('the roles', () => {
  it('are one for each function, two for the machines, and those of sandboxes, schedules, flow logs and the API account', () => {
    const others = [
      'SweepMachineRole',
      'GradeMachineRole',
      'SandboxRole',
      'SchedulesRole',
      'AccountRole',
      'VpcFlowLogIAMRole',
    ];
    expect(functionRoles.length).toBeGreaterThan(20);
    expect(deployment.roleNames.toSorted()).toEqual([...functionRoles.map(({ role }) => role), ...others].toSorted());
  });

  it('may do exactly what is written down for them', async () => {
    const text = deployment.roleNames
      .toSorted()
      .map((role) => [role, ...rightsOf(role)].join('\n'))
      .join('\n\n');
    await expect(`${text}\n`).toMatchFileSnapshot('../fixtures/rights-of-roles.txt');
  });

  it.each(deployment.roleNames)('%s names every action in full', (role) => {
    const actions = allowed(role).flatMap(({ Action }) => Action);
    expect(actions.length).toBeGreaterThan(0);
    expect(actions.filter((action) => !/^[a-z0-9-]+:[A-Za-z]+$/u.test(action))).toEqual([]);
  });

  it('name `*` as their resource only for actions that have none, each with its reason', () => {
    const unscoped = deployment.roleNames.flatMap((role) =>
      allowed(role).flatMap(({ Action, Resource }) => (Resource.includes('*') ? Action : [])),
    );
    expect(unscoped.length).toBeGreaterThan(0);
    expect([...new Set(unscoped)].toSorted()).toEqual(Object.keys(UNSCOPED_ACTIONS).toSorted());
    for (const reason of Object.values(UNSCOPED_ACTIONS)) expect(reason.length).toBeGreaterThan(20);
  });

  it('have wildcards inside a resource only below a prefix of keys, a group, the versions of a function and the executions of a machine', () => {
    const wild = deployment.roleNames.flatMap((role) =>
      allowed(role).flatMap(({ Resource }) => Resource.filter((each) => each !== '*' && each.includes('*'))),
    );
    const reasoned = [
      /^arn:aws:s3:::(?:artifacts|tasks|references)\/[a-z]+\/\*$/u,
      /^arn:aws:s3:::artifacts\/attempts\/\*\/guest\/\*$/u,
      /:schedule\/SchedulesGroup\/\*$/u,
      /:function:[a-z-]+:\*$/u,
      // Each with a condition on tags or owner, as test/infra/launch*.test.ts show.
      /:(?:instance|volume|network-interface)\/\*$/u,
      /^arn:aws:ec2:[a-z0-9-]+::image\/\*$/u,
      /:execution:(?:Sweep(?:\/RunUnits)?|Grade):\*$/u,
      /:log-group:\w+:\*$/u,
    ];
    expect(wild.length).toBeGreaterThan(50);
    expect(wild.filter((each) => !reasoned.some((pattern) => pattern.test(each)))).toEqual([]);
  });

  it('have no condition on all values of a key that a request without that key would meet', () => {
    const bounds = deployment.roleNames.flatMap((role) =>
      allowed(role).flatMap(({ Condition }) =>
        Object.entries(Condition).flatMap(([operator, keys]) =>
          operator.startsWith('ForAllValues:')
            ? Object.keys(keys).map((key) => ({ role, key, guard: Condition['Null']?.[key] }))
            : [],
        ),
      ),
    );
    expect(bounds.length).toBeGreaterThan(1);
    expect(bounds.filter(({ guard }) => guard?.join() !== 'false')).toEqual([]);
  });

  it('are all bounded, and use no managed policy but those of their own', () => {
    const roles = deployment.ofType('AWS::IAM::Role');
    expect(roles.length).toBeGreaterThan(20);
    for (const { id, properties } of roles) expect([id, properties['PermissionsBoundary']]).toEqual([id, BOUNDARY]);
    const used = roles.flatMap(({ properties }) =>
      z.array(z.string()).default([]).parse(properties['ManagedPolicyArns']),
    );
    const made = deployment.ofType('AWS::IAM::ManagedPolicy');
    expect(made.length).toBeGreaterThan(0);
    expect(used).toHaveLength(made.length);
    for (const { id } of made) {
      const own = `arn:aws:iam::${ACCOUNT}:policy/${id.slice(0, -8)}`;
      expect([id, used.filter((arn) => arn === own)]).toEqual([id, [own]]);
    }
  });

  it('can be taken on by services alone', () => {
    const Trust = z.object({
      Statement: z.array(
        z.object({ Action: z.literal('sts:AssumeRole'), Principal: z.strictObject({ Service: z.string() }) }),
      ),
    });
    const services = deployment
      .ofType('AWS::IAM::Role')
      .flatMap(({ properties }) =>
        Trust.parse(properties['AssumeRolePolicyDocument']).Statement.map(({ Principal }) => Principal.Service),
      );
    expect([...new Set(services)].toSorted()).toEqual([
      'apigateway.amazonaws.com',
      'ec2.amazonaws.com',
      'lambda.amazonaws.com',
      'scheduler.amazonaws.com',
      'states.amazonaws.com',
      'vpc-flow-logs.amazonaws.com',
    ]);
  });
});

describe('a missing object', () => {
  const bucketOf = (resource: string): string => resource.replace(/\/.*$/u, '');
  const bucketsOf = (role: string, action: string): readonly string[] => [
    ...new Set(
      allowed(role).flatMap(({ Action, Resource }) => (Action.includes(action) ? Resource.map(bucketOf) : [])),
    ),
  ];
  const mayList = (role: string, resource: string, context: Readonly<Record<string, string>>): boolean =>
    isAllowed(deployment.statementsOf(role), { action: 's3:ListBucket', resource, context });

  it('is told as missing to every function that reads the bucket, since S3 asks then for the right to list and names no prefix', () => {
    const reading = functionRoles.flatMap(({ role }) =>
      bucketsOf(role, 's3:GetObject').map((bucket) => [role, bucket] as const),
    );
    expect(reading.length).toBeGreaterThan(15);
    expect(reading.filter(([role, bucket]) => !mayList(role, bucket, {}))).toEqual([]);
    expect(reading.filter(([role, bucket]) => mayList(role, bucket, { 's3:prefix': 'elsewhere/' }))).toEqual([]);
  });

  it('is told to nobody who only adds or removes', () => {
    const others = deployment.roleNames.flatMap((role) => {
      const read = bucketsOf(role, 's3:GetObject');
      const changed = ['s3:PutObject', 's3:DeleteObject'].flatMap((action) => bucketsOf(role, action));
      return changed.filter((bucket) => !read.includes(bucket)).map((bucket) => [role, bucket] as const);
    });
    expect(others).toContainEqual(['AcceptCommandsRole', 'arn:aws:s3:::references']);
    expect(others.filter(([role, bucket]) => mayList(role, bucket, {}))).toEqual([]);
  });
});

describe('hidden references', () => {
  const key = `arn:aws:kms:${REGION}:${ACCOUNT}:key/ReferencesKey`;

  it('are decrypted by the grade stager alone', () => {
    expect(rolesThatMay({ action: 'kms:Decrypt', resource: key })).toEqual(['StageGradeRole']);
  });

  it('are read by the grade stager alone', () => {
    const resource = 'arn:aws:s3:::references/tasks/demo/r1/reference/0/a.json';
    expect(rolesThatMay({ action: 's3:GetObject', resource })).toEqual(['StageGradeRole']);
  });

  it('can be added to by who publishes, and changed by nobody else', () => {
    const resource = 'arn:aws:s3:::references/tasks/demo/r1/reference/0/a.json';
    expect(rolesThatMay({ action: 's3:PutObject', resource })).toEqual(['AcceptCommandsRole']);
    expect(rolesThatMay({ action: 's3:DeleteObject', resource })).toEqual([]);
  });

  it.each(['tasks/demo/r1/task.mjs', 'agents/demo/r1/manifest.json', 'solutions/demo/r1/0/solution.mjs'])(
    'nor is anything that was published ever removed: %s',
    (key) => {
      expect(rolesThatMay({ action: 's3:PutObject', resource: `arn:aws:s3:::tasks/${key}` })).toEqual([
        'AcceptCommandsRole',
      ]);
      expect(rolesThatMay({ action: 's3:DeleteObject', resource: `arn:aws:s3:::tasks/${key}` })).toEqual([]);
    },
  );

  it('solutions are read by the unit stager alone', () => {
    const resource = 'arn:aws:s3:::tasks/solutions/demo/r1/0/solution.mjs';
    expect(rolesThatMay({ action: 's3:GetObject', resource })).toEqual(['StageUnitRole']);
    expect(rolesThatMay({ action: 's3:PutObject', resource })).toEqual(['AcceptCommandsRole']);
  });
});

describe('what a run leaves behind', () => {
  it('is removed from the run tree by nobody', () => {
    const resource = 'arn:aws:s3:::artifacts/runs/a/b/record.json';
    expect(rolesThatMay({ action: 's3:PutObject', resource }).length).toBeGreaterThan(5);
    expect(rolesThatMay({ action: 's3:DeleteObject', resource })).toEqual([]);
  });

  it.each([
    ['attempts/a.1/stage-list.json', ['CloseAttemptRole', 'SetUpTaskRole']],
    ['grades/g.1/stage.json', ['CloseAttemptRole', 'CommitGradeRole']],
    ['sweeps/s/r1/request.json', []],
  ])('is removed only by who takes signed URLs away: %s', (key, roles) => {
    expect(rolesThatMay({ action: 's3:DeleteObject', resource: `arn:aws:s3:::artifacts/${key}` })).toEqual(roles);
  });

  it('rows are changed neither by the graders nor by their stager', () => {
    const table = deployment
      .statementsOf('StageGradeRole')
      .flatMap(({ Action, Resource }) => (Action.includes('dynamodb:GetItem') ? Resource : []));
    expect(table).toHaveLength(1);
    const changing = rolesThatMay({ action: 'dynamodb:PutItem', resource: table[0] ?? '' });
    expect(changing).toContain('CommitGradeRole');
    for (const role of ['StageGradeRole', 'RunGraderRole', 'RunSandboxGraderRole', 'AnswerQueriesRole'])
      expect(changing).not.toContain(role);
  });
});

describe('the grader', () => {
  const statements = deployment.statementsOf('RunGraderRole');
  const actions = [...new Set(allowed('RunGraderRole').flatMap(({ Action }) => Action))].toSorted();

  it('has a role with nothing but what Lambda needs for logs and interfaces', () => {
    expect(actions.filter((action) => !/^(?:logs:(?:CreateLogStream|PutLogEvents)|ec2:\w+)$/u.test(action))).toEqual(
      [],
    );
    expect(actions.filter((action) => action.startsWith('ec2:')).length).toBe(6);
  });

  it('may call nothing of that from the inside, but for writing its log', () => {
    const context = { 'lambda:SourceFunctionArn': `arn:aws:lambda:${REGION}:${ACCOUNT}:function:run-grader` };
    const inside = actions.filter((action) => isAllowed(statements, { action, resource: '*', context }));
    expect(inside).toEqual([]);
    expect(isAllowed(statements, { action: 'ec2:CreateNetworkInterface', resource: '*' })).toBe(true);
    const denials = deployment.ofType('AWS::IAM::Policy').filter(({ id }) => id.startsWith('RunGrader'));
    const document = JSON.stringify(denials.map(({ properties }) => properties['PolicyDocument']));
    expect(document).toContain('"NotAction":["logs:CreateLogStream","logs:PutLogEvents"]');
  });
});

describe('rights that lead further', () => {
  it('roles are passed on by who provisions: that of schedules to Scheduler, that of sandboxes to EC2', () => {
    const resource = `arn:aws:iam::${ACCOUNT}:role/SchedulesRole`;
    const context = { 'iam:PassedToService': 'scheduler.amazonaws.com' };
    expect(rolesThatMay({ action: 'iam:PassRole', resource, context })).toEqual(['ProvisionSandboxRole']);
    const passing = deployment.roleNames.flatMap((role) =>
      allowed(role).filter(({ Action }) => Action.some((action) => action.startsWith('iam:'))),
    );
    const sandbox = `arn:aws:iam::${ACCOUNT}:role/SandboxRole`;
    expect(passing.map(({ Action, Resource }) => [Action, Resource])).toEqual([
      [['iam:PassRole'], [resource]],
      [['iam:PassRole'], [sandbox]],
    ]);
    const elsewhere = { 'iam:PassedToService': 'ec2.amazonaws.com' };
    expect(rolesThatMay({ action: 'iam:PassRole', resource, context: elsewhere })).toEqual([]);
    expect(rolesThatMay({ action: 'iam:PassRole', resource: sandbox, context: elsewhere })).toEqual([
      'ProvisionSandboxRole',
    ]);
    expect(rolesThatMay({ action: 'iam:PassRole', resource: sandbox, context })).toEqual([]);
  });

  it('executions are started by alias only; a map starts its children as the machine itself', () => {
    const starting = deployment.roleNames.flatMap((role) =>
      allowed(role).flatMap(({ Action, Resource }) =>
        Action.includes('states:StartExecution') ? Resource.map((resource) => [role, short(resource)]) : [],
      ),
    );
    expect(starting.toSorted()).toEqual(
      [
        ['AcceptCommandsRole', 'states stateMachine:Grade:live'],
        ['AcceptCommandsRole', 'states stateMachine:Sweep:live'],
        ['GradeUnitRole', 'states stateMachine:Grade:live'],
        ['SweepMachineRole', 'states stateMachine:Sweep'],
      ].toSorted(),
    );
  });
});
