import { ROLE_PERMISSIONS, ROLES, type DeploymentPolicy, type Permission, type Role } from './policy.ts';
import { matchesPattern, withoutRolePath } from './principal-pattern.ts';

/**
 * Roles of a principal by the deployment's patterns, in their order. The session of an assumed role counts as that role alone
 * (`arn:aws:iam::<account>:role/<name>`): its own name is the caller's word. Any other session has none.
 */
export function rolesOf(policy: Pick<DeploymentPolicy, 'roles'>, principalArn: string): readonly Role[] {
  const role = roleArnOf(principalArn);
  const principal = role ?? (isSession(principalArn) ? '' : principalArn);
  if (principal === '') return [];
  const fits = (pattern: string): boolean => {
    const byName = role === null ? null : withoutRolePath(pattern);
    return matchesPattern(pattern, principal) || (byName !== null && matchesPattern(byName, principal));
  };
  return ROLES.filter((name) => policy.roles[name].some(fits));
}

/** What a principal may do; nothing without a role. */
export function permissionsOf(policy: Pick<DeploymentPolicy, 'roles'>, principalArn: string): ReadonlySet<Permission> {
  return new Set(rolesOf(policy, principalArn).flatMap((role) => ROLE_PERMISSIONS[role]));
}

/** Who calls, whatever the session is called: names of sessions change with each refresh of credentials. */
export function callerOf(principalArn: string): string {
  return roleArnOf(principalArn) ?? principalArn;
}

function roleArnOf(principalArn: string): string | null {
  const match = /^arn:([\w-]+):sts::(\d{12}):assumed-role\/([^/\s]+)\/[^\s]+$/u.exec(principalArn);
  return match === null ? null : `arn:${match[1] ?? ''}:iam::${match[2] ?? ''}:role/${match[3] ?? ''}`;
}

function isSession(principalArn: string): boolean {
  return /^arn:[^:]*:sts:/u.test(principalArn);
}
