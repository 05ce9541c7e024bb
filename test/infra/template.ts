import * as z from 'zod';

const ResourceSchema = z.object({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});
const TemplateSchema = z.object({ Resources: z.record(z.string(), ResourceSchema) });

export type Resource = z.infer<typeof ResourceSchema> & { readonly id: string };

/** The resources of a template, of one type when it is named. */
export function resourcesOf(template: unknown, type?: string): readonly Resource[] {
  return Object.entries(TemplateSchema.parse(template).Resources)
    .map(([id, resource]) => ({ id, ...resource }))
    .filter((resource) => type === undefined || resource.Type === type);
}

/** The resource that a logical id starts with. @throws Error when none or several do. */
export function resourceNamed(template: unknown, type: string, prefix: string): Resource {
  const found = resourcesOf(template, type).filter(({ id }) => id.startsWith(prefix));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(
      `${String(found.length)} resources of ${type} start with ${prefix}: ${found.map(({ id }) => id).join(', ')}`,
    );
  }
  return only;
}
