import * as z from 'zod';
import { DeploymentPolicySchema } from '#core/policy';
import { SandboxSettingsSchema } from '#core/sandbox-settings';

const JsonSchema = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    context.addIssue({ code: 'custom', message: 'is no JSON' });
    return z.NEVER;
  }
});

/** Every environment variable a deployed function may have. Names of resources only: nothing secret. */
export const VARIABLES = {
  EXAMHALL_TABLE: z.string().min(3),
  EXAMHALL_ARTIFACTS_BUCKET: z.string().min(3),
  EXAMHALL_TASKS_BUCKET: z.string().min(3),
  EXAMHALL_REFERENCES_BUCKET: z.string().min(3),
  EXAMHALL_EVENT_BUS: z.string().min(1),
  /** Group of the one-time schedules that end sandboxes. */
  EXAMHALL_SCHEDULE_GROUP: z.string().min(1),
  /** Alias of `expire-sandbox`, and the role that Scheduler calls it with. */
  EXAMHALL_EXPIRE_FUNCTION_ARN: z.string().startsWith('arn:'),
  EXAMHALL_SCHEDULE_ROLE_ARN: z.string().startsWith('arn:'),
  /** Aliases of the machines. */
  EXAMHALL_SWEEP_MACHINE_ARN: z.string().startsWith('arn:'),
  EXAMHALL_GRADE_MACHINE_ARN: z.string().startsWith('arn:'),
  /** `DeploymentPolicy` as JSON. */
  EXAMHALL_POLICY: JsonSchema.pipe(DeploymentPolicySchema),
  /** `SandboxSettings` as JSON. */
  EXAMHALL_SANDBOXES: JsonSchema.pipe(SandboxSettingsSchema),
  /** Alias of `call-guest`. */
  EXAMHALL_CALL_GUEST_FUNCTION_ARN: z.string().startsWith('arn:'),
  /** `address:port` of static machines that calls may reach, as a JSON list. */
  EXAMHALL_STATIC_HOSTS: JsonSchema.pipe(z.array(z.string())),
  /** Hash over the sources that were deployed, for records. */
  EXAMHALL_CODE_SHA256: z.string().regex(/^[0-9a-f]{64}$/u),
} as const satisfies Record<string, z.ZodType>;

export type VariableName = keyof typeof VARIABLES;

/** The schema of a function that has exactly these variables. */
export function variablesSchema(names: readonly VariableName[]): z.ZodType {
  return z.strictObject(Object.fromEntries(names.map((name) => [name, VARIABLES[name]])));
}
