import { FUNCTIONS } from '#contracts/functions';
import { variablesOf } from '#contracts/needs';
import type { DeploymentPolicy } from '#core/policy';

/** Lambda's bound on all variables of a function together. */
const ENVIRONMENT_BYTES = 4096;
/** No name or ARN of a resource we make is longer. */
const LONGEST_VALUE_BYTES = 160;

/** Bytes that the policy may take in the function with the most variables beside it. */
export function policyRoomBytes(): number {
  const rooms = FUNCTIONS.filter(({ needs }) => needs.some(({ port }) => port === 'policy')).map(({ needs }) => {
    const names = variablesOf(needs);
    const taken = names.reduce(
      (sum, name) => sum + name.length + (name === 'EXAMHALL_POLICY' ? 0 : LONGEST_VALUE_BYTES),
      0,
    );
    return ENVIRONMENT_BYTES - taken;
  });
  return Math.min(...rooms);
}

/** Why functions could not be handed this policy, or null. */
export function policyProblem(policy: DeploymentPolicy): string | null {
  const bytes = new TextEncoder().encode(JSON.stringify(policy)).byteLength;
  const room = policyRoomBytes();
  if (bytes <= room) return null;
  return `takes ${String(bytes)} bytes as JSON; it must fit ${String(room)} beside the other variables of a function (Lambda allows 4096 in all): use fewer or wider ARN patterns, or fewer cost centers`;
}
