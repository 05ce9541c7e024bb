import { ROLE_PERMISSIONS, ROLES, type DeploymentPolicy, type Permission, type Role } from './policy.ts';

/**
 * Roles of a principal by the deployment's patterns, in their order. The session of an assumed role counts also as its
 * role (`arn:aws:iam::<account>:role/<name>`).
 */
export function rolesOf(policy: Pick<DeploymentPolicy, 'roles'>, principalArn: string): readonly Role[] {
  if (principalArn === '') return [];
  const role = roleArnOf(principalArn);
  return ROLES.filter((name) =>
    policy.roles[name].some(
      (pattern) =>
        matches(pattern, principalArn) || (role !== null && (matches(pattern, role) || namesRole(pattern, role))),
    ),
  );
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

/**
 * Whether the pattern is the role's ARN with its path, which a session's ARN does not tell. Role names are unique in an
 * account whatever their path; a name with `*` counts only where nobody but IAM Identity Center can make roles.
 */
function namesRole(pattern: string, role: string): boolean {
  const match = /^(arn:[^:]+:iam::[^:]*:role\/)(?:.+\/)([^/]+)$/u.exec(pattern);
  const name = match?.[2] ?? '';
  if (match === null || (name.includes('*') && !name.startsWith('AWSReservedSSO_'))) return false;
  return matches(`${match[1] ?? ''}${name}`, role);
}

/** Whether the whole text fits a pattern in which `*` stands for any text. Takes time in proportion to both at most. */
function matches(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const last = rest.at(-1) ?? '';
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false;
  const end = text.length - last.length;
  let at = first.length;
  for (const part of rest.slice(0, -1)) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
