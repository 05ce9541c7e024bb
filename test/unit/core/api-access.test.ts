import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { permissionsOf, rolesOf } from '#core/api-access';
import { ROLES, SINGLE_COMPUTER_POLICY, type DeploymentPolicy, type Role } from '#core/policy';

const NOBODY: DeploymentPolicy['roles'] = { viewer: [], finance: [], operator: [], publisher: [], admin: [] };
const withRole = (role: Role, ...patterns: readonly string[]) => ({ roles: { ...NOBODY, [role]: patterns } });
const SESSION = 'arn:aws:sts::111122223333:assumed-role/Ops/jane@example.org';
const OPS = 'arn:aws:iam::111122223333:role/Ops';

describe('roles of a principal', () => {
  it.each(ROLES)('%s comes from its own patterns alone', (role) => {
    expect(rolesOf(withRole(role, OPS), SESSION)).toEqual([role]);
    expect(rolesOf(withRole(role), SESSION)).toEqual([]);
  });

  it('a session counts as its role, and only as that', () => {
    expect(rolesOf(withRole('operator', 'arn:aws:iam::111122223333:role/Ops'), SESSION)).toEqual(['operator']);
    expect(rolesOf(withRole('operator', 'arn:aws:iam::111122223333:role/O*'), SESSION)).toEqual(['operator']);
    expect(rolesOf(withRole('operator', 'arn:aws:iam::999922223333:role/Ops'), SESSION)).toEqual([]);
    expect(rolesOf(withRole('operator', 'arn:aws:iam::111122223333:role/Op'), SESSION)).toEqual([]);
    expect(rolesOf(withRole('operator', 'arn:aws:iam::111122223333:user/Ops'), SESSION)).toEqual([]);
  });

  it('a pattern with the path of a role is met by its session, which does not tell the path', () => {
    expect(rolesOf(withRole('admin', 'arn:aws:iam::111122223333:role/team/a/Ops'), SESSION)).toEqual(['admin']);
    expect(rolesOf(withRole('admin', 'arn:aws:iam::111122223333:role/team/a/*'), SESSION)).toEqual([]);
    expect(rolesOf(withRole('admin', 'arn:aws:iam::111122223333:role/team/a/O*'), SESSION)).toEqual([]);
    const sso = 'arn:aws:sts::111122223333:assumed-role/AWSReservedSSO_Admin_0a1b/jane';
    const pattern = 'arn:aws:iam::111122223333:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_*';
    expect(rolesOf(withRole('admin', pattern), sso)).toEqual(['admin']);
    expect(rolesOf(withRole('admin', pattern), SESSION)).toEqual([]);
  });

  it('nobody has one without an ARN, whatever the patterns', () => {
    expect(rolesOf(SINGLE_COMPUTER_POLICY, '')).toEqual([]);
    expect([...permissionsOf(SINGLE_COMPUTER_POLICY, 'arn:local')]).toEqual([
      'read',
      'readCosts',
      'control',
      'publish',
    ]);
  });

  it('a session’s name gives nothing: it is the caller’s own word', () => {
    const sessionName = fc.stringMatching(/^[\w+=,.@-]{2,20}$/u);
    const sessionOf = (role: string, name: string) => `arn:aws:sts::111122223333:assumed-role/${role}/${name}`;
    const cut = fc.tuple(fc.nat(70), fc.nat(40));
    const named = fc.tuple(fc.constantFrom('Guest', 'admin', 'Ops'), sessionName, sessionName);
    const whole = fc.constantFrom(sessionOf, (role: string) => `arn:aws:iam::111122223333:role/team/${role}`);
    fc.assert(
      fc.property(named, whole, fc.array(cut, { maxLength: 3 }), ([role, mine, other], arnOf, cuts) => {
        const pattern = cuts.reduce(
          (text, [at, size]) => `${text.slice(0, at)}*${text.slice(at + size)}`,
          arnOf(role, mine),
        );
        const rolesAs = (name: string) => rolesOf(withRole('admin', pattern), sessionOf(role, name));
        expect([pattern, rolesAs(mine)]).toEqual([pattern, rolesAs(other)]);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    'arn:aws:sts::111122223333:assumed-role/*/alice',
    'arn:aws:sts::111122223333:assumed-role/Guest/alice',
    '*alice*',
    'arn:aws:*::111122223333:*/alice',
    '*:assumed-role/*',
  ])('%s is met by no session that calls itself so', (pattern) => {
    for (const session of ['alice', 'role/Ops', 'x:assumed-role/x']) {
      const liar = `arn:aws:sts::111122223333:assumed-role/Guest/${session}`;
      expect(rolesOf(withRole('admin', pattern), liar)).toEqual([]);
      expect(rolesOf(withRole('admin', OPS), liar)).toEqual([]);
    }
  });

  it('a session that is no role’s has none, whatever the patterns: its user gave it its name', () => {
    const named = 'arn:aws:sts::111122223333:federated-user/admin';
    expect(rolesOf(withRole('admin', '*', named, '*admin'), named)).toEqual([]);
    expect(rolesOf(withRole('admin', '*'), 'arn:aws:sts::111122223333:assumed-role/')).toEqual([]);
  });

  it('a star stands for any text and nothing else does', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*', '/'), maxLength: 12 });
    const asRegExp = (pattern: string) =>
      new RegExp(
        `^${pattern
          .split('*')
          .map((part) => part.replace(/[.*+?^${}()|[\]\\/]/gu, '\\$&'))
          .join('[^]*')}$`,
        'u',
      );
    fc.assert(
      fc.property(text, text, (pattern, principal) => {
        fc.pre(principal !== '');
        expect(rolesOf(withRole('viewer', pattern), principal).length === 1).toBe(asRegExp(pattern).test(principal));
      }),
      { numRuns: 1000 },
    );
  });
});
