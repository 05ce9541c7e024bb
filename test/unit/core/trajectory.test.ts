import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildTrajectory } from '#core/trajectory';
import { readTrajectoryDraft } from '#core/trajectory-draft';
import type { TrajectoryDraft, TrajectoryStep } from '#core/trajectory-types';
import { RECORD_CHECKS } from '#contracts/schema-files';
import { DRAFT, sampleTrajectory } from '#test/builders/run-folder';

const PNG = 'iVBORw0KGgo=';
const JPEG = '/9j/4A==';
const image = (base64: string, type = 'image/png') =>
  ({ type: 'image', source: { media_type: type, base64 } }) as const;
const call = (id: string) => ({ tool_call_id: id, function_name: 'run', arguments: { id } });
const result = (id: string, text: string): TrajectoryStep => ({
  source: 'environment',
  observation: { results: [{ source_call_id: id, content: text }] },
});

function stepsOf(...steps: readonly TrajectoryStep[]) {
  return sampleTrajectory({ steps }).trajectory.steps.slice(1);
}

describe('buildTrajectory', () => {
  it('starts with the prompt, puts results beside their calls and numbers what is left', () => {
    const { trajectory } = sampleTrajectory();
    expect(trajectory.steps.map((step) => [step.step_id, step.source])).toEqual([
      [1, 'user'],
      [2, 'agent'],
      [3, 'agent'],
    ]);
    expect(trajectory.steps[0]?.message).toBe('Copy the code.');
    expect(trajectory.steps[1]?.observation?.results).toEqual([
      {
        source_call_id: 'call_1',
        content: [{ type: 'image', source: { media_type: 'image/png', path: 'screenshots/0000.png' } }],
      },
    ]);
    expect(trajectory).toMatchObject({
      schema_version: 'ATIF-v1.8',
      session_id: trajectory.trajectory_id,
      agent: { name: 'scripted', version: '1.2.3', model_name: 'm-1' },
      extra: { task_path: 'demo/hello', variant_index: 0, instruction: 'Copy the code.' },
    });
  });

  it('sums the steps and lets totals the agent declares win, key by key', () => {
    expect(sampleTrajectory().usage).toEqual({
      total_steps: 3,
      total_prompt_tokens: 15,
      total_completion_tokens: 4,
      total_cached_tokens: 0,
      total_cache_creation_tokens: 2,
      total_cost_usd: 0.75,
      total_duration_ms: 60_000,
      reward: 0.75,
      status: 'completed',
    });
    const declared = sampleTrajectory({
      ...DRAFT,
      finalMetrics: { total_cost_usd: 2, total_prompt_tokens: 0, total_steps: 9, total_cached_tokens: -1 },
    });
    expect(declared.usage).toMatchObject({
      total_cost_usd: 2,
      total_prompt_tokens: 0,
      total_completion_tokens: 4,
      total_steps: 3,
    });
    expect(declared.warnings.join('\n')).toMatch(/total_steps; it is left out[^]*total_cached_tokens as -1/u);
    expect(declared.trajectory.final_metrics).toMatchObject({
      total_cost_usd: 2,
      extra: { reward: 0.75, status: 'completed' },
    });
  });

  it('turns the environment into the system and errors into extra', () => {
    const [agent, note] = stepsOf(
      { source: 'agent', tool_calls: [call('a')] },
      {
        source: 'environment',
        observation: { results: [{ source_call_id: 'a', content: 'no', is_error: true }], error: 'screen went black' },
      },
    );
    expect(agent?.observation?.results).toEqual([{ source_call_id: 'a', content: 'no', extra: { is_error: true } }]);
    expect(note).toMatchObject({ source: 'system', extra: { observation_error: 'screen went black' } });
  });

  it('gives a result of a repeated id to the nearest call before it', () => {
    const steps = stepsOf(
      { source: 'agent', tool_calls: [call('a')] },
      result('a', 'one'),
      { source: 'agent', tool_calls: [call('a')] },
      result('a', 'two'),
    );
    expect(steps.map((step) => step.observation?.results[0]?.content)).toEqual(['one', 'two']);
  });

  it('writes a result without a call into the message of its own step and keeps the paths of its pictures', () => {
    const orphan = { source_call_id: 'ghost', content: [{ type: 'text', text: 'late' } as const, image(PNG)] };
    const [step, other] = stepsOf(
      { source: 'environment', message: 'and more', observation: { results: [orphan] } },
      { source: 'environment', message: [{ type: 'text', text: 'x' }], observation: { results: [orphan] } },
    );
    expect(step?.message).toBe('[orphaned observation for ghost] late [image: screenshots/0000.png]\nand more');
    expect(step?.observation).toBeUndefined();
    expect(other?.message).toHaveLength(2);
  });

  it('allows reasoning, calls and metrics at steps of the agent only, and still counts and keeps them', () => {
    const built = sampleTrajectory({
      steps: [
        {
          source: 'system',
          message: 'totals',
          reasoning_content: 'r',
          tool_calls: [call('a')],
          metrics: { cost_usd: 3, duration_ms: 5 },
        },
      ],
    });
    const step = built.trajectory.steps[1];
    expect(step?.metrics ?? step?.tool_calls ?? step?.reasoning_content).toBeUndefined();
    expect(step?.extra).toEqual({
      metrics: { cost_usd: 3, extra: { duration_ms: 5 } },
      reasoning_content: 'r',
      tool_calls: [call('a')],
    });
    expect(built.usage.total_cost_usd).toBe(3);
  });

  it('numbers pictures over the whole run by what they are and drops what is none', () => {
    const built = sampleTrajectory({
      steps: [
        {
          source: 'user',
          message: [image(`data:image/png;base64,${JPEG}`), image('!!!'), image('AAAA'), image(PNG, 'text/x')],
        },
        { source: 'agent', message: 'm', extra: { _screenshot_b64: PNG, n: 1 } },
      ],
    });
    expect(built.screenshots.map((shot) => shot.path)).toEqual([
      'screenshots/0000.jpg',
      'screenshots/0001.png',
      'screenshots/0002.png',
    ]);
    expect(built.screenshots[1]).toHaveProperty('bytes', Uint8Array.of(137, 80, 78, 71, 13, 10, 26, 10));
    expect(built.trajectory.steps[1]?.message[0]).toEqual({
      type: 'image',
      source: { media_type: 'image/jpeg', path: 'screenshots/0000.jpg' },
    });
    expect(built.trajectory.steps[1]?.message).toContainEqual({ type: 'text', text: '[image not kept]' });
    expect(built.trajectory.steps[2]?.extra).toEqual({ n: 1, screenshot_path: 'screenshots/0002.png' });
    expect(built.warnings).toEqual([
      'an inline picture is not base64 (3 characters); it is left out',
      'an inline picture of 3 bytes is no PNG, JPEG, WebP or GIF; it is left out',
    ]);
    expect(built.trajectory.extra['warnings']).toEqual(built.warnings);
    expect(JSON.stringify(built.trajectory)).not.toContain(PNG);
  });

  it('makes a valid trajectory of any draft, without losing a result', () => {
    const id = fc.constantFrom('a', 'b', 'c');
    const step: fc.Arbitrary<TrajectoryStep> = fc.record(
      {
        source: fc.constantFrom('system', 'user', 'agent', 'environment'),
        message: fc.oneof(fc.string(), fc.array(fc.record({ type: fc.constant('text' as const), text: fc.string() }))),
        reasoning_content: fc.string(),
        tool_calls: fc.array(id.map(call), { maxLength: 2 }),
        observation: fc.record({
          results: fc.array(fc.record({ source_call_id: id, content: fc.constant('RESULT') })),
        }),
        metrics: fc.record({ prompt_tokens: fc.nat() }, { requiredKeys: [] }),
      },
      { requiredKeys: ['source'] },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        const { trajectory } = sampleTrajectory({ steps });
        expect(RECORD_CHECKS.trajectory(JSON.parse(JSON.stringify(trajectory)))).toEqual([]);
        const before = steps.flatMap((each) => each.observation?.results ?? []).length;
        expect(JSON.stringify(trajectory).split('RESULT').length - 1).toBe(before);
      }),
    );
  });

  it('calls a limit a timeout and a cancelled agent failed, as upstream must', () => {
    const base = {
      sessionId: 's',
      agent: { name: 'a', version: null, model: null },
      taskPath: 't',
      variant: 0,
      prompt: 'p',
      startedAt: 'x',
      endedAt: 'y',
      score: null,
      durationSeconds: 0,
      draft: { steps: [] },
    };
    expect(buildTrajectory({ ...base, outcome: 'limit' }).usage.status).toBe('timeout');
    const cancelled = buildTrajectory({ ...base, outcome: 'cancelled' });
    expect(cancelled.usage.status).toBe('failed');
    expect(cancelled.trajectory.agent).toEqual({ name: 'a', version: 'unknown' });
  });
});

describe('readTrajectoryDraft', () => {
  it('takes what parsers return and drops keys it does not know', () => {
    const { draft, problem } = readTrajectoryDraft({ ...DRAFT, surprise: 1 });
    expect(problem).toBeNull();
    expect(draft).toEqual(DRAFT satisfies TrajectoryDraft);
  });

  it.each([
    [null],
    ['x'],
    [{ steps: [{ source: 'robot' }] }],
    [{ steps: [{ source: 'agent', metrics: { cost_usd: -1 } }] }],
  ])('has no steps for %j and says why', (value) => {
    const { draft, problem } = readTrajectoryDraft(value);
    expect(draft.steps).toEqual([]);
    expect(problem).toMatch(/^the parser returned no trajectory: /);
  });
});
