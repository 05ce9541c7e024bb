import { PUBLISH_EXAMPLES, type ApiExample } from '#contracts/api-publish-examples';
import { SANDBOX_EXAMPLES } from '#contracts/api-sandbox-examples';

const sweepId = 'sw-01jdw3v6qk8t0x9y2z4a6b8c0d';
const unitId = `${sweepId}__codex__gpt-5__demo__reconcile-invoices__v0`;
const revision = `sha256:${'3f'.repeat(32)}`;
const sha256 = '9c'.repeat(32);
const operator = 'arn:aws:sts::111122223333:assumed-role/examhall-operator/jane';
const publisher = 'arn:aws:sts::111122223333:assumed-role/examhall-publisher/release';
const created = '2026-12-01T09:00:00.000Z';
const published = { revision, publishedAt: '2026-11-30T08:00:00.000Z', publishedBy: publisher };

const summary = {
  sweepId,
  name: 'invoices, three trials',
  owner: operator,
  costCenter: 'research',
  status: 'running',
  paused: false,
  cancelled: false,
  createdAt: created,
  closedAt: null,
  deadlineAt: '2026-12-15T09:00:00.000Z',
  concurrency: 4,
  plannedUnits: 3,
  budgetUsd: 25,
  spentUsd: null,
  error: null,
};

const unit = {
  unitId,
  sweepId,
  agentId: 'codex',
  model: 'gpt-5',
  taskPath: 'demo/reconcile-invoices',
  variant: 0,
  trial: 1,
  class: 'scored',
  notRunReason: null,
  status: 'completed',
  score: 0.75,
  attempts: 1,
  closedAt: '2026-12-01T09:40:00.000Z',
};

const attempt = {
  attemptId: `${unitId}.1`,
  grantedAt: '2026-12-01T09:01:00.000Z',
  closedAt: '2026-12-01T09:39:00.000Z',
  stage: null,
  outcome: 'completed',
  blame: 'agent',
  signatureId: 'completed',
  error: null,
  sandboxId: 'i-0123456789abcdef0',
  teardown: [
    { kind: 'machine', resourceId: 'i-0123456789abcdef0', goneAt: '2026-12-01T09:38:00.000Z', end: 'gone', why: null },
  ],
  grades: [{ number: 1, kind: 'graded', score: 0.75, reason: null }],
  runDir: `${sweepId}/codex/gpt-5/demo__reconcile-invoices/v0/20261201_090100`,
  files: [{ path: 'record.json', sizeBytes: 5120, sha256, url: 'https://bucket.example/runs/record.json?signature=1' }],
  filesCursor: null,
};

const figures = {
  attempts: 3,
  knownUsd: 1.5,
  partsUsd: { machine: 1.2, disk: 0.1, address: 0.05, transfer: 0, orchestration: 0.15, tokens: 0 },
  observedUsd: 0,
  estimatedUsd: 1.5,
  unknownParts: 3,
  coverage: 0.8333,
};

const control = { parameters: { sweepId }, answer: summary };

/** By `operationId`. Every one fits the schemas of its route. */
export const API_EXAMPLES: Readonly<Record<string, ApiExample>> = {
  listSweeps: { parameters: { limit: 50 }, answer: { items: [summary], cursor: null } },
  getSweep: {
    parameters: { sweepId },
    answer: {
      ...summary,
      ledger: {
        planned: 3,
        counts: { scored: 1, forfeited: 0, lost: 0, task_fault: 0, not_run: 0, open: 2 },
        notRun: { deadline: 0, budget: 0, cancelled: 0, refused: 0 },
      },
      runningUnits: 2,
      meanScore: 0.75,
      agents: [{ id: 'codex', agentId: 'codex', model: 'gpt-5' }],
      tasks: [{ path: 'demo/reconcile-invoices', revision }],
      reportUrl: null,
    },
  },
  listUnits: { parameters: { sweepId, class: 'scored', limit: 50 }, answer: { items: [unit], cursor: null } },
  getUnit: {
    parameters: { unitId, limit: 200 },
    answer: {
      ...unit,
      winningAttemptId: `${unitId}.1`,
      attemptList: [attempt],
      waitsFor: null,
      linksExpireAt: '2026-12-01T10:05:00.000Z',
    },
  },
  listAgents: { parameters: { limit: 50 }, answer: { items: [{ agentId: 'codex', ...published }], cursor: null } },
  listTasks: {
    parameters: { limit: 50 },
    answer: {
      items: [
        {
          taskId: 'demo/reconcile-invoices',
          ...published,
          variants: [{ index: 0, name: 'base' }],
          snapshot: 'cpu-free-ubuntu',
          os: 'linux',
          network: 'open',
        },
      ],
      cursor: null,
    },
  },
  getCosts: {
    parameters: { groupBy: 'agent', from: '2026-12-01', to: '2026-12-31' },
    answer: {
      groupBy: 'agent',
      from: '2026-12-01',
      to: '2026-12-31',
      rows: [{ key: 'codex', ...figures }],
      total: figures,
      priceSheets: ['eu-west-1 2026-11-30'],
    },
  },
  startSweep: {
    parameters: { 'Idempotency-Key': 'nightly-2026-12-01' },
    body: {
      name: summary.name,
      costCenter: 'research',
      agents: [{ agentId: 'codex', model: 'gpt-5' }],
      tasks: [{ path: 'demo/reconcile-invoices', variants: [0] }],
      trials: 3,
      snapshots: {
        'cpu-free-ubuntu': {
          provider: 'aws',
          image: 'ale-ubuntu22',
          os: 'linux',
          resolution: null,
          knobs: { region: 'eu-west-1', zones: ['eu-west-1a'] },
        },
      },
      limits: { concurrency: 4, budgetUsd: 25 },
    },
    answer: {
      sweepId,
      dryRun: false,
      plannedUnits: 3,
      agents: [{ id: 'codex', agentId: 'codex', revision }],
      tasks: [{ path: 'demo/reconcile-invoices', revision, variants: [0] }],
      largestCostUsd: null,
      warnings: [],
    },
  },
  cancelSweep: { ...control, answer: { ...summary, cancelled: true } },
  pauseSweep: { ...control, answer: { ...summary, paused: true } },
  resumeSweep: control,
  regradeUnit: { parameters: { unitId }, answer: { unitId, attemptId: `${unitId}.1`, gradeNumber: 2 } },
  ...PUBLISH_EXAMPLES,
  ...SANDBOX_EXAMPLES,
};
