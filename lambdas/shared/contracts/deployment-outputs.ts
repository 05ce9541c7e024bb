import * as z from 'zod';

/** Bytes that one standard SSM parameter holds. */
export const DEPLOYMENT_OUTPUTS_MAX_BYTES = 4096;

/** What a stage may be called. */
export const StageNameSchema = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,15}$/u, 'must be 1 to 16 lower-case letters, digits or -, a letter first');
const ArnSchema = z.string().startsWith('arn:');

/**
 * What a deployment tells about itself, as JSON in one SSM parameter: where its API is and what its resources are called.
 * Names only, nothing secret. A stack writes it; the CLI finds the API by it and `deploy-check` compares it with what is there.
 */
export const DeploymentOutputsSchema = z.object({
  version: z.literal(1),
  stage: StageNameSchema,
  region: z.string().regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/u, 'must be a region such as eu-central-1'),
  accountId: z.string().regex(/^\d{12}$/u),
  /** With the API's stage in its path and no slash at its end. */
  apiUrl: z
    .string()
    .regex(/^https?:\/\/[^\s/]+(?:\/[^\s]*[^\s/])?$/u, 'must be an http(s) URL without a slash at its end'),
  tableName: z.string().min(3).max(255),
  buckets: z.strictObject({
    artifacts: z.string().min(3).max(63),
    tasks: z.string().min(3).max(63),
    references: z.string().min(3).max(63),
  }),
  eventBusName: z.string().min(1).max(256),
  scheduleGroupName: z.string().min(1).max(64),
  /** Aliases of the machines. */
  machines: z.strictObject({ sweep: ArnSchema, grade: ArnSchema }),
  versions: z.strictObject({
    /** Of the package that was deployed. */
    examhall: z.string().min(1).max(40),
    /** Hash over the sources that were deployed; the functions put it into records as it is. */
    codeSha256: z.string().regex(/^[0-9a-f]{64}$/u),
  }),
});
export type DeploymentOutputs = z.infer<typeof DeploymentOutputsSchema>;

/** Name of the parameter that holds a stage's outputs. @throws TypeError for what is no stage name. */
export function deploymentParameterName(stage: string): string {
  return parameterName(stage, 'deployment');
}

/** Name of the parameter that holds the stage's `SandboxSettings` as JSON. @throws TypeError for what is no stage name. */
export function sandboxSettingsParameterName(stage: string): string {
  return parameterName(stage, 'sandboxes');
}

function parameterName(stage: string, what: string): string {
  if (StageNameSchema.safeParse(stage).success) return `/examhall/${stage}/${what}`;
  throw new TypeError(`${JSON.stringify(stage)} is no stage name; 1 to 16 of a-z, 0-9 and -, a letter first`);
}
