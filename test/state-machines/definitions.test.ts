import { describe, expect, it } from 'vitest';
import validateAsl from 'asl-validator';
import { FUNCTIONS } from '#contracts/functions';
import { ERROR_NAMES } from '#core/errors';
import { placeholders } from '#core/splice';
import { lifeSeconds, unitSeconds } from '#core/unit-plan';
import { functionNameOf } from '#local/machines';
import {
  assembledSweep,
  machine,
  MACHINE_NAMES,
  reachable,
  reachableWithFlags,
  readDefinition,
  successors,
  totalBackoffSeconds,
  type AslState,
} from './definitions.ts';

/** Error names of the services that the machines may name besides ours. */
const SERVICE_ERRORS = [
  'States.ALL',
  'States.Timeout',
  'States.HeartbeatTimeout',
  'States.TaskFailed',
  'States.ItemReaderFailed',
  'States.ResultWriterFailed',
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
  'Lambda.ClientExecutionTimeoutException',
  'Lambda.TooManyRequestsException',
  'Lambda.Unknown',
  'Sandbox.Timedout',
  'Runtime.ExitError',
];

/** What Lambda's own documentation has every caller retry, and what it says when a function timed out or its process died. */
const LAMBDA_RETRIED = SERVICE_ERRORS.filter((name) => /^(?:Lambda|Sandbox|Runtime)\./u.test(name));

const tasks = MACHINE_NAMES.flatMap((name) =>
  Object.entries(machine(name).States)
    .filter(([, state]) => state.Type === 'Task')
    .map(([state, definition]) => ({ name, state, definition })),
);

describe('the state machines', () => {
  it.each([...MACHINE_NAMES])('%s is valid ASL', (name) => {
    const { isValid, errors } = validateAsl(readDefinition(name));
    expect(errors).toEqual([]);
    expect(isValid).toBe(true);
  });

  it('stay valid when the unit is spliced into the map, and the validator can fail', () => {
    expect(validateAsl(assembledSweep()).isValid).toBe(true);
    const broken = { ...readDefinition('unit'), StartAt: 'NoSuchState' };
    expect(validateAsl(broken).isValid).toBe(false);
  });

  it('have tasks to check', () => {
    expect(tasks.length).toBeGreaterThan(15);
  });

  it.each(tasks)('$name $state has a timeout, a Retry and a Catch of everything', ({ definition }) => {
    expect(definition.TimeoutSeconds).toBeDefined();
    expect(definition.Retry?.length ?? 0).toBeGreaterThan(0);
    expect(definition.Catch?.at(-1)?.ErrorEquals).toEqual(['States.ALL']);
  });

  it.each(
    tasks.filter(({ state }) =>
      FUNCTIONS.some(
        ({ name, needs }) => name === functionNameOf(state) && needs.some(({ port }) => port === 'unitStore'),
      ),
    ),
  )('$name $state waits out a table that is throttled', ({ definition }) => {
    expect(definition.Retry?.flatMap(({ ErrorEquals }) => ErrorEquals)).toContain('StoreUnavailableError');
  });

  it.each(tasks)('$name $state retries every error that Lambda itself may answer with', ({ definition }) => {
    const retried = (definition.Retry ?? []).flatMap(({ ErrorEquals }) => ErrorEquals);
    expect(LAMBDA_RETRIED.length).toBe(8);
    expect(LAMBDA_RETRIED.filter((name) => !retried.includes(name))).toEqual([]);
  });

  it('name only errors that are declared', () => {
    const named = MACHINE_NAMES.flatMap((name) => [
      ...JSON.stringify(readDefinition(name)).matchAll(/"ErrorEquals":\[([^\]]+)\]/gu),
    ]).flatMap((match) => (match[1] ?? '').split(',').map((text) => JSON.parse(text) as string));
    expect(named.length).toBeGreaterThan(50);
    const known: readonly string[] = [...SERVICE_ERRORS, ...ERROR_NAMES];
    expect([...new Set(named)].filter((name) => !known.includes(name))).toEqual([]);
  });

  it.each([...MACHINE_NAMES])('%s has no state that cannot be reached', (name) => {
    const { States, StartAt } = machine(name);
    expect([...reachable(machine(name), StartAt)].sort()).toEqual(Object.keys(States).sort());
  });

  it('invoke exactly the functions that are declared for them', () => {
    const called = MACHINE_NAMES.flatMap((name) =>
      placeholders(readDefinition(name))
        .filter((placeholder) => placeholder !== 'ArtifactsBucket')
        .map((placeholder) => `${name} ${functionNameOf(placeholder)}`),
    );
    const declared = FUNCTIONS.flatMap(({ name, trigger }) =>
      trigger.kind === 'state' ? [`${trigger.machine} ${name}`] : [],
    );
    expect(called.sort()).toEqual(declared.sort());
    for (const { name, trigger } of FUNCTIONS) {
      if (trigger.kind === 'state') expect(functionNameOf(trigger.state)).toBe(name);
    }
  });
});

describe('the unit machine', () => {
  const unit = machine('unit');
  const ends = Object.entries(unit.States).flatMap(([name, state]) => (isEnd(state) ? [name] : []));

  it.each(['ReleaseSandbox', 'RecordUnit', 'CloseAttempt'])(
    'passes %s on every path from ProvisionSandbox',
    async (stop) => {
      const fresh = { isReleased: false, isCollected: false, isGraded: false };
      const without = await reachableWithFlags(unit, { state: 'ProvisionSandbox', flags: fresh }, [stop]);
      expect(without.has('ProvisionSandbox')).toBe(true);
      expect(
        [...without].filter((name) => ends.includes(name) || name === 'AdmitUnit' || name === 'CloseUnit'),
      ).toEqual([]);
    },
  );

  it('would be caught leaving out the release', async () => {
    const released = { isReleased: true, isCollected: false, isGraded: false };
    const without = await reachableWithFlags(unit, { state: 'ProvisionSandbox', flags: released }, ['ReleaseSandbox']);
    expect([...without]).toContain('CloseUnit');
  });

  it('grades before the release for graders that need the sandbox, and after it for all others', () => {
    expect(successors(unit.States['IsOwnSandboxNeeded'] ?? never('IsOwnSandboxNeeded'))).toEqual([
      'ReleaseSandbox',
      'GradeUnit',
    ]);
    expect(successors(unit.States['IsGradeDue'] ?? never('IsGradeDue'))).toEqual(['RecordUnit', 'GradeUnit']);
    expect(reachable(unit, 'GradeUnit', ['ReleaseSandbox']).has('RecordUnit')).toBe(true);
  });

  it('waits between tries for less than the slack in the life of a sandbox', () => {
    const seconds = unitSeconds({
      nowIso: '2026-01-01T00:00:00.000Z',
      deadlineAt: '2026-01-02T00:00:00.000Z',
      agentTimeoutSeconds: 7200,
      gradingTimeoutSeconds: 600,
    });
    const stated =
      seconds.awaitSeconds + seconds.stageSeconds + seconds.runSeconds + seconds.collectSeconds + seconds.gradeSeconds;
    const slack = lifeSeconds(seconds) - stated;
    const held = [...reachable(unit, 'ProvisionSandbox', ['RecordUnit'])];
    const waits = held.flatMap((name) => unit.States[name]?.Retry ?? []).map(totalBackoffSeconds);
    expect(waits.length).toBeGreaterThan(10);
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(slack);
  });

  it('gives each state more time than its function takes, and each heartbeat more than two looks of watch-runs', () => {
    const watch = FUNCTIONS.find(({ name }) => name === 'watch-runs');
    const every = watch?.trigger.kind === 'schedule' ? watch.trigger.everySeconds : Number.NaN;
    for (const { state, definition } of tasks) {
      const declared = FUNCTIONS.find(({ name }) => name === functionNameOf(state));
      expect(declared, state).toBeDefined();
      if (typeof definition.TimeoutSeconds === 'number')
        expect(definition.TimeoutSeconds, state).toBeGreaterThanOrEqual(declared?.timeoutSeconds ?? Infinity);
      if (typeof definition.HeartbeatSeconds === 'number')
        expect(definition.HeartbeatSeconds, state).toBeGreaterThan(2 * every);
    }
  });

  it('stays under 2,000 history events for an attempt with every retry used', () => {
    const inAttempt = [...reachable(unit, 'AdmitUnit', [])];
    const events = inAttempt.reduce((sum, name) => sum + worstEvents(unit.States[name] ?? never(name)), 0);
    expect(events).toBeGreaterThan(100);
    expect(events).toBeLessThan(2000);
  });
});

/** Entered and exited, and for a task scheduled, started, submitted and an end for each try. */
function worstEvents(state: AslState): number {
  const tries = 1 + (state.Retry ?? []).reduce((sum, { MaxAttempts }) => sum + MaxAttempts, 0);
  return 2 + (state.Type === 'Task' ? 4 * tries : 0);
}

function isEnd(state: AslState): boolean {
  return state.End === true || state.Type === 'Fail' || state.Type === 'Succeed';
}

function never(name: string): AslState {
  throw new Error(`no state ${name}`);
}
