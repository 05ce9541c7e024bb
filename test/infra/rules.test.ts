import { describe, expect, it } from 'vitest';
import { EXECUTION_SOURCE, EXECUTION_STATUS_TYPE } from '#contracts/events';
import { ExecutionStatusDetail } from '#contracts/payloads';
import { ERROR_KINDS } from '#core/errors';
import { functionNameOf } from '#local/machines';
import { matchesPattern, type EventPattern } from '#local/event-pattern';
import { Deployment } from './deployment.ts';
import {
  deployedDefinition,
  deployedStates,
  deployedSweep,
  historyLengths,
  isCallback,
  isTask,
  mapOf,
  unitNamed,
} from './deployed-machines.ts';
import { appForTests } from './synth.ts';
import {
  example,
  fail,
  named,
  type Behaviour,
  type MachineHarness,
  type Payload,
} from '../state-machines/machine-harness.ts';

const deployment = new Deployment(appForTests());
const states = deployedStates(deployment);
const tasks = states.filter(isTask);
const map = mapOf(deployedDefinition(deployment, 'sweep'));

const silent: Behaviour = () => null;
const LONGEST_ID = 'x'.repeat(512);
const LONGEST_CAUSE = '\u{1F600}'.repeat(16_000);

function ruleFor(functionName: string): Readonly<Record<string, unknown>> {
  const [rule] = deployment
    .ofType('AWS::Events::Rule')
    .filter(({ properties }) => JSON.stringify(properties['Targets']).includes(`:function:${functionName}:live`))
    .filter(({ properties }) => 'EventPattern' in properties);
  if (rule === undefined) throw new Error(`no rule starts ${functionName}`);
  return rule.properties;
}

const alarmed = (text: string): boolean =>
  deployment.ofType('AWS::CloudWatch::Alarm').some(({ properties }) => JSON.stringify(properties).includes(text));

const ran = (harness: MachineHarness, name: string): number => harness.callsOf(name).length;

describe('row 5: a stop, a timeout or a full history skip every Catch', () => {
  const rule = ruleFor('on-execution-failed');
  const arn = 'arn:aws:states:eu-central-1:111122223333:stateMachine:';
  const detail = (stateMachineArn: string, status: string) => ({
    executionArn: 'arn:aws:states:eu-central-1:111122223333:execution:Sweep:first-r1',
    stateMachineArn,
    name: 'first-r1',
    status,
    startDate: 1_790_000_000_000,
    stopDate: 1_790_000_100_000,
    input: '{"sweepId":"first","run":1}',
    inputDetails: { included: true },
    output: null,
    outputDetails: null,
    error: null,
    cause: null,
  });
  const heard = (stateMachineArn: string, status: string): boolean =>
    matchesPattern(rule['EventPattern'] as EventPattern, {
      source: EXECUTION_SOURCE,
      detailType: EXECUTION_STATUS_TYPE,
      detail: detail(stateMachineArn, status),
    });

  it.each(['FAILED', 'TIMED_OUT', 'ABORTED'])(
    'the event of an execution that ended %s starts the clean-up',
    (status) => {
      expect([`${arn}Sweep`, `${arn}Sweep/RunUnits`, `${arn}Grade`].map((machine) => heard(machine, status))).toEqual([
        true,
        true,
        true,
      ]);
      expect(ExecutionStatusDetail.safeParse(detail(`${arn}Sweep/RunUnits`, status)).success).toBe(true);
    },
  );

  it('no other end and no other machine does, and an event that cannot be delivered is kept', () => {
    expect(heard(`${arn}Sweep`, 'SUCCEEDED')).toBe(false);
    expect(heard(`${arn}SweepOfSomebodyElse`, 'FAILED')).toBe(false);
    expect(JSON.stringify(rule['Targets'])).toContain(':UndeliveredQueue');
    expect(alarmed('"UndeliveredQueue"')).toBe(true);
  });

  it('a deployed unit that is stopped in the middle releases nothing by itself, so somebody else must', async () => {
    const harness = deployedSweep(deployment, [unitNamed('u1')], {
      'run-agent': (_, { interpreter, events }) => {
        const child = events.find(({ stateMachineName }) => stateMachineName === 'sweep/RunUnits');
        interpreter.stop(child?.executionArn ?? '', 'Stopped', 'by hand');
      },
    });
    const handle = await harness.run('sweep');
    expect(handle.status).toBe('SUCCEEDED');
    expect(ran(harness, 'release-sandbox')).toBe(0);
    expect(harness.events.filter(({ type }) => type === 'ABORTED').length).toBe(1);
  });
});

describe('row 6: a lost token leaves nothing waiting for ever', () => {
  const callbacks = states.filter(isCallback);

  it('every callback has a timeout; work in a sandbox has a heartbeat of more than two looks of the watcher', () => {
    expect(callbacks.length).toBe(7);
    for (const { name, state } of callbacks) {
      expect([name, state.TimeoutSeconds === undefined]).toEqual([name, false]);
      if (state.HeartbeatSeconds !== undefined) expect(state.HeartbeatSeconds).toBeGreaterThan(2 * 60);
    }
    const ticks = deployment
      .ofType('AWS::Events::Rule')
      .filter(({ properties }) => JSON.stringify(properties['Targets']).includes(':watch-runs:live'));
    expect(ticks.map(({ properties }) => properties['ScheduleExpression'])).toEqual(['rate(1 minute)']);
  });

  it.each(callbacks.map(({ name }) => functionNameOf(name)))(
    'a deployed unit ends when nobody answers %s',
    async (name) => {
      const harness = deployedSweep(deployment, [unitNamed('u1')], { [name]: silent });
      const handle = await harness.run('sweep');
      expect(handle.status).toBe('SUCCEEDED');
      expect(harness.interpreter.runningExecutions).toBe(0);
      expect(harness.interpreter.waitingTokens).toBe(0);
    },
  );

  it('attempts older than expected, a silent watcher and a silent reaper raise alarms', () => {
    for (const text of ['"attempt.overdue"', 'Watch silent', 'Reaper silent'])
      expect([text, alarmed(text)]).toEqual([text, true]);
  });
});

describe('row 7: a late worker does not overlap with the try after it', () => {
  it('the token of a try that is over answers nothing, and the next try has another', async () => {
    const tokens: unknown[] = [];
    const refusals: string[] = [];
    const harness = deployedSweep(deployment, [unitNamed('u1')], {
      'run-agent': ({ token }, { interpreter, succeed }, tries) => {
        tokens.push(token);
        if (tries === 0) return;
        try {
          interpreter.sendTaskSuccess(String(tokens[0]), '{}');
        } catch (error) {
          refusals.push(error instanceof Error ? error.name : 'none');
        }
        succeed.call(harness, token);
      },
    });
    await harness.run('sweep');
    expect(new Set(tokens).size).toBe(2);
    expect(refusals).toEqual(['TaskTimedOut']);
    expect(ran(harness, 'collect-output')).toBe(1);
  });

  it('the sandbox of an attempt is released before another attempt is admitted', async () => {
    const harness = deployedSweep(deployment, [unitNamed('u1')], {
      'run-agent': fail('SandboxLostError'),
      'close-attempt': (_, __, tries) => ({ retry: tries === 0, nextAttempt: tries + 2 }),
    });
    await harness.run('sweep');
    const order = harness.called.filter((name) => ['admit-unit', 'release-sandbox'].includes(name));
    expect(order).toEqual(['admit-unit', 'release-sandbox', 'admit-unit', 'release-sandbox']);
  });
});

describe('row 8: what is retried is named, and ours', () => {
  it('no deployed task retries everything, a timeout, or an error of task, agent or caller', () => {
    const retried = tasks.flatMap(({ name, state }) =>
      (state.Retry ?? []).flatMap(({ ErrorEquals }) => ErrorEquals.map((error) => ({ name, error }))),
    );
    expect(retried.length).toBeGreaterThan(100);
    const kinds: Readonly<Record<string, { readonly blame: string }>> = ERROR_KINDS;
    const wrong = retried.filter(({ error }) => {
      if (error in kinds) return kinds[error]?.blame !== 'platform';
      return !/^(?:Lambda\.\w+|Sandbox\.Timedout|Runtime\.ExitError|States\.HeartbeatTimeout)$/u.test(error);
    });
    expect(wrong).toEqual([]);
  });

  it('an error of the agent or the task goes on without another try', async () => {
    for (const error of ['AgentNotStoppedError', 'TaskSetupError']) {
      const name = error === 'TaskSetupError' ? 'set-up-task' : 'collect-output';
      const harness = deployedSweep(deployment, [unitNamed('u1')], { [name]: fail(error) });
      await harness.run('sweep');
      expect([error, ran(harness, name), ran(harness, 'record-unit')]).toEqual([error, 1, 1]);
    }
  });
});

/** Each function fails as often as its state tries again, then does its work. */
function worst(): Readonly<Record<string, Behaviour>> {
  const units = Object.entries(map.ItemProcessor.States).map(([name, state]) => ({ name, state }));
  const answers = deployedSweep(deployment, []).behaviours;
  return Object.fromEntries(
    units.filter(isTask).map(({ name, state }) => {
      const functionName = functionNameOf(name);
      const errors = (state.Retry ?? []).flatMap(({ ErrorEquals, MaxAttempts }) =>
        Array.from({ length: MaxAttempts }, () => ErrorEquals[0] ?? 'none'),
      );
      const behave: Behaviour = (payload, harness, tries) => {
        const error = errors[tries % (errors.length + 1)];
        if (error !== undefined) throw named(error, LONGEST_CAUSE);
        if (functionName === 'close-attempt') {
          const round = Math.floor(tries / (errors.length + 1));
          return { retry: round < 2, nextAttempt: round + 2 };
        }
        return answers[functionName]?.(payload, harness, tries);
      };
      return [functionName, behave];
    }),
  );
}

const longestUnit: Payload = {
  ...Object.fromEntries(
    Object.entries(unitNamed('u')).map(([key, value]) => [key, typeof value === 'number' ? 99_999_999 : value]),
  ),
  sweepId: LONGEST_ID,
  unitId: LONGEST_ID,
};

const longestGrade: Payload = {
  ...example('grade'),
  sweepId: LONGEST_ID,
  unitId: LONGEST_ID,
  attemptId: LONGEST_ID,
  gradeId: LONGEST_ID,
};
/** What the grade machine is started with so that each of its functions is called. */
const deployedGrade: Readonly<Record<string, Payload>> = {
  'stage-grade': longestGrade,
  'run-grader': { ...longestGrade, mode: 'light' },
  'run-sandbox-grader': { ...longestGrade, mode: 'same-sandbox' },
  'commit-grade': longestGrade,
};

describe('row 18: no state comes near 256 KiB', () => {
  it.each(tasks.map(({ name }) => functionNameOf(name)))(
    'with the longest ids, and the longest words from %s, functions get less than 64 KiB',
    async (name) => {
      const harness = deployedSweep(deployment, [longestUnit], { [name]: fail('E'.repeat(256), LONGEST_CAUSE) });
      await (name in deployedGrade ? harness.run('grade', deployedGrade[name]) : harness.run('sweep'));
      expect(ran(harness, name)).toBeGreaterThan(0);
      expect(Math.max(...harness.calls.map(({ bytes }) => bytes))).toBeLessThan(64 * 1024);
    },
  );

  it('what units answer goes to the bucket, and plans come from it', () => {
    expect(map.ResultWriter.Resource).toBe('arn:aws:states:::s3:putObject');
    expect([map.ResultWriter.Arguments['Bucket'], map.ItemReader.Arguments['Bucket']]).toEqual([
      'artifacts',
      'artifacts',
    ]);
  });
});

describe('row 19: no history comes near 25,000 events', () => {
  it('three attempts of a deployed unit with every retry used stay below 5,000, and its sweep below 100', async () => {
    const harness = deployedSweep(deployment, [unitNamed('u1')], worst());
    const handle = await harness.run('sweep');
    const lengths = [...historyLengths(harness)].filter(([arn]) => arn !== handle.executionArn);
    expect(ran(harness, 'close-attempt') % 3).toBe(0);
    expect(lengths.length).toBe(1);
    expect(lengths[0]?.[1] ?? 0).toBeGreaterThan(1000);
    expect(lengths[0]?.[1] ?? Infinity).toBeLessThan(5000);
    expect(handle.historyEventCount).toBeLessThan(100);
  });

  it('nothing polls: no deployed state waits by the clock', () => {
    expect(states.length).toBeGreaterThan(25);
    expect(states.filter(({ state }) => state.Type === 'Wait').map(({ name }) => name)).toEqual([]);
  });
});
