import * as z from 'zod';
import {
  PublishedAgentSchema,
  PublishedReferencesSchema,
  PublishedSolutionsSchema,
  PublishedTaskSchema,
} from '#core/catalog';

const SourceRecordSchema = z.strictObject({
  /** Relative to the task's folder, `/`-separated. */
  path: z.string().min(1).max(1024),
  kind: z.enum(['file', 'executable', 'symlink']),
  /** Hash of the content, or where a link points. */
  value: z.string().max(1024),
});

/** A task revision with all that its revision is made of, so that a false one can be told. */
export const TaskOfferSchema = z.strictObject({
  task: PublishedTaskSchema,
  references: PublishedReferencesSchema,
  solutions: PublishedSolutionsSchema,
  /** Every file of the task's folder, caches aside, published or not. */
  source: z.array(SourceRecordSchema).max(20_000),
});
export type TaskOffer = z.infer<typeof TaskOfferSchema>;

export const AgentOfferSchema = z.strictObject({ agent: PublishedAgentSchema });
export type AgentOffer = z.infer<typeof AgentOfferSchema>;
