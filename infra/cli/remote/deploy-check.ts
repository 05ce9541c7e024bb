import { plainText } from './plain-text.ts';

export const CHECK_STATES = ['pass', 'warn', 'fail', 'unverified'] as const;

/** One thing that was looked at. `unverified` says that it could not be, and why: it is no pass. */
export interface DeployCheck {
  readonly name: string;
  readonly state: (typeof CHECK_STATES)[number];
  readonly found: string;
  /** What puts it right; null for what passes. */
  readonly remedy: string | null;
}

type Finding = Omit<DeployCheck, 'name'>;

export const pass = (found: string): Finding => ({ state: 'pass', found, remedy: null });
export const warn = (found: string, remedy: string): Finding => ({ state: 'warn', found, remedy });
export const fail = (found: string, remedy: string): Finding => ({ state: 'fail', found, remedy });
export const unverified = (found: string, remedy: string): Finding => ({ state: 'unverified', found, remedy });

const DENIED = /^(?:AccessDenied(?:Exception)?|UnauthorizedOperation|AuthorizationError(?:Exception)?|Forbidden|403)$/u;

/** A check whose question needs a right: without it, it is unverified, and says which right. */
export async function checked(name: string, right: string, look: () => Promise<Finding>): Promise<DeployCheck> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (isDenied(error))
      return { name, ...unverified(`not allowed to look (${plainText(error.message, 200)})`, `allow ${right}`) };
    return {
      name,
      ...unverified(
        `could not look: ${plainText(`${error.name}: ${error.message}`, 300)}`,
        'try again; check network, region and credentials if it stays so',
      ),
    };
  }
}

function isDenied(error: Error): boolean {
  const status =
    '$metadata' in error &&
    typeof error.$metadata === 'object' &&
    error.$metadata !== null &&
    'httpStatusCode' in error.$metadata
      ? error.$metadata.httpStatusCode
      : null;
  return DENIED.test(error.name) || status === 403;
}

/** True for an answer that there is no such thing. */
export function isAbsent(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(?:ResourceNotFoundException|NotFound|NoSuchBucket|StateMachineDoesNotExist|ResourceNotFound)$/u.test(error.name)
  );
}
