import * as z from 'zod';
import { RevisionSchema } from './catalog.ts';

const named = {
  revision: RevisionSchema,
  /** In bucket `tasks`. */
  manifestKey: z.string().min(1),
  publishedAt: z.iso.datetime(),
  /** Principal ARN. */
  publishedBy: z.string().min(1),
};

/** What the catalogue says of a task: the revision that was published last, also when it had been published before. */
export const PublishedTaskRowSchema = z.strictObject({
  taskId: z.string(),
  ...named,
  variants: z.array(z.strictObject({ index: z.int(), name: z.string() })),
  snapshot: z.string().nullable(),
  os: z.string().nullable(),
  network: z.string().nullable(),
});
export type PublishedTaskRow = z.infer<typeof PublishedTaskRowSchema>;

/** What the catalogue says of an agent: the revision that was published last. */
export const PublishedAgentRowSchema = z.strictObject({ agentId: z.string(), ...named });
export type PublishedAgentRow = z.infer<typeof PublishedAgentRowSchema>;
