import * as z from 'zod';

const entryFile = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*\.ts$/, 'must be a .ts file in the agent folder, such as launch.ts');

/** What an agent's `agent.json` says. */
export const AgentManifestSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'must be 1 to 63 of a-z 0-9 _ -, starting with a letter or digit'),
  version: z.string().regex(/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/, 'must be a version such as 1.0.0'),
  /** Upstream's harness id where the agent stands for one. */
  harness: z.string().min(1),
  description: z.string().min(1),
  executor: z.literal('sandbox'),
  /** The Node its launch script runs under: a version, its beginning, or `>=` a version. */
  runtime: z.strictObject({
    node: z.string().regex(/^(>=)?\d+(\.\d+){0,2}$/, 'must be a Node version such as 20, 20.19.0 or >=20.19'),
  }),
  /** Protected things put into the agent's work folder; only the oracle asks for the solution. */
  stages: z.array(z.literal('solution')).default([]),
  /** The agent replays `<domain>__<task>.json` files of its own folder. */
  recordings: z.boolean().default(false),
  launch: entryFile,
  parser: entryFile,
  limits: z
    .strictObject({
      timeoutSeconds: z.int().positive().optional(),
      outputLimitMiB: z.int().positive().optional(),
    })
    .default({}),
  /** Names of environment variables the agent cannot run without. */
  requiredEnv: z.array(z.string().regex(/^[A-Z][A-Z0-9_]*$/, 'must be a variable name such as API_KEY')).default([]),
});

export type AgentManifest = z.infer<typeof AgentManifestSchema>;
