import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { rolesOf } from '#core/api-access';
import { DeploymentPolicySchema, SINGLE_COMPUTER_POLICY } from '#core/policy';
import { principalPatternProblem } from '#core/principal-pattern';

const ACCOUNT = '111122223333';
const admin = (pattern: string) => ({ roles: { ...SINGLE_COMPUTER_POLICY.roles, admin: [pattern] } });
const problemsOf = (policy: object) =>
  (DeploymentPolicySchema.safeParse({ ...SINGLE_COMPUTER_POLICY, ...policy }).error?.issues ?? []).map((issue) => ({
    path: issue.path.join('.'),
    message: issue.code === 'invalid_key' ? issue.issues.map(({ message }) => message).join() : issue.message,
  }));

describe('a pattern of principals', () => {
  it.each([
    '*',
    `arn:aws:iam::${ACCOUNT}:role/Ops`,
    `arn:aws:iam::${ACCOUNT}:role/team/a/Ops`,
    `arn:aws:iam::${ACCOUNT}:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_*`,
    `arn:aws:iam::${ACCOUNT}:user/team/jane`,
    `arn:aws:iam::${ACCOUNT}:user/team/*`,
    `arn:aws:iam::${ACCOUNT}:root`,
    `arn:aws-us-gov:iam::${ACCOUNT}:role/*`,
    'arn:aws:iam::*:role/exam-*',
    'arn:aws:*::111122223333:*/exam-admin',
    'arn:*',
  ])('may be %s', (pattern) => {
    expect(problemsOf(admin(pattern))).toEqual([]);
  });

  it.each([
    ['an account of eleven digits', 'arn:aws:iam::11112222333:role/Ops', /fits nobody; write .*12 digits/u],
    ['one of thirteen', 'arn:aws:iam::1111222233334:role/*', /fits nobody/u],
    ['every role below a path', `arn:aws:iam::${ACCOUNT}:role/team/*`, /the path of a role is not told/u],
    ['some roles below a path', `arn:aws:iam::${ACCOUNT}:role/team/O*`, /role\/<name> for each role/u],
    ['a group', `arn:aws:iam::${ACCOUNT}:group/admins`, /fits nobody/u],
    ['a kind of principal in capitals', `arn:aws:iam::${ACCOUNT}:Role/Ops`, /fits nobody/u],
    ['another service', `arn:aws:ec2::${ACCOUNT}:role/Ops`, /fits nobody/u],
    ['a role without a name', `arn:aws:iam::${ACCOUNT}:role/`, /fits nobody/u],
    ['a region', `arn:aws:iam:eu-west-1:${ACCOUNT}:role/Ops`, /fits nobody/u],
    ['a session', `arn:aws:sts::${ACCOUNT}:assumed-role/Ops/jane`, /write arn:aws:iam::111122223333:role\/Ops for/u],
    ['sessions', `arn:aws:sts::${ACCOUNT}:assumed-role/Ops/*`, /write arn:aws:iam::111122223333:role\/Ops for/u],
    ['a session of any role', `arn:aws:sts::${ACCOUNT}:assumed-role/*/jane`, /names a session/u],
    ['a session, half hidden', 'arn:aws:*:assumed-role/Ops/jane', /names a session/u],
    ['a federated user', `arn:aws:sts::${ACCOUNT}:federated-user/jane`, /names a session/u],
  ])('may not be %s, and is told what to write', (_, pattern, message) => {
    expect(problemsOf(admin(pattern))).toEqual([
      { path: 'roles.admin.0', message: expect.stringMatching(message) as unknown },
    ]);
  });

  it('is refused only when no principal has a role by it', () => {
    const name = fc.stringMatching(/^[\w+=,.@-]{1,12}$/u);
    const session = name.map((role) => ({
      arn: `arn:aws:iam::${ACCOUNT}:role/${role}`,
      caller: `arn:aws:sts::${ACCOUNT}:assumed-role/${role}/me`,
    }));
    const user = fc.tuple(name, name).map(([folder, last]) => `arn:aws:iam::${ACCOUNT}:user/${folder}/${last}`);
    const somebody = fc.oneof(
      session,
      user.map((arn) => ({ arn, caller: arn })),
    );
    const holes = fc.array(fc.tuple(fc.nat(60), fc.nat(12)), { maxLength: 3 });
    fc.assert(
      fc.property(somebody, holes, ({ arn, caller }, cuts) => {
        const pattern = cuts.reduce((text, [at, size]) => `${text.slice(0, at + 4)}*${text.slice(at + 4 + size)}`, arn);
        fc.pre(rolesOf(admin(pattern), caller).length > 0 && !/:sts:|assumed-role|federated-user/u.test(pattern));
        expect([pattern, principalPatternProblem(pattern)]).toEqual([pattern, null]);
      }),
      { numRuns: 300 },
    );
  });

  it('of many stars is judged in no time', () => {
    const pattern = `arn:${'*a'.repeat(125)}`;
    const before = performance.now();
    expect(principalPatternProblem(pattern)).toBeNull();
    expect(principalPatternProblem(`${pattern}/:`)).toMatch(/fits nobody/u);
    expect(performance.now() - before).toBeLessThan(500);
  });
});

describe('a cap of vCPUs', () => {
  it('is of a provider there is; a misspelt one would cap nothing', () => {
    const caps = (vCpusByProvider: object) => ({ caps: { ...SINGLE_COMPUTER_POLICY.caps, vCpusByProvider } });
    expect(problemsOf(caps({ aws: 64, static: 8 }))).toEqual([]);
    expect(problemsOf(caps({ awss: 64 }))).toEqual([
      {
        path: 'caps.vCpusByProvider.awss',
        message: expect.stringMatching(/^"awss" is no provider.*allowed: .*aws.*write aws if/u) as unknown,
      },
    ]);
  });
});
