import * as z from 'zod';

const NetworkSchema = z.strictObject({
  /** In the order of preference. */
  subnets: z.array(z.strictObject({ id: z.string().min(1), zone: z.string().min(1) })).min(1),
  /** Launch template with what every sandbox of this network has. */
  template: z.strictObject({ id: z.string().min(1), version: z.string().min(1) }),
});

const ImageSchema = z.strictObject({
  imageId: z.string().min(1),
  os: z.enum(['linux', 'windows']),
  /** Null when the image says nothing of its version. */
  revision: z.string().nullable(),
  /** `prepared`: the image holds runner and desktop. `bare`: a first-boot script brings them to a public image. */
  kind: z.enum(['prepared', 'bare']),
  rootDevice: z.string().min(1),
  volumeGiB: z.int().positive(),
  /** How many machines of it may run at once, for licensed software; null for any number. */
  seats: z.int().positive().nullable(),
  /** It holds the driver of a GPU; without it nothing with a GPU starts from it. */
  gpu: z.boolean().exactOptional(),
});

/** What the `aws` provider of one deployment launches, and where. It crosses as one environment variable: keep it small. */
export const SandboxSettingsSchema = z.strictObject({
  stage: z.string().min(1),
  /** Tags of the deployment's settings, on every sandbox. */
  tags: z.record(z.string(), z.string()),
  /** By network profile. */
  networks: z.partialRecord(z.enum(['open', 'sealed']), NetworkSchema),
  /** By image family, as environment files name them. */
  images: z.record(z.string(), ImageSchema),
  /** Machine types for a GCE name or a number of vCPUs, in order; what is absent is mapped by `#core/ec2-machine-types`. */
  machineTypes: z.record(z.string(), z.array(z.string().min(1)).min(1)),
  volumeKeyArn: z.string().min(1),
  /** SSM documents: `run` for requests that are answered soon, `wait` for the end of a job. */
  documents: z.strictObject({ run: z.string().min(1), wait: z.string().min(1) }),
});
export type SandboxSettings = z.infer<typeof SandboxSettingsSchema>;
