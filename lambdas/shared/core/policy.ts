import * as z from 'zod';
import { closestName } from './located.ts';
import { principalPatternProblem } from './principal-pattern.ts';
import { isProviderName, PROVIDER_NAMES } from './provider-settings.ts';

/** Who may do what through the API; one deployment is one tenant. */
export const ROLES = ['viewer', 'finance', 'operator', 'publisher', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** `read`: everything but costs. `control`: start, cancel, pause, resume, regrade. */
export const PERMISSIONS = ['read', 'readCosts', 'control', 'publish'] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const ROLE_PERMISSIONS: Readonly<Record<Role, readonly Permission[]>> = {
  viewer: ['read'],
  finance: ['read', 'readCosts'],
  operator: ['read', 'control'],
  publisher: ['read', 'publish'],
  admin: ['read', 'readCosts', 'control', 'publish'],
};

/** An ARN in which `*` stands for any text, also across `/` and `:`; one that nobody fits is refused. */
const PrincipalPatternSchema = z
  .string()
  .min(1)
  .max(256)
  .regex(/^(?:arn:[^\s]+|\*)$/u, 'must be a principal ARN, with * for any text')
  .superRefine((pattern, context) => {
    const problem = pattern === '*' ? null : principalPatternProblem(pattern);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem, input: pattern });
  });

const ProviderNameSchema = z.string().refine(isProviderName, {
  error: ({ input }) => {
    const meant = closestName(String(input), PROVIDER_NAMES);
    const hint = meant === null ? '' : `; write ${meant} if you meant that`;
    return `${JSON.stringify(input)} is no provider, so it would cap nothing; allowed: ${PROVIDER_NAMES.join(', ')}${hint}`;
  },
});

const patterns = z.array(PrincipalPatternSchema).default([]);

/** What a deployment allows; made from its settings, and handed to the functions that need it as one variable. */
export const DeploymentPolicySchema = z.strictObject({
  /** Principal ARN patterns of each role; a principal may have several, and one without any may do nothing. */
  roles: z.strictObject({
    viewer: patterns,
    finance: patterns,
    operator: patterns,
    publisher: patterns,
    admin: patterns,
  }),
  costCenters: z.array(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/u)).min(1),
  caps: z.strictObject({
    /** Units that one sweep may hold at once. */
    sweepConcurrency: z.int().positive(),
    unitsPerSweep: z.int().positive().max(10_000),
    /** The largest budget of one sweep; null for no bound, and then a sweep may also come without a budget. */
    sweepBudgetUsd: z.number().positive().nullable(),
    /** vCPUs that may run at once over all sweeps, by provider; a provider that is absent has no bound. */
    vCpusByProvider: z.record(ProviderNameSchema, z.int().positive()),
  }),
});
export type DeploymentPolicy = z.infer<typeof DeploymentPolicySchema>;

/** What one computer allows: whoever holds its token is its admin, and nothing is capped. */
export const SINGLE_COMPUTER_POLICY: DeploymentPolicy = {
  roles: { viewer: [], finance: [], operator: [], publisher: [], admin: ['*'] },
  costCenters: ['local'],
  caps: { sweepConcurrency: 1000, unitsPerSweep: 10_000, sweepBudgetUsd: null, vCpusByProvider: {} },
};
