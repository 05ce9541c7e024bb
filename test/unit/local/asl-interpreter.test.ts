import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { AslHarness, callback, machine, pass, processor, task } from './asl-harness.ts';

const CAUGHT = { Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }] };
const WAIT = machine({ Wait: { Type: 'Wait', Seconds: 100, End: true } });

function errorName(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
  return 'none';
}

describe('starting', () => {
  it('gives the same execution for the same name and input while it runs', async () => {
    const harness = new AslHarness();
    const first = harness.start(WAIT, { a: 1 });
    const again = harness.interpreter.start('machine', { name: 'run', input: { a: 1 } });
    expect(again.executionArn).toBe(first.executionArn);
    expect(await again.done).toBe(await first.done);
    expect(harness.events.map(({ type }) => type)).toEqual(['RUNNING', 'SUCCEEDED']);
  });

  it('refuses a name that runs with another input, or has ended', async () => {
    const harness = new AslHarness();
    const { done } = harness.start(WAIT, { a: 1 });
    const start = (input: unknown) => () => harness.interpreter.start('machine', { name: 'run', input });
    expect(errorName(start({ a: 2 }))).toBe('ExecutionAlreadyExists');
    await done;
    expect(errorName(start({ a: 1 }))).toBe('ExecutionAlreadyExists');
  });

  it('refuses unknown machines, bad names and inputs that are too large', () => {
    const harness = new AslHarness();
    harness.interpreter.register('machine', WAIT);
    const start = (machineName: string, name: string, input: unknown) =>
      errorName(() => harness.interpreter.start(machineName, { name, input }));
    expect(start('other', 'run', {})).toBe('StateMachineDoesNotExist');
    for (const name of ['', 'n'.repeat(81), 'a b', 'a/b', 'a:b', 'a*']) {
      expect([name, start('machine', name, {})]).toEqual([name, 'InvalidName']);
    }
    expect(start('machine', 'run', 'x'.repeat(262_143))).toBe('InvalidExecutionInput');
    expect(start('machine', 'run', 'x'.repeat(262_142))).toBe('none');
  });

  it('keeps the definition an execution started with', async () => {
    const harness = new AslHarness();
    const old = harness.start(machine({ Pause: { Type: 'Wait', Seconds: 5, Next: 'Say' }, Say: pass('old') }));
    harness.interpreter.register('machine', machine({ Say: pass('new') }));
    const fresh = harness.interpreter.start('machine', { name: 'later', input: {} });
    expect([(await old.done).output, (await fresh.done).output]).toEqual(['"old"', '"new"']);
  });

  it('shares no object with whoever gave the input', async () => {
    const harness = new AslHarness();
    const input = { list: [1] };
    const { done } = harness.start(
      machine({ Pause: { Type: 'Wait', Seconds: 5, Output: '{% $states.input %}', End: true } }),
      input,
    );
    input.list.push(2);
    expect((await done).output).toBe('{"list":[1]}');
  });

  it('forgets the details of old executions but not their names', async () => {
    const harness = new AslHarness({ closedExecutionsKept: 2 });
    harness.interpreter.register('machine', machine({ Say: pass(1) }));
    const arns: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      const { executionArn, done } = harness.interpreter.start('machine', { name, input: {} });
      arns.push(executionArn);
      await done;
    }
    const known = arns.map((arn) => errorName(() => harness.interpreter.describe(arn)));
    expect(known).toEqual(['ExecutionDoesNotExist', 'none', 'none']);
    expect(errorName(() => harness.interpreter.start('machine', { name: 'a', input: {} }))).toBe(
      'ExecutionAlreadyExists',
    );
  });
});

describe('describing and stopping', () => {
  it('describes a running and an ended execution', async () => {
    const harness = new AslHarness();
    const { executionArn, done } = harness.start(WAIT, { a: 1 });
    expect(harness.interpreter.describe(executionArn)).toMatchObject({ status: 'RUNNING', input: '{"a":1}' });
    await done;
    expect(harness.interpreter.describe(executionArn)).toEqual({
      executionArn,
      stateMachineArn: 'arn:aws:states:local:000000000000:stateMachine:machine',
      stateMachineName: 'machine',
      name: 'run',
      status: 'SUCCEEDED',
      startDate: '2026-01-01T00:00:00.000Z',
      stopDate: '2026-01-01T00:01:40.000Z',
      input: '{"a":1}',
      output: '{"a":1}',
      historyEventCount: 4,
    });
  });

  it('aborts at once and runs no Catch', async () => {
    const harness = new AslHarness();
    const handle = harness.start(machine({ Wait: callback('keep', {}, CAUGHT), Caught: pass('caught') }));
    await nextTurn();
    harness.interpreter.stop(handle.executionArn, 'Cancelled', 'by hand');
    expect(handle.status).toBe('ABORTED');
    expect(await handle.done).toEqual({ status: 'ABORTED', error: 'Cancelled', cause: 'by hand' });
    expect(harness.historyOf(handle.executionArn).slice(-1)).toEqual(['ExecutionAborted']);
    expect(errorName(() => harness.interpreter.sendTaskSuccess(harness.tokens[0] ?? '', '1'))).toBe('TaskTimedOut');
    await harness.clock.elapse(1000);
    expect(harness.events.map(({ type }) => type)).toEqual(['RUNNING', 'ABORTED']);
  });

  it('stops the children of a distributed map too', async () => {
    const harness = new AslHarness();
    const children = processor({ Wait: callback('keep', {}, CAUGHT), Caught: pass('caught') }, 'DISTRIBUTED');
    const handle = harness.start(
      machine({ Each: { Type: 'Map', Items: [1, 2, 3], ItemProcessor: children, End: true } }),
    );
    while (harness.tokens.length < 3) await nextTurn();
    expect(harness.interpreter.runningExecutions).toBe(4);
    harness.interpreter.stop(handle.executionArn);
    await nextTurn();
    expect(harness.events.filter(({ type }) => type === 'ABORTED')).toHaveLength(4);
    expect([harness.interpreter.runningExecutions, harness.interpreter.waitingTokens]).toEqual([0, 0]);
  });

  it('does not mind stopping what has ended, and knows no other executions', async () => {
    const harness = new AslHarness();
    const { executionArn, done } = harness.start(machine({ Say: pass(1) }));
    await done;
    harness.interpreter.stop(executionArn);
    expect(harness.interpreter.describe(executionArn).status).toBe('SUCCEEDED');
    expect(errorName(() => harness.interpreter.stop('arn:none'))).toBe('ExecutionDoesNotExist');
  });

  it("aborts a function's signal when its task times out or its execution is stopped", async () => {
    const harness = new AslHarness();
    const signals: AbortSignal[] = [];
    harness.behaviours['watch'] = async (_, signal) => {
      signals.push(signal);
      await harness.clock.sleep(10_000_000, signal);
    };
    const timedOut = harness.start(machine({ Call: task('watch', 1, { TimeoutSeconds: 5 }) }));
    expect((await timedOut.done).error).toBe('States.Timeout');
    const stopped = harness.interpreter.start('machine', { name: 'second', input: {} });
    await nextTurn();
    harness.interpreter.stop(stopped.executionArn);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });
});

describe('events', () => {
  it('tell of every execution, children of distributed maps included, with inputs and outputs as JSON text', async () => {
    const harness = new AslHarness();
    const definition = machine({
      Each: {
        Type: 'Map',
        Label: 'units',
        Items: ['a'],
        ItemProcessor: processor({ Stop: { Type: 'Fail', Error: 'E', Cause: 'c' } }, 'DISTRIBUTED'),
        ToleratedFailurePercentage: 100,
        Output: 'done',
        End: true,
      },
    });
    await harness.start(definition, { n: 1 }).done;
    const parent = { stateMachineName: 'machine', name: 'run', input: '{"n":1}' };
    const child = { stateMachineName: 'machine/units', input: '"a"' };
    expect(harness.events).toMatchObject([
      { type: 'RUNNING', ...parent },
      { type: 'RUNNING', ...child },
      { type: 'FAILED', ...child, error: 'E', cause: 'c' },
      { type: 'SUCCEEDED', ...parent, output: '"done"' },
    ]);
  });
});
