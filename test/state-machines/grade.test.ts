import { describe, expect, it } from 'vitest';
import { ERROR_NAMES } from '#core/errors';
import { GradePayload } from '#contracts/payloads';
import { functionNameOf } from '#local/machines';
import { machine } from './definitions.ts';
import { example, fail, MachineHarness } from './machine-harness.ts';

const { States } = machine('grade');

describe('a grading', () => {
  it('has a valid example', () => {
    expect(GradePayload.parse(example('grade'))).toEqual(example('grade'));
  });

  it.each([
    ['light', 'run-grader'],
    ['same-sandbox', 'run-sandbox-grader'],
  ])('in mode %s is staged, run by %s and committed', async (mode, grader) => {
    const harness = new MachineHarness();
    const handle = await harness.run('grade', { ...example('grade'), mode });
    expect(handle.status).toBe('SUCCEEDED');
    expect(harness.called).toEqual(['stage-grade', grader, 'commit-grade']);
    expect(harness.callsOf('commit-grade')[0]?.payload).toMatchObject({ ...example('grade'), mode, error: null });
  });

  it('gives a grader that holds no rights nothing but a URL', async () => {
    const harness = new MachineHarness();
    await harness.run('grade');
    expect(Object.keys(harness.callsOf('run-grader')[0]?.payload ?? {}).toSorted()).toEqual([
      'gradeId',
      'stageUrl',
      'timeoutSeconds',
    ]);
  });
});

describe.each([
  ['StageGrade', 'light'],
  ['RunGrader', 'light'],
  ['RunSandboxGrader', 'same-sandbox'],
])('when %s fails', (state, mode) => {
  const functionName = functionNameOf(state);

  it.each([...ERROR_NAMES, 'Boom', 'Lambda.Unknown'])('with %s, that is what is committed', async (error) => {
    const harness = new MachineHarness({ [functionName]: fail(error) });
    const handle = await harness.run('grade', { ...example('grade'), mode });
    expect(handle.status).toBe('SUCCEEDED');
    const spent = (States[state]?.Retry ?? []).find(({ ErrorEquals }) => ErrorEquals.includes(error))?.MaxAttempts ?? 0;
    expect(harness.callsOf(functionName).length).toBe(1 + spent);
    expect(harness.callsOf('commit-grade')[0]?.payload['error']).toMatchObject({ name: error, state });
  });

  it('by never ending, its timeout is committed', async () => {
    const harness = new MachineHarness({
      [functionName]: async (_, given) => {
        await given.clock.sleep(100_000_000);
      },
    });
    await harness.run('grade', { ...example('grade'), mode });
    expect(harness.callsOf('commit-grade')[0]?.payload['error']).toMatchObject({ name: 'States.Timeout', state });
  });
});

it('a grade that cannot be committed fails by name, for the failure event to return the token', async () => {
  const harness = new MachineHarness({ 'commit-grade': fail('StoreUnavailableError') });
  expect((await harness.run('grade')).status).toBe('FAILED');
  expect(harness.events.at(-1)).toMatchObject({
    type: 'FAILED',
    error: 'GraderUnavailableError',
    input: JSON.stringify(example('grade')),
  });
  expect(harness.callsOf('commit-grade').length).toBe(9);
});

it('a commit that hangs ends with the machine’s own time, and that has its event too', async () => {
  const harness = new MachineHarness({
    'stage-grade': fail('StoreUnavailableError'),
    'commit-grade': async (_, given) => {
      await given.clock.sleep(100_000_000);
    },
  });
  const handle = await harness.run('grade');
  expect(['FAILED', 'TIMED_OUT']).toContain(handle.status);
  expect(harness.seconds).toBeLessThanOrEqual(3600);
});
