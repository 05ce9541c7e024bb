import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { jobId } from '#core/ids';
import { objectKeys, rowKeys } from '#core/keys';
import { taskManifestKey } from '#core/catalog';
import type { ModuleReport } from '#ports/module-runner';
import { awaitSandbox } from '#usecases/await-sandbox';
import { collectOutput } from '#usecases/collect-output';
import { onRunFinished } from '#usecases/on-run-finished';
import { runAgent } from '#usecases/run-agent';
import { setUpTask } from '#usecases/set-up-task';
import { stageUnit } from '#usecases/stage-unit';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, awaitInTime, ids, runTo, waiting } from '#test/builders/attempt-run';
import { publishFakeAgent, publishFakeTask, requestSweep, type AgentOptions } from '#test/builders/catalog';
import { World } from '#test/builders/world';

const sandboxId = (world: World): string => world.machines.held[0]?.sandboxId ?? '';

async function withAgent(options: AgentOptions): Promise<World> {
  const world = new World();
  const request = await requestSweep(world.artifacts);
  const manifestKey = await publishFakeAgent(world.artifacts, options);
  await runTo(world, 'await', { agents: request.agents.map((agent) => ({ ...agent, manifestKey })) });
  return world;
}

async function stagedPaths(world: World): Promise<readonly string[]> {
  const key = objectKeys.list(ATTEMPT, 'stage');
  const list = JSON.parse(new TextDecoder().decode(await world.artifacts.get({ bucket: 'artifacts', key }))) as {
    readonly items: readonly { readonly path: string }[];
  };
  return list.items.map(({ path }) => path.replace(/^.*\/(?=input|software|agent|solution)/u, ''));
}

describe('waiting for a sandbox', () => {
  it('answers at once when it is ready, and by the watch when it becomes so', async () => {
    const world = new World();
    await runTo(world, 'provision');
    world.machines.states.set(sandboxId(world), { state: 'pending' });
    const payload = await awaitInTime(world);
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.has(payload.token)).toBe(false);
    expect(world.tokens.beats).toEqual([payload.token]);
    world.machines.states.delete(sandboxId(world));
    await watchRuns({}, world.ports);
    expect(world.tokens.answers.get(payload.token)).toEqual({ output: {} });
    expect(await world.keysIn(rowKeys.sandboxWait('').pk)).toEqual([]);
  });

  it.each([
    [{ state: 'gone', evidence: 'Client.InternalError' } as const, 'Client.InternalError'],
    [{ state: 'gone', evidence: null } as const, null],
    [{ state: 'stopped' } as const, null],
  ])('is told when it went away: %o', async (state, evidence) => {
    const world = new World();
    await runTo(world, 'provision');
    world.machines.states.set(sandboxId(world), state);
    const payload = waiting(world);
    await awaitSandbox(payload, world.ports);
    expect(world.tokens.answers.get(payload.token)).toMatchObject({ error: 'SandboxLostError' });
    expect((await world.attempt(ATTEMPT)).evidence).toBe(evidence);
  });
});

describe('the watch', () => {
  it('forgets a wait whose token is gone', async () => {
    const world = new World({ script: () => ({ seconds: 600 }) });
    await runTo(world, 'await');
    const payload = waiting(world);
    await stageUnit(payload, world.ports);
    world.tokens.gone.add(payload.token);
    await watchRuns({}, world.ports);
    expect(await world.keysIn(rowKeys.jobWait('').pk)).toEqual([]);
  });

  it('beats every other token when one cannot be looked at, and its own too', async () => {
    const world = new World({ script: () => ({ seconds: 600 }) });
    await runTo(world, 'await', { trials: 1 });
    const [mine, stranger] = [waiting(world), waiting(world)];
    await stageUnit(mine, world.ports);
    const row = (await world.store.get(rowKeys.jobWait(jobId(ATTEMPT, 'stage'))))?.body;
    const foreign = { ...row, token: stranger.token, attemptId: 'unknown.1' };
    await world.store.write([{ put: { ...rowKeys.jobWait('a.1~run'), body: foreign }, when: 'any' }]);
    await expect(watchRuns({}, world.ports)).rejects.toThrow(/unknown/u);
    expect(world.tokens.beats.toSorted()).toEqual([mine.token, stranger.token].toSorted());
    expect(world.log.events).toContain('watch.failed');
  });
});

describe('staging', () => {
  it('brings input and the agent’s own files, a recording only to an agent that replays', async () => {
    const plain = await withAgent({});
    await stageUnit(waiting(plain), plain.ports);
    expect(await stagedPaths(plain)).toEqual(['input/base/code.txt', 'agent/launch.mjs']);
    const replaying = await withAgent({ recordings: true });
    await stageUnit(waiting(replaying), replaying.ports);
    expect(await stagedPaths(replaying)).toContain('agent/recording.json');
  });

  it('brings the solution to an agent that is made for it alone', async () => {
    const world = await withAgent({ stages: ['solution'] });
    await stageUnit(waiting(world), world.ports);
    expect(await stagedPaths(world)).toContain('solution/base/solve.mjs');
  });

  it('takes the next job when the last ended badly, and the same while it runs', async () => {
    let results = [1, 0];
    const world = new World({ script: () => ({ result: { exitCode: results[0] ?? 0 } }) });
    await runTo(world, 'await');
    const first = waiting(world);
    await stageUnit(first, world.ports);
    await onRunFinished({ jobId: jobId(ATTEMPT, 'stage') }, world.ports);
    expect(world.tokens.answers.get(first.token)).toMatchObject({ error: 'StagingFailedError' });
    results = results.slice(1);
    const second = waiting(world);
    await stageUnit(second, world.ports);
    await stageUnit(second, world.ports);
    await onRunFinished({ jobId: jobId(ATTEMPT, 'stage', 2) }, world.ports);
    expect(world.tokens.answers.get(second.token)).toEqual({ output: {} });
    expect(world.guest.jobs.map((job) => job.jobId)).toEqual([jobId(ATTEMPT, 'stage'), jobId(ATTEMPT, 'stage', 2)]);
  });
});

describe('setting up', () => {
  it('leaves the prompt with its suffix where the agent works', async () => {
    const world = new World();
    await runTo(world, 'setup', { promptSuffix: 'Be brief.' });
    expect((await world.attempt(ATTEMPT)).prompt).toBe('Do base.\n\nBe brief.');
    expect(world.guest.calls.at(-1)).toMatchObject({
      command: 'write_text',
      params: {
        path: expect.stringMatching(/\/scripted\/.*\/prompt\.txt$/u) as string,
        content: 'Do base.\n\nBe brief.',
      },
    });
  });

  const ends: readonly (readonly [string, Partial<ModuleReport>])[] = [
    ['TaskSetupError', { end: 'threw', errorMessage: 'no app.html' }],
    ['TaskSetupError', { end: 'timeout' }],
    ['TaskSetupError', { end: 'memory' }],
    ['TaskSetupError', { end: 'exited', exitCode: 3 }],
    ['StagingFailedError', { end: 'unavailable', errorMessage: 'spawn EAGAIN' }],
    ['ChannelUnavailableError', { end: 'threw', hostFault: { name: 'ChannelUnavailableError', message: 'no answer' } }],
    [
      'ChannelUnavailableError',
      { end: 'returned', hostFault: { name: 'ChannelUnavailableError', message: 'no answer' } },
    ],
    ['StagingFailedError', { end: 'threw', hostFault: { name: 'Error', message: 'EMFILE' } }],
  ];

  it.each(ends)('is %s when the hook ends with %o', async (name, report) => {
    const world = new World();
    const task = await publishFakeTask(world.artifacts, { hasStart: true });
    await runTo(world, 'stage', { tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }] });
    world.modules.behave['start'] = () => report;
    await expect(setUpTask(ids, world.ports)).rejects.toMatchObject({ name });
    expect(world.workspace.openFolders.size).toBe(0);
  });

  it('fails by name when the guest does not take the prompt', async () => {
    const world = new World({
      guestFault: (when, act) => {
        if (when === 'before' && act === 'call') throw new ExamHallError('ChannelUnavailableError', 'no answer');
      },
    });
    await runTo(world, 'stage');
    await expect(setUpTask(ids, world.ports)).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
  });
});

describe('collecting', () => {
  it('refuses while anything of the agent is alive, and says so in the log', async () => {
    const world = new World();
    await runTo(world, 'run');
    world.guest.survivors = 2;
    world.guest.left = ['process 5001 agent.exe', 'task \\Respawn'];
    await expect(collectOutput(waiting(world), world.ports)).rejects.toMatchObject({
      name: 'AgentNotStoppedError',
      message: expect.stringMatching(/alive after the stop: process 5001 agent\.exe, task \\Respawn$/) as string,
    });
    const { runDir } = await world.attempt(ATTEMPT);
    expect(world.runTree.eventTypes(String(runDir))).toContain('agent_stop_failed');
    expect(world.guest.jobs.some(({ kind }) => kind === 'collect')).toBe(false);
  });

  it('lays a stop that the machine is unsure of to nobody’s agent, whatever words the guest has for it', async () => {
    const world = new World();
    await runTo(world, 'run');
    Object.assign(world.guest, { survivors: 1, left: ['process 5001 ENOSPC'], unsure: 'SpotInterruption: no look' });
    await expect(collectOutput(waiting(world), world.ports)).rejects.toMatchObject({
      name: 'StopUnconfirmedError',
      blame: 'platform',
      message: 'the machine cannot tell whether processes of the agent are alive',
    });
    expect(world.guest.jobs.some(({ kind }) => kind === 'collect')).toBe(false);
  });

  it('stops an agent that still runs', async () => {
    const world = new World({ script: (job) => (job.kind === 'exec' ? { seconds: 900 } : {}) });
    await runTo(world, 'setup');
    await runAgent(waiting(world), world.ports);
    await collectOutput(waiting(world), world.ports);
    expect(world.guest.acts).toContain(`stop ${jobId(ATTEMPT, 'run')}`);
  });

  it('fails by name when its job fails', async () => {
    const world = new World({
      script: (job) => (job.kind === 'collect' ? { result: { exitCode: 1, message: 'HTTP 500' } } : {}),
    });
    await runTo(world, 'run');
    const payload = waiting(world);
    await collectOutput(payload, world.ports);
    await onRunFinished({ jobId: jobId(ATTEMPT, 'collect') }, world.ports);
    expect(world.tokens.answers.get(payload.token)).toMatchObject({
      error: 'CollectFailedError',
      cause: expect.stringContaining('HTTP 500') as string,
    });
  });
});

it('an agent gets the shorter of the two budgets', async () => {
  const short = await withAgent({ limits: { timeoutSeconds: 50 } });
  await runAgent(waiting(short), short.ports);
  expect(short.guest.jobs.at(-1)?.wallSeconds).toBe(50);
  const long = await withAgent({ limits: { timeoutSeconds: 5000 } });
  await runAgent(waiting(long), long.ports);
  expect(long.guest.jobs.at(-1)?.wallSeconds).toBe(600);
});
