import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { AslHarness, callback, machine, pass } from './asl-harness.ts';

const SLOW = { TimeoutSeconds: 600, HeartbeatSeconds: 60 };

async function waiting(fields: object = SLOW): Promise<{ harness: AslHarness; token: string; done: Promise<unknown> }> {
  const harness = new AslHarness();
  const { done } = harness.start(
    machine({ Wait: callback('keep', {}, { ...fields }), Caught: pass('{% $states.input %}') }),
  );
  while (harness.tokens.length === 0) await nextTurn();
  return { harness, token: harness.tokens[0] ?? '', done };
}

function calls(harness: AslHarness, token: string): readonly string[] {
  const { interpreter } = harness;
  return [
    () => interpreter.sendTaskHeartbeat(token),
    () => interpreter.sendTaskFailure(token, 'E', 'c'),
    () => interpreter.sendTaskSuccess(token, '1'),
  ].map((call) => {
    try {
      call();
    } catch (error) {
      return error instanceof Error ? error.name : String(error);
    }
    return 'none';
  });
}

const REACHABLE = { ...SLOW, Catch: [{ ErrorEquals: ['States.ALL'], Next: 'Caught' }] };

describe('task tokens', () => {
  it('are used once; afterwards the task is closed', async () => {
    const { harness, token, done } = await waiting(REACHABLE);
    harness.interpreter.sendTaskSuccess(token, '{"a":1}');
    expect(calls(harness, token)).toEqual(['TaskTimedOut', 'TaskTimedOut', 'TaskTimedOut']);
    expect(await done).toEqual({ status: 'SUCCEEDED', output: '{"a":1}' });
  });

  it('are closed by a timeout', async () => {
    const { harness, token, done } = await waiting(REACHABLE);
    await done;
    expect(harness.seconds).toBe(60);
    expect(calls(harness, token)).toEqual(['TaskTimedOut', 'TaskTimedOut', 'TaskTimedOut']);
  });

  it('of another host do not exist here', async () => {
    const other = await waiting(REACHABLE);
    const later = new AslHarness({}, { newId: () => 'later-host' });
    expect(calls(later, other.token)).toEqual(['TaskDoesNotExist', 'TaskDoesNotExist', 'TaskDoesNotExist']);
  });

  it.each(['', 'made-up', 'a.b', 'a.b.c'])('made up as %j are invalid', async (token) => {
    const { harness } = await waiting(REACHABLE);
    expect(calls(harness, token)).toEqual(['InvalidToken', 'InvalidToken', 'InvalidToken']);
  });

  it('stay usable after an output that is no JSON or too large', async () => {
    const { harness, token, done } = await waiting(REACHABLE);
    const send = (output: string) => () => harness.interpreter.sendTaskSuccess(token, output);
    expect(send('{')).toThrow(expect.objectContaining({ name: 'InvalidOutput' }));
    expect(send(JSON.stringify('x'.repeat(262_143)))).toThrow(expect.objectContaining({ name: 'InvalidOutput' }));
    send('"fine"')();
    expect(await done).toEqual({ status: 'SUCCEEDED', output: '"fine"' });
  });

  it('are new for every attempt, so that a late answer to the old one cannot end the new', async () => {
    const harness = new AslHarness();
    const retry = { TimeoutSeconds: 10, Retry: [{ ErrorEquals: ['States.Timeout'], MaxAttempts: 1 }] };
    const { done } = harness.start(machine({ Wait: callback('keep', {}, retry) }));
    while (harness.tokens.length < 2) await nextTurn();
    const [old, current] = harness.tokens;
    expect(old).not.toBe(current);
    expect(calls(harness, old ?? '')).toEqual(['TaskTimedOut', 'TaskTimedOut', 'TaskTimedOut']);
    harness.interpreter.sendTaskSuccess(current ?? '', '"second"');
    expect(await done).toEqual({ status: 'SUCCEEDED', output: '"second"' });
  });

  it('survive the failure of a function only until it is known', async () => {
    const harness = new AslHarness();
    harness.behaviours['broken'] = async ({ token }) => {
      harness.tokens.push(String(token));
      throw new RangeError('broke');
    };
    const { done } = harness.start(machine({ Wait: callback('broken') }));
    expect(await done).toMatchObject({ status: 'FAILED', error: 'RangeError' });
    expect(calls(harness, harness.tokens[0] ?? '')[2]).toBe('TaskTimedOut');
  });

  it('have at most 1,024 characters', async () => {
    const { token } = await waiting(REACHABLE);
    expect(token.length).toBeLessThanOrEqual(1024);
  });
});
