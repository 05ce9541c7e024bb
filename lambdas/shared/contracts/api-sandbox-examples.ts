import type { ApiExample } from '#contracts/api-publish-examples';

const sweepId = 'sw-01jdw3v6qk8t0x9y2z4a6b8c0d';
const unitId = `${sweepId}__codex__gpt-5__demo__reconcile-invoices__v0`;

const used = {
  provider: 'aws',
  sandboxId: 'i-0123456789abcdef0',
  state: 'ready',
  owner: 'attempt',
  attemptId: `${unitId}.1`,
  unitId,
  sweepId,
  os: 'linux',
  launchedAt: '2026-12-01T09:01:00.000Z',
  ageSeconds: 840,
  expiresAt: '2026-12-01T11:01:00.000Z',
  orphanSince: null,
  reaper: 'keep',
  why: 'an open attempt uses it',
};

const orphan = {
  ...used,
  sandboxId: 'i-0fedcba9876543210',
  owner: 'orphan',
  orphanSince: '2026-12-01T09:08:00.000Z',
  reaper: 'reap',
  why: 'nobody wants it since 2026-12-01T09:08:00.000Z: seen twice, 420 s apart',
};

/** By `operationId`, of the routes of sandboxes. */
export const SANDBOX_EXAMPLES: Readonly<Record<string, ApiExample>> = {
  listSandboxes: { parameters: {}, answer: { items: [used, orphan], cursor: null } },
  reapSandboxes: {
    parameters: {},
    body: { dryRun: true },
    answer: { dryRun: true, isAsked: false, items: [orphan], kept: 1, isComplete: true },
  },
  stopAll: {
    parameters: {},
    answer: {
      sweeps: [{ sweepId, name: 'invoices, three trials', result: 'cancelled', error: null }],
      isReaperAsked: true,
    },
  },
};
