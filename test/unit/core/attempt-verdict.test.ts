import { describe, expect, it } from 'vitest';
import { messageOfCause, stageOfState, verdictOf, type EndedAttempt } from '#core/attempt-verdict';
import { UNGRADED_REASONS, type Grade } from '#core/grade';
import { machine } from '#test/state-machines/definitions';

const ended = (overrides: Partial<EndedAttempt>): EndedAttempt => ({
  outcome: { kind: 'completed', exitCode: 0, durationSeconds: 1, message: null },
  grade: null,
  error: null,
  agentActed: true,
  evidence: null,
  guestTrusted: true,
  ...overrides,
});
const graded: Grade = { kind: 'graded', score: 0.5, detail: null };
const ungraded = (blame: 'platform' | 'task' | 'agent' | 'caller'): Grade => ({
  kind: 'ungraded',
  reason: 'grader-failed',
  blame,
  message: 'why',
});
const failed = (name: string, state: string, message = ''): EndedAttempt['error'] => ({ name, message, state });

describe('a lost sandbox', () => {
  const losses = [
    ['SandboxLostError', 'RunAgent'],
    ['SandboxLostError', 'CollectOutput'],
    ['ChannelUnavailableError', 'CollectOutput'],
  ] as const;

  it.each(losses)('(%s in %s) after the agent acted is its own doing without evidence', (name, state) => {
    expect(verdictOf(ended({ error: failed(name, state) }))).toMatchObject({
      blame: 'agent',
      retry: false,
      ledgerClass: 'forfeited',
    });
  });

  it.each(losses)('(%s in %s) earns another attempt with evidence', (name, state) => {
    const verdict = verdictOf(
      ended({ error: failed(name, state), evidence: 'EC2 Spot Instance Interruption Warning' }),
    );
    expect(verdict).toMatchObject({ blame: 'platform', retry: true, ledgerClass: 'lost', countsAsAttempt: true });
  });

  it.each(losses)('(%s in %s) before the agent acted is ours in any case', (name, state) => {
    const verdict = verdictOf(ended({ error: failed(name, state), agentActed: false, outcome: null }));
    expect(verdict).toMatchObject({ blame: 'platform', retry: true, ledgerClass: 'lost' });
  });
});

describe('a grade', () => {
  it.each(['RecordUnit', 'ReleaseSandbox', 'CloseAttempt', 'GradeUnit'])('stands, though %s failed later', (state) => {
    expect(verdictOf(ended({ grade: graded, error: failed('StoreUnavailableError', state) }))).toMatchObject({
      ledgerClass: 'scored',
      retry: false,
    });
  });

  it.each([
    ['platform', true, 'lost'],
    ['task', false, 'task_fault'],
    ['caller', false, 'task_fault'],
    ['agent', false, 'forfeited'],
  ] as const)('that is missing by the %s: retry %s, class %s', (blame, retry, ledgerClass) => {
    expect(verdictOf(ended({ grade: ungraded(blame) }))).toMatchObject({
      blame,
      retry,
      ledgerClass,
      notRunReason: null,
    });
  });

  it('that the task made impossible is not tried again because the record failed', () => {
    const verdict = verdictOf(ended({ grade: ungraded('task'), error: failed('StorageFullError', 'RecordUnit') }));
    expect(verdict).toMatchObject({ blame: 'task', retry: false, ledgerClass: 'task_fault' });
  });

  it('that never came is the platform’s, and is tried again', () => {
    for (const error of [null, failed('States.Timeout', 'GradeUnit'), failed('GraderUnavailableError', 'GradeUnit')]) {
      expect(verdictOf(ended({ error }))).toMatchObject({ blame: 'platform', retry: true, ledgerClass: 'lost' });
    }
  });

  it('has every reason in a verdict of its own', () => {
    expect(UNGRADED_REASONS.length).toBeGreaterThan(5);
    for (const reason of UNGRADED_REASONS) {
      const grade: Grade = { kind: 'ungraded', reason, blame: 'task', message: '' };
      expect(verdictOf(ended({ grade })).signatureId).toBe(`ungraded-${reason}`);
    }
  });
});

describe('an error', () => {
  it('of the agent with nothing to grade is a forfeit, never a class that waits for a grade', () => {
    for (const error of [failed('AgentNotStoppedError', 'CollectOutput'), failed('States.Timeout', 'RunAgent')])
      expect(verdictOf(ended({ error }))).toMatchObject({ blame: 'agent', retry: false, ledgerClass: 'forfeited' });
  });

  it('of the caller leaves the unit not run, with the reason', () => {
    expect(
      verdictOf(ended({ error: failed('SandboxRefusedError', 'ProvisionSandbox'), agentActed: false })),
    ).toMatchObject({
      ledgerClass: 'not_run',
      notRunReason: 'refused',
      retry: false,
    });
  });

  it('nobody knows is the platform’s, tried again and flagged', () => {
    expect(verdictOf(ended({ error: failed('Weird', 'StageUnit') }))).toMatchObject({
      blame: 'platform',
      retry: true,
      unknown: true,
    });
  });

  it('that does not count gives the attempt back', () => {
    expect(verdictOf(ended({ error: failed('HostRestartedError', 'RunAgent') })).countsAsAttempt).toBe(false);
  });

  it('is read out of the JSON a failed function leaves, or taken as it is', () => {
    expect(messageOfCause('{"errorType":"X","errorMessage":"disk gone","trace":[]}')).toBe('disk gone');
    expect(messageOfCause('{"cut off": "by the limit')).toBe('{"cut off": "by the limit');
    for (const text of ['', 'plain', '[]', 'null', '{}']) expect(messageOfCause(text)).toBe(text);
  });
});

it('every state of the machines that calls a function has a stage of its own', () => {
  const states = (['unit', 'grade'] as const).flatMap((name) =>
    Object.entries(machine(name).States).flatMap(([state, { Type }]) => (Type === 'Task' ? [state] : [])),
  );
  expect(states.length).toBeGreaterThan(12);
  for (const state of states)
    expect([state, stageOfState(state) === 'run'].join()).toBe([state, state === 'RunAgent'].join());
});
