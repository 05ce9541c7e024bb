import * as z from 'zod';
import { StageNameSchema } from '#contracts/deployment-outputs';
import { DeploymentPolicySchema } from '#core/policy';
import { addressProblem } from './address-space.ts';
import { environmentProblems } from './environment-size.ts';
import { routeProblems } from './network-routes.ts';
import { NetworkSchema } from './network-settings.ts';
import { ruleProblems } from './rule-size.ts';
import { SandboxesSchema } from './sandboxes-settings.ts';

/** Days that CloudWatch can keep a log group for; it accepts no other number. */
export const LOG_RETENTION_DAYS = [
  1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
] as const;

const KmsKeyArnSchema = z
  .string()
  .regex(
    /^arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]{1,64}$/u,
    'must be the ARN of a KMS key (arn:aws:kms:<region>:<account>:key/<id>), or null for a key of its own',
  )
  .nullable();

const AlarmSchema = z.discriminatedUnion('kind', [
  /** Alarms change state and tell nobody. */
  z.strictObject({ kind: z.literal('none') }),
  z.strictObject({ kind: z.literal('email'), address: z.email('must be an e-mail address') }),
  z.strictObject({
    kind: z.literal('topic'),
    topicArn: z
      .string()
      .regex(/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}$/u, 'must be the ARN of an SNS topic'),
  }),
]);

const TagsSchema = z
  .record(
    z
      .string()
      .regex(
        /^(?!aws:|examhall:)[\p{L}\p{N} _.:/=+@-]{1,128}$/iu,
        'must be a tag key of 1 to 128 letters, digits, spaces or _.:/=+-@ that starts neither with aws: nor with examhall:',
      ),
    z
      .string()
      .regex(
        /^[\p{L}\p{N} _.:/=+@-]{0,256}$/u,
        'must be a tag value of at most 256 letters, digits, spaces or _.:/=+-@',
      ),
  )
  .refine((tags) => Object.keys(tags).length <= 30, 'must be at most 30 tags: sandboxes add their own to these')
  .refine((tags) => new Set(Object.keys(tags).map((key) => key.toLowerCase())).size === Object.keys(tags).length, {
    error: 'must have no two keys that differ by case alone: IAM takes them for one',
  });

/** Everything that differs between two deployments. */
export const StageSettingsSchema = z
  .strictObject({
    /** Names the stacks and the tag `examhall:stage`. */
    stage: StageNameSchema,
    /** Managed policy that bounds every role; null for none. */
    permissionsBoundaryArn: z
      .string()
      .regex(
        /^arn:aws[a-z-]*:iam::(?:\d{12}|aws):policy\/[\w+=,.@/-]{1,512}$/u,
        'must be the ARN of a managed policy (arn:aws:iam::<account>:policy/<name>), or null for none',
      )
      .nullable(),
    network: NetworkSchema.superRefine((network, context) => {
      for (const { path, message, input } of routeProblems(network)) {
        context.addIssue({ code: 'custom', path: [...path], message, input });
      }
    }),
    /** KMS keys to use; null makes one. */
    keys: z
      .strictObject({
        artifacts: KmsKeyArnSchema,
        tasks: KmsKeyArnSchema,
        /** Must differ from the others: whoever decrypts it reads the answers. */
        references: KmsKeyArnSchema,
        /** Of sandbox volumes. */
        volumes: KmsKeyArnSchema,
      })
      .refine(({ references, ...others }) => references === null || !Object.values(others).includes(references), {
        path: ['references'],
        error: 'must be a key that nothing else uses, or null for a key of its own',
      }),
    /** Images, machine types and static machines of sandboxes; a file without it has the public images. */
    sandboxes: SandboxesSchema,
    /** EC2 Image Builder pipelines for images of sandboxes, in a stack of their own. */
    imageBuilder: z
      .strictObject({
        isOn: z.boolean('must be true or false'),
        /** `never`: an image is built when somebody starts its pipeline. */
        schedule: z.enum(['never', 'monthly'], 'must be never or monthly').default('never'),
      })
      .default({ isOn: false, schedule: 'never' }),
    policy: DeploymentPolicySchema,
    logRetentionDays: z.literal(LOG_RETENTION_DAYS, `must be one of ${LOG_RETENTION_DAYS.join(', ')}`),
    alarms: AlarmSchema,
    /** What API Gateway lets through, over all callers. */
    api: z.strictObject({
      requestsPerSecond: z.int('must be 1 to 10000').min(1, 'must be 1 to 10000').max(10_000, 'must be 1 to 10000'),
      burst: z.int('must be 1 to 5000').min(1, 'must be 1 to 5000').max(5000, 'must be 1 to 5000'),
    }),
    /** On everything that can be tagged, beside `examhall:stage` and `examhall:stack`. */
    tags: TagsSchema,
  })
  .superRefine((settings, context) => {
    const problem = addressProblem(settings.network, settings.policy.caps.sweepConcurrency);
    if (problem !== null) context.addIssue({ code: 'custom', path: ['network', 'vpc', 'cidr'], message: problem });
    for (const { path, message } of [...environmentProblems(settings), ...ruleProblems(settings)]) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
  });

export type StageSettings = z.infer<typeof StageSettingsSchema>;
