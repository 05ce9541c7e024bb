import { describe, expect, it } from 'vitest';
import { answerOfJob, type EndedJob } from '#core/job-answer';

const ended = (overrides: Partial<EndedJob>): EndedJob => ({
  end: 'exited',
  exitCode: 0,
  signal: null,
  durationSeconds: 12,
  message: null,
  ...overrides,
});

describe("the end of an agent's job", () => {
  it.each([
    ['completed', ended({})],
    ['failed', ended({ exitCode: 3 })],
    ['failed', ended({ exitCode: null, signal: 'SIGKILL' })],
    ['timeout', ended({ end: 'wall-limit', exitCode: null })],
    ['cancelled', ended({ end: 'stopped', exitCode: null })],
    ['failed', ended({ end: 'runner-lost', exitCode: null })],
  ])('is the outcome %s and no failure of the state', (kind, job) => {
    const answer = answerOfJob('run', job);
    expect(answer.kind).toBe('succeed');
    expect(answer.outcome).toMatchObject({ kind, durationSeconds: 12, exitCode: job.exitCode });
    expect(answer.outcome?.message === null).toBe(kind === 'completed');
  });

  it('is our fault when the job could not be started', () => {
    const answer = answerOfJob('run', ended({ end: 'spawn-failed', exitCode: null, message: 'ENOENT node' }));
    expect(answer).toEqual({
      kind: 'fail',
      error: 'AgentLaunchError',
      cause: 'spawn-failed (exit code null): ENOENT node',
      outcome: null,
    });
  });

  it('says that the runner was killed, since only the agent was there to do it', () => {
    expect(answerOfJob('run', ended({ end: 'runner-lost' })).outcome?.message).toMatch(/guest runner was ended/u);
  });
});

describe.each([
  ['stage', 'StagingFailedError'],
  ['collect', 'CollectFailedError'],
] as const)('the end of a %s job', (purpose, error) => {
  it('is good only if it exited with 0', () => {
    expect(answerOfJob(purpose, ended({}))).toEqual({ kind: 'succeed', outcome: null });
  });

  it.each([
    ended({ exitCode: 1 }),
    ended({ exitCode: null, signal: 'SIGTERM' }),
    ended({ end: 'wall-limit' }),
    ended({ end: 'stopped' }),
    ended({ end: 'spawn-failed' }),
    ended({ end: 'runner-lost' }),
  ])(`is ${error} for %o`, (job) => {
    expect(answerOfJob(purpose, { ...job, message: 'why' })).toMatchObject({ kind: 'fail', error, outcome: null });
  });

  it('names signal and reason', () => {
    const answer = answerOfJob(purpose, ended({ exitCode: null, signal: 'SIGKILL', message: 'out of memory' }));
    expect(answer).toMatchObject({ cause: 'it ended with signal SIGKILL: out of memory' });
  });
});
