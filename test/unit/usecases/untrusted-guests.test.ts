import { describe, expect, it } from 'vitest';
import { gradeId, jobId } from '#core/ids';
import { objectKeys } from '#core/keys';
import { closeAttempt } from '#usecases/close-attempt';
import { collectOutput } from '#usecases/collect-output';
import { commitGrade } from '#usecases/commit-grade';
import { expireSandbox } from '#usecases/expire-sandbox';
import { gradeUnit } from '#usecases/grade-unit';
import { onRunFinished } from '#usecases/on-run-finished';
import { releaseSandbox } from '#usecases/release-sandbox';
import { runAgent } from '#usecases/run-agent';
import { runGrader } from '#usecases/run-grader';
import { stageGrade } from '#usecases/stage-grade';
import { ATTEMPT, failure, grading, ids, runSteps, runTo, waiting, type StepName } from '#test/builders/attempt-run';
import { World, type WorldOptions } from '#test/builders/world';

const GRADE = gradeId(ATTEMPT, 1);
const SPOT = 'EC2 Spot Instance Interruption Warning';
const manifestRef = { bucket: 'artifacts', key: objectKeys.collectManifest(ATTEMPT) } as const;
const gradeRef = { bucket: 'artifacts', key: objectKeys.grade(ATTEMPT, 1) } as const;
const answerKey = `${objectKeys.collected(ATTEMPT)}output/answer.txt`;
const PRIVILEGES = ['upstream', 'restricted'] as const;

async function worldAt(last: StepName, privilege: (typeof PRIVILEGES)[number], options: WorldOptions = {}) {
  const world = new World(options);
  await runTo(world, last, { privilege });
  return world;
}

const close = async (world: World, name: string, state: string) => {
  const { retry } = await closeAttempt({ ...ids, error: failure(name, state) }, world.ports);
  return { retry, verdict: (await world.attempt(ATTEMPT)).verdict };
};

const OURS = { retry: true, verdict: { blame: 'platform', ledgerClass: 'lost' } };
const AGENTS = { retry: false, verdict: { blame: 'agent', ledgerClass: 'forfeited' } };

describe('what only the guest says once the agent has acted', () => {
  const told = [
    ['CollectFailedError', 'CollectOutput'],
    ['States.Timeout', 'CollectOutput'],
    ['Sandbox.Timedout', 'CollectOutput'],
    ['AgentLaunchError', 'RunAgent'],
  ] as const;

  it.each(told)('(%s in %s) is the agent’s doing with privilege upstream', async (name, state) => {
    expect(await close(await worldAt('run', 'upstream'), name, state)).toMatchObject(AGENTS);
  });

  it.each(told)('(%s in %s) is so with privilege restricted, and ours', async (name, state) => {
    expect(await close(await worldAt('run', 'restricted'), name, state)).toMatchObject(OURS);
  });

  it.each(told)('(%s in %s) is the agent’s where it works in the runner’s account', async (name, state) => {
    const world = await worldAt('run', 'restricted');
    const { sandbox } = await world.attempt(ATTEMPT);
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, agent: null } });
    expect(await close(world, name, state)).toMatchObject(AGENTS);
  });

  it('is excused by its provider, which is asked before the agent is blamed', async () => {
    const world = await worldAt('run', 'upstream');
    const id = world.machines.held[0]?.sandboxId ?? '';
    world.machines.states.set(id, { state: 'ready', evidence: SPOT });
    expect(await close(world, 'CollectFailedError', 'CollectOutput')).toMatchObject(OURS);
  });

  it('lays nothing to an agent that had not begun', async () => {
    const early = await worldAt('setup', 'upstream');
    expect(await close(early, 'AgentLaunchError', 'RunAgent')).toMatchObject(OURS);
  });

  it.each(['StoreUnavailableError', 'TypeError', 'Runtime.ExitError'])(
    'is not what a call or a bug of ours met (%s)',
    async (name) => {
      for (const state of ['RunAgent', 'CollectOutput'])
        expect(await close(await worldAt('run', 'upstream'), name, state)).toMatchObject(OURS);
    },
  );
});

describe('a sandbox that we end when its time is over', () => {
  it.each([
    ['restricted', OURS],
    ['upstream', AGENTS],
  ] as const)('under an agent that has begun with privilege %s', async (privilege, expected) => {
    const world = await worldAt('run', privilege);
    await world.clock.advance(Date.parse((await world.attempt(ATTEMPT)).expiresAt) - world.clock.now().getTime());
    await expireSandbox({ attemptId: ATTEMPT }, world.ports);
    expect((await world.attempt(ATTEMPT)).evidence === null).toBe(privilege === 'upstream');
    expect(await close(world, 'SandboxLostError', 'CollectOutput')).toMatchObject(expected);
  });
});

describe('a collect', () => {
  it('ends by a wall limit of its own before its state does', async () => {
    const world = await worldAt('run', 'upstream');
    await collectOutput({ ...waiting(world), timeoutSeconds: 3600 }, world.ports);
    expect(world.guest.jobs.at(-1)).toMatchObject({ kind: 'collect', wallSeconds: 3300 });
  });

  it('has what the calls before it took less of time', async () => {
    const world = await worldAt('run', 'upstream');
    const stop = world.guest.stop.bind(world.guest);
    world.guest.stop = async (...asked) => {
      await world.clock.advance(200_000);
      return await stop(...asked);
    };
    await collectOutput({ ...waiting(world), timeoutSeconds: 3600 }, world.ports);
    expect(world.guest.jobs.at(-1)).toMatchObject({ kind: 'collect', wallSeconds: 3100 });
  });
});

describe('what was collected', () => {
  it.each(PRIVILEGES)('is taken as it was when its job ended: another manifest is none (%s)', async (privilege) => {
    const world = await worldAt('gradeUnit', privilege);
    const manifest = new TextDecoder().decode(await world.artifacts.get(manifestRef));
    await world.artifacts.put(manifestRef, `${manifest} `);
    const staging = stageGrade(grading(), world.ports);
    await expect(staging).rejects.toMatchObject({ name: 'CollectFailedError', message: /told/u });
    await commitGrade({ ...grading(), error: failure('CollectFailedError', 'StageGrade') }, world.ports);
    const expected = privilege === 'upstream' ? AGENTS : OURS;
    expect(await close(world, 'ignored', 'GradeUnit')).toMatchObject(expected);
  });

  it.each([
    ['is not there', async (world: World) => await world.artifacts.remove({ bucket: 'artifacts', key: answerKey })],
    [
      'is longer',
      async (world: World) => await world.artifacts.put({ bucket: 'artifacts', key: answerKey }, 'longer than it'),
    ],
  ])('is not staged for a grader when a file of it %s', async (_, change) => {
    const world = await worldAt('gradeUnit', 'upstream');
    await change(world);
    await expect(stageGrade(grading(), world.ports)).rejects.toMatchObject({ name: 'CollectFailedError' });
  });

  it('is not graded when a file of it is another one of the same size', async () => {
    const world = await worldAt('gradeUnit', 'upstream');
    await world.artifacts.put({ bucket: 'artifacts', key: answerKey }, 'ANSWER.TXT\n');
    const { stageUrl } = await stageGrade(grading(), world.ports);
    const run = runGrader({ gradeId: GRADE, timeoutSeconds: 60, stageUrl }, world.ports);
    await expect(run).rejects.toMatchObject({ name: 'CollectFailedError', message: /not as its manifest says/u });
  });
});

describe('a guest that leaves its own grader without an answer', () => {
  async function graded(privilege: (typeof PRIVILEGES)[number]): Promise<World> {
    const world = await worldAt('stageGrade', privilege);
    const hostFault = { name: 'ChannelUnavailableError', message: 'the guest of i-0a1 cannot be used' };
    world.modules.behave['evaluate'] = () => ({ end: 'threw', value: null, valueKind: 'none', hostFault });
    await runSteps(world, 'runGrader', 'commitGrade');
    return world;
  }

  it.each([
    ['restricted', OURS],
    ['upstream', AGENTS],
  ] as const)('with privilege %s', async (privilege, expected) => {
    expect(await close(await graded(privilege), 'ignored', 'GradeUnit')).toMatchObject(expected);
  });

  it('is excused when its provider took it, which is asked at the release', async () => {
    const world = await graded('upstream');
    const id = String((await world.attempt(ATTEMPT)).sandbox?.['sandboxId']);
    world.machines.states.set(id, { state: 'gone', evidence: SPOT });
    await releaseSandbox(ids, world.ports);
    expect(await close(world, 'ignored', 'GradeUnit')).toMatchObject(OURS);
  });
});

describe('a guest that says that its agent was stopped', () => {
  it('is graded like any other while nobody has cancelled its sweep', async () => {
    const stopped = { result: { end: 'stopped', exitCode: null } } as const;
    const world = await worldAt('release', 'upstream', { script: (job) => (job.kind === 'exec' ? stopped : {}) });
    expect((await world.attempt(ATTEMPT)).outcome).toMatchObject({ kind: 'cancelled' });
    await gradeUnit(waiting(world), world.ports);
    expect((await world.attempt(ATTEMPT)).grade).toBeNull();
    expect(world.executions.started.size).toBe(1);
  });
});

describe('a run-agent that comes again', () => {
  it('asks nothing of the screen, which is the agent’s to break', async () => {
    const world = await worldAt('setup', 'restricted', {
      script: (job) => (job.kind === 'exec' ? { seconds: 300 } : {}),
    });
    await runAgent(waiting(world), world.ports);
    const { sandbox } = await world.attempt(ATTEMPT);
    const desktop = { serverUrl: 'http://127.0.0.1:5000', env: {}, bridge: '/opt/bridge.mjs', endpoint: null };
    await world.changeAttempt(ATTEMPT, { sandbox: { ...sandbox, desktop } });
    world.guest.answer = () => ({ success: false, error: 'its server has ended' });
    const again = waiting(world);
    await runAgent(again, world.ports);
    await world.clock.advance(300_000);
    await onRunFinished({ jobId: jobId(ATTEMPT, 'run') }, world.ports);
    expect(world.tokens.answers.get(again.token)).toEqual({ output: {} });
  });
});

describe('a grade that is committed again', () => {
  it.each([
    ['no JSON', 'graded'],
    ['a score that is none', JSON.stringify({ version: 1, gradeId: GRADE, grade: { kind: 'graded', score: 7 } })],
    ['of another grading', undefined],
  ])('is not taken for one when what lies there is %s', async (_, content) => {
    const world = await worldAt('commitGrade', 'restricted');
    const first = JSON.parse(new TextDecoder().decode(await world.artifacts.get(gradeRef))) as object;
    await world.artifacts.put(gradeRef, content ?? JSON.stringify({ ...first, gradeId: gradeId('other.1', 1) }));
    const again = commitGrade({ ...grading(), error: null }, world.ports);
    await expect(again).rejects.toMatchObject({ name: 'PayloadInvalidError', message: /is no grade of/u });
  });
});
