import type { FunctionDeclaration } from '#contracts/function-declaration';
import { FUNCTIONS } from '#contracts/functions';
import { variablesOf } from '#contracts/needs';
import type { VariableName } from '#contracts/variables';
import type { DeploymentPolicy } from '#core/policy';
import { sandboxVariableBytes, type ToldSettings } from './sandbox-variable.ts';

/** Lambda's bound on all variables of a function together. */
const ENVIRONMENT_BYTES = 4096;
/** No name or ARN of a resource we make is longer. */
const LONGEST_VALUE_BYTES = 160;

interface SizeProblem {
  readonly path: readonly string[];
  readonly message: string;
}

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).byteLength;

/** Bytes that a variable may take in the function that has least room for it. */
function roomFor(variable: VariableName, taken: (name: VariableName, of: FunctionDeclaration) => number): number {
  const rooms = FUNCTIONS.flatMap((declaration) => {
    const names = variablesOf(declaration.needs);
    if (!names.includes(variable)) return [];
    const others = names.filter((name) => name !== variable).map((name) => taken(name, declaration));
    const used = [...names.map((name) => name.length), ...others].reduce((sum, bytes) => sum + bytes, 0);
    return [ENVIRONMENT_BYTES - used];
  });
  return Math.min(...rooms);
}

/** Why functions could not be handed these settings, each with the setting that is too large. */
export function environmentProblems(
  settings: ToldSettings & { readonly policy: DeploymentPolicy },
): readonly SizeProblem[] {
  const sandboxes = sandboxVariableBytes(settings);
  const fixed: Partial<Record<VariableName, number>> = {
    EXAMHALL_STATIC_HOSTS: bytesOf(settings.sandboxes.staticHosts),
    EXAMHALL_POLICY: bytesOf(settings.policy),
  };
  const taken = (name: VariableName, { trigger }: FunctionDeclaration): number => {
    if (name !== 'EXAMHALL_SANDBOXES') return fixed[name] ?? LONGEST_VALUE_BYTES;
    return trigger.kind === 'api' ? sandboxes.withoutNetworks : sandboxes.whole;
  };
  const roomForPolicy = roomFor('EXAMHALL_POLICY', taken);
  const roomForSandboxes = roomFor('EXAMHALL_SANDBOXES', (name, of) =>
    name === 'EXAMHALL_POLICY' ? 0 : taken(name, of),
  );
  const beside = (room: number): string =>
    `it must fit ${String(room)} beside the other variables of a function (Lambda allows 4096 in all)`;
  if (sandboxes.whole > roomForSandboxes) {
    const message = `takes ${String(sandboxes.whole)} bytes as JSON; ${beside(roomForSandboxes)}: name fewer images, machine types or tags`;
    return [{ path: ['sandboxes'], message }];
  }
  const policy = bytesOf(settings.policy);
  if (policy <= roomForPolicy) return [];
  const message = `takes ${String(policy)} bytes as JSON; ${beside(roomForPolicy)}: use fewer or wider ARN patterns, or fewer cost centers`;
  return [{ path: ['policy'], message }];
}
