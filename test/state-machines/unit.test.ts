import { describe, expect, it } from 'vitest';
import { ERROR_NAMES } from '#core/errors';
import { UnitPlanItem } from '#contracts/payloads';
import { functionNameOf } from '#local/machines';
import { machine } from './definitions.ts';
import { example, fail, MachineHarness, named, type Behaviour } from './machine-harness.ts';

const LIGHT = [
  'admit-unit',
  'provision-sandbox',
  'await-sandbox',
  'stage-unit',
  'set-up-task',
  'run-agent',
  'collect-output',
];
const ENDING = ['record-unit', 'close-attempt', 'close-unit'];
const { States } = machine('unit');
const TASKS = Object.entries(States).flatMap(([name, state]) => (state.Type === 'Task' ? [name] : []));
const IN_ATTEMPT = TASKS.filter((name) => !['AdmitUnit', 'CloseUnit'].includes(name));
const WAITING = TASKS.filter((name) => States[name]?.Resource?.endsWith('waitForTaskToken'));

/** Names in the order of their first call. */
const order = (harness: MachineHarness): readonly string[] => [...new Set(harness.called)];

describe('a unit without faults', () => {
  it('has a valid example', () => {
    expect(UnitPlanItem.parse(example('unit'))).toEqual(example('unit'));
  });

  it('is graded after the release of its sandbox', async () => {
    const harness = new MachineHarness();
    expect((await harness.run('unit')).status).toBe('SUCCEEDED');
    expect(harness.called).toEqual([...LIGHT, 'release-sandbox', 'grade-unit', ...ENDING]);
  });

  it('is graded before it by a grader that needs the sandbox', async () => {
    const harness = new MachineHarness();
    const handle = await harness.run('unit', { ...example('unit'), gradesOnOwnSandbox: true });
    expect(handle.status).toBe('SUCCEEDED');
    expect(harness.called).toEqual([...LIGHT, 'grade-unit', 'release-sandbox', ...ENDING]);
  });

  it('begins with the attempt its plan says', async () => {
    const harness = new MachineHarness();
    await harness.run('unit', { ...example('unit'), firstAttempt: 7 });
    expect(harness.callsOf('admit-unit')[0]?.payload['attempt']).toBe(7);
    expect(harness.callsOf('close-attempt')[0]?.payload).toMatchObject({
      attemptId: expect.stringMatching(/\.7$/u) as string,
      error: null,
    });
  });
});

describe.each(IN_ATTEMPT)('when %s fails', (state) => {
  const functionName = functionNameOf(state);

  it.each([...ERROR_NAMES, 'Boom', 'Lambda.Unknown', 'Sandbox.Timedout', 'States.TaskFailed'])(
    'with %s the attempt is released, recorded and closed',
    async (error) => {
      const harness = new MachineHarness({ [functionName]: fail(error) });
      const handle = await harness.run('unit');
      expect(handle.status).toBe('SUCCEEDED');
      expect(order(harness).filter((name) => ['release-sandbox', ...ENDING].includes(name))).toEqual([
        'release-sandbox',
        ...ENDING,
      ]);
      const spent =
        (States[state]?.Retry ?? []).find(({ ErrorEquals }) => ErrorEquals.includes(error))?.MaxAttempts ?? 0;
      expect(harness.callsOf(functionName).length).toBe(1 + spent);
      expectTold(harness, state, error);
    },
  );

  it('by never ending it is given up after its timeout', async () => {
    const hang: Behaviour = async ({ token }, harness) => {
      harness.beat(token, 100_000);
      if (token === undefined) await harness.clock.sleep(100_000_000);
    };
    const harness = new MachineHarness({ [functionName]: hang });
    expect((await harness.run('unit')).status).toBe('SUCCEEDED');
    expect(order(harness)).toEqual(expect.arrayContaining(['release-sandbox', ...ENDING]));
    expectTold(harness, state, 'States.Timeout');
  });

  it('and all that follows fails too the unit still ends', async () => {
    const from = TASKS.indexOf(state);
    const failing = TASKS.slice(from)
      .filter((name) => name !== 'CloseUnit')
      .map(functionNameOf);
    const harness = new MachineHarness(Object.fromEntries(failing.map((name) => [name, fail('Boom')])));
    expect((await harness.run('unit')).status).toBe('SUCCEEDED');
    expect(order(harness)).toEqual(
      expect.arrayContaining(['release-sandbox', 'record-unit', 'close-attempt', 'close-unit']),
    );
  });
});

/** What the closing functions are told of the failure; failures of the closing states themselves change no verdict before them. */
function expectTold(harness: MachineHarness, state: string, error: string): void {
  const told = harness.callsOf('close-attempt')[0]?.payload['error'];
  if (state === 'ReleaseSandbox') expect(told).toBeNull();
  else if (state === 'CloseAttempt')
    expect(harness.callsOf('close-unit')[0]?.payload['error']).toMatchObject({ name: error, state });
  else expect(told).toMatchObject({ name: error, state });
}

describe('an admission', () => {
  it.each(['DeadlinePassedError', 'BudgetExhaustedError', 'SweepCancelledError', 'Boom'])(
    'refused with %s goes straight to the close',
    async (error) => {
      const refuse: Behaviour = ({ token }, harness) =>
        harness.interpreter.sendTaskFailure(String(token), error, 'refused');
      const harness = new MachineHarness({ 'admit-unit': refuse });
      expect((await harness.run('unit')).status).toBe('SUCCEEDED');
      expect(harness.called).toEqual(['admit-unit', 'close-unit']);
      expect(harness.calls[1]?.payload['error']).toEqual({ name: error, message: 'refused', state: 'AdmitUnit' });
    },
  );

  it('that never comes ends with the deadline, without a heartbeat', async () => {
    const harness = new MachineHarness({ 'admit-unit': () => null });
    await harness.run('unit', { ...example('unit'), admitSeconds: 5000 });
    expect(harness.called).toEqual(['admit-unit', 'close-unit']);
    expect(harness.calls[1]).toMatchObject({
      at: 5000,
      payload: { error: { name: 'States.Timeout', state: 'AdmitUnit' } },
    });
  });
});

describe('the attempt loop', () => {
  it('goes on as long as CloseAttempt says so, each time afresh', async () => {
    const harness = new MachineHarness({
      'run-agent': fail('SandboxLostError'),
      'close-attempt': (_, __, tries) => ({ retry: tries < 2, nextAttempt: tries + 2 }),
    });
    expect((await harness.run('unit')).status).toBe('SUCCEEDED');
    expect(harness.callsOf('admit-unit').map(({ payload }) => payload['attempt'])).toEqual([1, 2, 3]);
    for (const name of ['provision-sandbox', 'release-sandbox', 'record-unit', 'close-attempt'])
      expect([name, harness.callsOf(name).length]).toEqual([name, 3]);
    expect(harness.callsOf('close-unit').length).toBe(1);
    expect(harness.callsOf('close-unit')[0]?.payload['error']).toBeNull();
  });

  it('keeps an attempt whose stop is confirmed when it is asked for again', async () => {
    const harness = new MachineHarness({
      'collect-output': ({ token }, given, tries) => {
        if (tries < 2) throw named('StopUnconfirmedError');
        given.succeed(token);
      },
    });
    expect((await harness.run('unit')).status).toBe('SUCCEEDED');
    expect(harness.callsOf('collect-output')).toHaveLength(3);
    expect(harness.callsOf('close-attempt').map(({ payload }) => payload['error'])).toEqual([null]);
  });

  it('forgets the error of one attempt before the next', async () => {
    const harness = new MachineHarness({
      'stage-unit': ({ token }, given, tries) => {
        if (tries < 3) throw named('StagingFailedError');
        given.succeed(token);
      },
      'close-attempt': (_, __, tries) => ({ retry: tries < 1, nextAttempt: 2 }),
    });
    await harness.run('unit');
    expect(harness.callsOf('close-attempt').map(({ payload }) => payload['error'] === null)).toEqual([false, true]);
    expect(harness.called.filter((name) => name === 'grade-unit').length).toBe(1);
  });
});

describe('a callback', () => {
  it.each(WAITING.filter((state) => States[state]?.HeartbeatSeconds !== undefined))(
    'of %s without a beat is lost after five minutes',
    async (state) => {
      const harness = new MachineHarness({ [functionNameOf(state)]: () => null });
      expect((await harness.run('unit')).status).toBe('SUCCEEDED');
      const calls = harness.callsOf(functionNameOf(state));
      expect(calls.length).toBe(state === 'RunAgent' ? 3 : 1);
      expect(new Set(calls.map(({ payload }) => payload['token'])).size).toBe(calls.length);
      // Never taken for the agent outliving its time.
      const name = state === 'RunAgent' ? 'HeartbeatLostError' : 'States.Timeout';
      expect(harness.callsOf('close-attempt')[0]?.payload['error']).toMatchObject({ state, name });
      expect(harness.called).toContain('release-sandbox');
    },
  );

  it('of RunAgent that is lost once is attached to again and goes on', async () => {
    const harness = new MachineHarness({
      'run-agent': ({ token }, given, tries) => {
        if (tries === 1) given.succeed(token);
      },
    });
    await harness.run('unit');
    expect(harness.callsOf('run-agent').length).toBe(2);
    expect(harness.callsOf('close-attempt')[0]?.payload['error']).toBeNull();
  });

  it.each(WAITING)('of %s can fail by its token as well as by its function', async (state) => {
    const byToken: Behaviour = ({ token }, harness) =>
      harness.interpreter.sendTaskFailure(String(token), 'Boom', 'by token');
    const harness = new MachineHarness({ [functionNameOf(state)]: byToken });
    const handle = await harness.run('unit');
    expect(handle.status).toBe(state === 'CloseUnit' ? 'FAILED' : 'SUCCEEDED');
    if (state !== 'AdmitUnit') expect(order(harness)).toEqual(expect.arrayContaining(['release-sandbox', ...ENDING]));
  });
});

describe('a unit that cannot be closed', () => {
  it('fails by name after two hours, for the failure event to go on from', async () => {
    const harness = new MachineHarness({ 'close-unit': () => null });
    const handle = await harness.run('unit');
    expect(handle.status).toBe('FAILED');
    expect(harness.seconds).toBe(7200);
    expect(harness.events.at(-1)).toMatchObject({
      type: 'FAILED',
      error: 'TeardownPendingError',
      input: JSON.stringify(example('unit')),
    });
  });
});
