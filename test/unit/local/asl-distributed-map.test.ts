import { setImmediate as nextTurn } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { AslHarness, callback, machine, pass, processor, task } from './asl-harness.ts';

const READER = {
  Resource: 'arn:aws:states:::s3:getObject',
  ReaderConfig: { InputType: 'JSONL' },
  Arguments: { Bucket: 'artifacts', Key: 'plan.jsonl' },
};
const WRITER = { Resource: 'arn:aws:states:::s3:putObject', Arguments: { Bucket: 'artifacts', Prefix: 'runs' } };

const UNIT = processor(
  {
    Look: {
      Type: 'Choice',
      Choices: [{ Condition: '{% $states.input.attempt > 3 %}', Next: 'Say' }],
      Default: 'Call',
    },
    Call: task('echo', '{% $states.input.unitId %}', {
      TimeoutSeconds: 60,
      Assign: { got: '{% $states.result.Payload %}' },
      Next: 'Wait',
    }),
    Wait: callback('succeed', { output: '{% $got %}', afterSeconds: 1 }, { TimeoutSeconds: 60, Next: 'Say' }),
    Say: pass('{% $states.input %}'),
  },
  'DISTRIBUTED',
);

const lines = (count: number): string =>
  Array.from({ length: count }, (_, index) => JSON.stringify({ unitId: `u-${index}`, attempt: 1 })).join('\n');

/** Runs a map of so many items and counts what it asked of its host. */
async function costOf(
  count: number,
): Promise<{ perItem: Record<string, number>; peakRunning: number; status: string }> {
  const harness = new AslHarness();
  harness.objects.set('artifacts/plan.jsonl', lines(count));
  let timers = 0;
  let running = 0;
  let peakRunning = 0;
  const setTimer = harness.clock.setTimer.bind(harness.clock);
  harness.clock.setTimer = (...args) => {
    timers += 1;
    running = harness.interpreter.runningExecutions;
    peakRunning = Math.max(peakRunning, running);
    return setTimer(...args);
  };
  const definition = machine({
    Each: { Type: 'Map', MaxConcurrency: 50, ItemReader: READER, ResultWriter: WRITER, ItemProcessor: UNIT, End: true },
  });
  const { status } = await harness.start(definition).done;
  const perItem = {
    invocations: harness.invocations.length / count,
    history: harness.history.length / count,
    events: harness.events.length / count,
    timers: timers / count,
    virtualSeconds: harness.seconds / count,
  };
  expect([harness.interpreter.runningExecutions, harness.interpreter.waitingTokens]).toEqual([0, 0]);
  expect(harness.clock.pendingTimers).toBe(0);
  return { perItem, peakRunning, status };
}

describe('a distributed map', () => {
  it('costs the same for each item, whether there are 500 or 10,000', async () => {
    const [small, large] = [await costOf(500), await costOf(10_000)];
    expect([small.status, large.status]).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    for (const [name, cost] of Object.entries(large.perItem)) {
      const expected = small.perItem[name] ?? 0;
      expect(Math.abs(cost - expected) / expected, `${name}: ${cost} per item, not ${expected}`).toBeLessThan(0.02);
    }
    expect([small.peakRunning, large.peakRunning]).toEqual([51, 51]);
  }, 120_000);

  it('starts the next item only when a child has ended, and holds none that has', async () => {
    const harness = new AslHarness();
    harness.objects.set('artifacts/plan.jsonl', `${lines(2)}\nnot JSON`);
    const children = processor({ Wait: callback('keep') }, 'DISTRIBUTED');
    const { done } = harness.start(
      machine({ Each: { Type: 'Map', MaxConcurrency: 1, ItemReader: READER, ItemProcessor: children, End: true } }),
    );
    const childArns: string[] = [];
    for (const turn of [1, 2]) {
      while (harness.tokens.length < turn) await nextTurn();
      childArns.push(harness.events.at(-1)?.executionArn ?? '');
      expect(harness.interpreter.runningExecutions).toBe(2);
      harness.interpreter.sendTaskSuccess(harness.tokens[turn - 1] ?? '', '1');
    }
    expect(await done).toMatchObject({
      error: 'States.ItemReaderFailed',
      cause: expect.stringContaining('Item 3') as unknown,
    });
    for (const arn of childArns) expect(() => harness.interpreter.describe(arn)).toThrow('There is no execution');
  });

  it('aborts its running children when the threshold is exceeded', async () => {
    const harness = new AslHarness();
    const children = processor(
      { Pause: { Type: 'Wait', Seconds: '{% $states.input %}', Next: 'Stop' }, Stop: { Type: 'Fail', Error: 'E' } },
      'DISTRIBUTED',
    );
    const { done } = harness.start(
      machine({ Each: { Type: 'Map', Items: [500, 1, 900], ItemProcessor: children, End: true } }),
    );
    expect(await done).toMatchObject({ error: 'States.ExceedToleratedFailureThreshold' });
    expect(harness.seconds).toBe(1);
    expect(harness.events.map(({ type }) => type).sort()).toEqual(
      ['ABORTED', 'ABORTED', 'FAILED', 'FAILED', 'RUNNING', 'RUNNING', 'RUNNING', 'RUNNING'].sort(),
    );
  });

  it('counts a child that times out or is stopped by hand as failed', async () => {
    const harness = new AslHarness();
    const children = processor({ Wait: callback('keep') }, 'DISTRIBUTED');
    const { done } = harness.start(
      machine({ Each: { Type: 'Map', Items: [1], ItemProcessor: children, ToleratedFailureCount: 0, End: true } }),
    );
    while (harness.tokens.length === 0) await nextTurn();
    harness.interpreter.stop(harness.events.at(-1)?.executionArn ?? '');
    expect(await done).toMatchObject({ error: 'States.ExceedToleratedFailureThreshold' });
  });

  it('writes every result to files by status, and a manifest that lists them', async () => {
    const harness = new AslHarness();
    harness.objects.set('artifacts/plan.jsonl', lines(5000));
    const children = processor(
      {
        Odd: {
          Type: 'Choice',
          Choices: [{ Condition: "{% $contains($states.input.unitId, '7') %}", Next: 'Stop' }],
          Default: 'Say',
        },
        Stop: { Type: 'Fail', Error: 'Seven', Cause: 'no' },
        Say: pass('{% $states.input.unitId %}'),
      },
      'DISTRIBUTED',
    );
    const each = { ItemReader: READER, ResultWriter: WRITER, ItemProcessor: children, ToleratedFailurePercentage: 100 };
    const { done } = harness.start(machine({ Each: { Type: 'Map', ...each, End: true } }));
    const { output } = await done;
    const details = (JSON.parse(output ?? '') as { ResultWriterDetails: { Key: string } }).ResultWriterDetails;
    const manifest = read(harness, details.Key) as { ResultFiles: Record<string, { Key: string; Size: number }[]> };
    const rowsOf = (kind: string): Record<string, unknown>[] =>
      (manifest.ResultFiles[kind] ?? []).flatMap(({ Key }) => read(harness, Key) as Record<string, unknown>[]);
    const sevens = Array.from({ length: 5000 }, (_, index) => `u-${index}`).filter((id) => id.includes('7'));
    expect(rowsOf('FAILED')).toHaveLength(sevens.length);
    expect(rowsOf('FAILED')[0]).toMatchObject({ Status: 'FAILED', Error: 'Seven', Cause: 'no' });
    expect(rowsOf('SUCCEEDED')).toHaveLength(5000 - sevens.length);
    expect(manifest.ResultFiles['SUCCEEDED']?.length).toBeGreaterThan(1);
    expect(rowsOf('SUCCEEDED')[0]).toMatchObject({
      Status: 'SUCCEEDED',
      Input: '{"unitId":"u-0","attempt":1}',
      Output: '"u-0"',
    });
    for (const { Key, Size } of manifest.ResultFiles['SUCCEEDED'] ?? []) {
      expect(Buffer.byteLength(harness.objects.get(`artifacts/${Key}`) ?? '')).toBe(Size);
    }
  });

  it('fails with States.ResultWriterFailed when results cannot be written', async () => {
    const harness = new AslHarness({}, { writeObject: () => Promise.reject(new Error('disk full')) });
    const each = { Items: [1], ResultWriter: WRITER, ItemProcessor: processor({ Say: pass(1) }, 'DISTRIBUTED') };
    const { done } = harness.start(machine({ Each: { Type: 'Map', ...each, End: true } }));
    expect(await done).toMatchObject({
      error: 'States.ResultWriterFailed',
      cause: expect.stringContaining('disk full') as unknown,
    });
  });
});

function read(harness: AslHarness, key: string): unknown {
  return JSON.parse(harness.objects.get(`artifacts/${key}`) ?? 'null');
}
