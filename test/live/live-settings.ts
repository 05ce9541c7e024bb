import { readFileSync } from 'node:fs';
import path from 'node:path';
import { callerOf } from '#core/api-access';

/** Settings of the default stage under another name, with one principal, or the role of a session, as its admin. */
export function liveSettings(
  root: string,
  { stage, principalArn }: { readonly stage: string; readonly principalArn: string },
): object {
  const base = JSON.parse(readFileSync(path.join(root, 'infra/config/stages/default.json'), 'utf8')) as {
    readonly policy: { readonly roles: object };
  };
  return {
    ...base,
    stage,
    policy: { ...base.policy, roles: { ...base.policy.roles, admin: [callerOf(principalArn)] } },
  };
}
