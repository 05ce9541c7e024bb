import { describe, expect, it } from 'vitest';
import { maskSecrets } from '#core/mask-secrets';
import { buildEvalResult, buildRunJson, jsonFile, type RunJsonInput } from '#core/run-json';
import { readUpstreamEnd } from '#core/upstream-status';
import { sampleTrajectory } from '#test/builders/run-folder';

const INPUT: RunJsonInput = {
  runId: 'r',
  at: '2026-01-02T03:06:00.500Z',
  agent: {
    id: 'codex',
    class: 'codex',
    name: 'codex',
    version: null,
    model: 'gpt-5.4',
    executor: 'sandbox',
    config: { model: 'gpt-5.4', openai_api_key: 'abcdefghijklmnop', reasoning_effort: 'high' },
  },
  task: { path: 'legal/contract_1', variant: 2, revision: null },
  environment: {
    provider: 'aws',
    snapshot: 'cpu-free',
    image: 'ale-win-server',
    imageRevision: 'ami-0a1',
    network: 'open',
    privilege: 'upstream',
  },
  end: {
    outcome: { kind: 'limit', exitCode: null, durationSeconds: 7200, message: 'costUsd 5.01 of 5.00' },
    grade: { kind: 'graded', score: 0.25, detail: null },
    begun: true,
  },
  phase: 'agent_run',
  error: null,
  durationSeconds: 7312.34567,
  usage: sampleTrajectory().usage,
};

describe('buildRunJson', () => {
  it('has upstreams keys in upstreams order', () => {
    const run = buildRunJson(INPUT);
    expect(Object.keys(run)).toEqual([
      'schema_version',
      'run_id',
      'timestamp_utc',
      'agent',
      'task',
      'environment',
      'status',
      'score',
      'termination',
      'timings',
      'usage',
    ]);
    expect(run).toMatchObject({
      schema_version: 2,
      timestamp_utc: '2026-01-02T03:06:00Z',
      agent: { id: 'codex', config_repr: { openai_api_key: '***mnop', reasoning_effort: 'high' } },
      task: { slug: 'legal__contract_1', path: 'tasks/legal/contract_1', variant_index: 2 },
      environment: { image_revision: 'ami-0a1' },
      status: 'timeout',
      score: 0.25,
      termination: { reason: 'timeout', phase: 'agent_run', category: null, error: null },
      timings: { duration_s: 7312.35 },
    });
    expect(JSON.stringify(run)).not.toContain('abcdefghijkl');
  });

  it('keeps the score of a failed unit, and is read back to the end it tells of', () => {
    const outcome = {
      kind: 'failed',
      exitCode: 2,
      durationSeconds: 3,
      message: 'exit code 2: Connection reset',
    } as const;
    const run = buildRunJson({ ...INPUT, end: { ...INPUT.end, outcome } });
    expect(run).toMatchObject({ status: 'failed', score: 0.25, termination: { category: 'transport_error' } });
    const back = readUpstreamEnd({
      status: run.status,
      evalStatus: 'success',
      score: run.score,
      agentStatus: 'failed',
      phase: run.termination.phase,
      durationSeconds: 3,
      message: null,
    });
    expect(back).toMatchObject({ outcome: { kind: 'failed' }, grade: { kind: 'graded', score: 0.25 } });
  });

  it('says null for what did not happen', () => {
    const run = buildRunJson({
      ...INPUT,
      end: { outcome: null, grade: null, begun: true },
      phase: 'env_start',
      error: { type: 'CapacityUnavailableError', message: 'Quota exceeded', traceback: '' },
      durationSeconds: null,
      usage: null,
    });
    expect(run).toMatchObject({
      status: 'failed',
      score: null,
      usage: null,
      timings: { duration_s: null },
      termination: { phase: 'env_start', category: 'vm_quota_exhausted' },
    });
  });
});

describe('buildEvalResult', () => {
  it('has the score when graded, and an error when the grader failed', () => {
    expect(buildEvalResult({ kind: 'graded', score: 0, detail: null }, 1.005)).toEqual({
      eval_status: 'success',
      score: 0,
      eval_duration_s: 1,
      error: null,
    });
    const failed = { kind: 'ungraded', reason: 'grader-timeout', blame: 'task', message: 'no end' } as const;
    expect(buildEvalResult(failed, 300)).toMatchObject({
      eval_status: 'timeout',
      score: null,
      error: { message: 'no end' },
    });
    expect(buildEvalResult({ ...failed, reason: 'platform-fault', blame: 'platform' }, null)).toEqual({
      eval_status: 'not_executed',
      score: null,
      eval_duration_s: null,
      error: null,
    });
    expect(jsonFile(buildEvalResult(null, null))).toMatch(/^\{\n {2}"eval_status": "not_executed",\n[^]*\}\n$/u);
  });
});

describe('maskSecrets', () => {
  it.each([
    ['anthropic_api_key', 'sk-ant-0123456789abcd', '***abcd'],
    ['API_KEY', 'short', '***'],
    ['apiKey', '0123456789abcdef', '***cdef'],
    ['auth_token', 'abcdefghijklmnop', '***mnop'],
    ['password', 'hunter2hunter2', '***ter2'],
    ['client-secret', '', ''],
  ])('masks %s', (key, value, shown) => {
    expect(maskSecrets({ [key]: value })).toEqual({ [key]: shown });
  });

  it('finds secrets by their shape, deep inside, and in addresses', () => {
    const masked = maskSecrets({
      env: [{ ANY: 'use sk-proj-0123456789abcdefXYZ now' }, 'AKIAABCDEFGHIJKLMNOP'],
      base_url: 'https://user:geheim-1234@models.test/v1',
    });
    expect(masked).toEqual({
      env: [{ ANY: 'use ***fXYZ now' }, '***MNOP'],
      base_url: 'https://user:***@models.test/v1',
    });
  });

  it('leaves numbers that only count, and everything else, alone', () => {
    const plain = { max_tokens: 4096, thinking_token: 10, model: 'gpt-5.4', tools: ['a', null, true, 1.5] };
    expect(maskSecrets(plain)).toEqual(plain);
  });
});
