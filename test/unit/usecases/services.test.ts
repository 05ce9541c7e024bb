import { describe, expect, it } from 'vitest';
import { taskManifestKey } from '#core/catalog';
import { ExamHallError } from '#core/errors';
import { gradeId, serviceJobId } from '#core/ids';
import { objectKeys } from '#core/keys';
import type { StartedService } from '#core/task-module';
import type { ModuleCall } from '#ports/module-runner';
import { setUpTask } from '#usecases/set-up-task';
import { runGrader } from '#usecases/run-grader';
import { stageGrade } from '#usecases/stage-grade';
import { ATTEMPT, grading, ids, runSteps, runTo } from '#test/builders/attempt-run';
import { publishFakeTask } from '#test/builders/catalog';
import { World, type WorldOptions } from '#test/builders/world';

const CODE_JOB = serviceJobId(ATTEMPT, 'service-code', 'page');
const SERVICE_JOB = serviceJobId(ATTEMPT, 'service', 'page');

/** A world up to `stage`, with a task whose hook starts service `page` with its secret. */
async function withService(options: WorldOptions = {}, asks = 'page'): Promise<World & { started?: StartedService }> {
  const world: World & { started?: StartedService } = new World({
    script: (job) => (job.jobId === SERVICE_JOB ? { seconds: 3600 } : {}),
    ...options,
  });
  const task = await publishFakeTask(world.artifacts, { hasStart: true, services: ['page'] });
  world.guest.said.set(SERVICE_JOB, { line: '{"port": 40123}', stderr: '' });
  world.modules.behave['start'] = async (call, _session, startService) => {
    try {
      const started = await startService?.(asks, { secret: secretOf(call), order: 7 });
      if (started !== undefined) world.started = started;
      return { valueKind: 'undefined' };
    } catch (error) {
      const { name, message } = error as Error;
      const isTasks = name === 'TaskSetupError';
      return { end: 'threw', errorName: name, errorMessage: message, hostFault: isTasks ? null : { name, message } };
    }
  };
  await runTo(world, 'stage', { tasks: [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }] });
  return world;
}

function secretOf(call: ModuleCall | undefined): string {
  return String((call?.input as { readonly secret?: string }).secret);
}

const callOf = (world: World, phase: string): ModuleCall | undefined =>
  world.modules.calls.findLast((call) => call.phase === phase);

describe('a service of a task', () => {
  it('runs as the runner in the sandbox’s network, its code where only the runner looks, its input on standard input', async () => {
    const world = await withService();
    await setUpTask(ids, world.ports);
    expect(world.started).toEqual({ port: 40123 });
    const [code, service] = world.guest.jobs.filter(({ jobId }) => jobId.includes('~service'));
    const folder = world.guest.jobFolder(world.machines.held[0] ?? expect.fail('no sandbox'), CODE_JOB);
    expect(code).toMatchObject({ kind: 'fetch', as: 'runner', jobId: CODE_JOB });
    const { secret } = await world.attempt(ATTEMPT);
    expect(service).toMatchObject({
      kind: 'exec',
      as: 'runner',
      network: 'sandbox',
      argv: [expect.stringMatching(/node$/u), `${folder}/code/page.mjs`],
      env: {},
      stdin: JSON.stringify({ secret, order: 7 }),
    });
    const listKey = objectKeys.serviceList(ATTEMPT, 'page');
    const acts = world.artifacts.calls.filter(({ ref }) => ref.key === listKey).map(({ operation }) => operation);
    expect([acts[0], acts.at(-1)]).toEqual(['put', 'remove']);
  });

  it('is found running when the set-up is done again', async () => {
    const world = await withService();
    await setUpTask(ids, world.ports);
    await setUpTask(ids, world.ports);
    expect(world.started).toEqual({ port: 40123 });
    expect(world.guest.jobs.filter(({ jobId }) => jobId === SERVICE_JOB)).toHaveLength(1);
  });

  it.each([
    ['{"port": 0}', '', /must print \{"port": n\} first/u],
    ['listening', 'warn: x', /printed "listening".*its errors end with: warn: x/u],
    [null, '', /printed no \{"port": n\} within 60 seconds/u],
  ])('that says %j is the task’s fault', async (line, stderr, message) => {
    const world = await withService();
    world.guest.said.set(SERVICE_JOB, { line, stderr });
    await expect(setUpTask(ids, world.ports)).rejects.toMatchObject({
      name: 'TaskSetupError',
      message: expect.stringMatching(message) as string,
    });
  });

  it('that ends is the task’s fault, and its errors are told without the secret', async () => {
    const world = await withService({ script: (job) => ({ result: { exitCode: job.jobId === SERVICE_JOB ? 3 : 0 } }) });
    const { secret } = await world.attempt(ATTEMPT);
    world.guest.said.set(SERVICE_JOB, { line: null, stderr: `TypeError: ${String(secret)} is no key` });
    await expect(setUpTask(ids, world.ports)).rejects.toMatchObject({
      name: 'TaskSetupError',
      message: expect.stringContaining('it exited with 3; its errors end with: TypeError: *** is no key') as string,
    });
  });

  it('that the task does not have is named with those it has', async () => {
    const world = await withService({}, 'pagee');
    await expect(setUpTask(ids, world.ports)).rejects.toThrow(/no service "pagee".*it has page/u);
  });

  it('whose code does not come is no fault of the task', async () => {
    const script: WorldOptions['script'] = (job) =>
      job.jobId === CODE_JOB ? { result: { exitCode: 1, message: 'HTTP 500' } } : {};
    const world = await withService({ script });
    await expect(setUpTask(ids, world.ports)).rejects.toMatchObject({
      name: 'StagingFailedError',
      message: expect.stringContaining('HTTP 500') as string,
    });
  });

  it('whose code comes a little later than the transfer’s first words is waited for', async () => {
    const script: WorldOptions['script'] = ({ jobId }) =>
      jobId === CODE_JOB ? { seconds: 1 } : jobId === SERVICE_JOB ? { seconds: 3600 } : {};
    const world = await withService({ script });
    const setUp = setUpTask(ids, world.ports);
    for (let polls = 0; polls < 40; polls += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      await world.clock.advance(50);
    }
    await setUp;
    expect(world.started).toEqual({ port: 40123 });
  });

  it('in a sandbox that does not answer is no fault of the task', async () => {
    const guestFault: WorldOptions['guestFault'] = (when, act, subject) => {
      if (when === 'before' && act === 'start' && subject === SERVICE_JOB)
        throw new ExamHallError('ChannelUnavailableError', 'no answer');
    };
    const world = await withService({ guestFault });
    await expect(setUpTask(ids, world.ports)).rejects.toMatchObject({ name: 'ChannelUnavailableError' });
  });
});

describe('the secret of an attempt', () => {
  it('is the same for start and evaluate, and another for another attempt', async () => {
    const world = await withService();
    await runSteps(world, 'setup', 'runGrader');
    const secret = secretOf(callOf(world, 'start'));
    expect(secret).toMatch(/^[0-9a-f]{64}$/u);
    expect(secretOf(callOf(world, 'evaluate'))).toBe(secret);
    const other = await withService();
    other.ports.ids.secret();
    expect(new Set([secret, other.ports.ids.secret()]).size).toBe(2);
  });

  it('is still there when a closed attempt is graded again', async () => {
    const world = await withService();
    await runSteps(world, 'setup', 'close');
    const again = { ...grading(), gradeId: gradeId(ATTEMPT, 2), gradeNumber: 2 };
    const { stageUrl } = await stageGrade(again, world.ports);
    await runGrader({ gradeId: again.gradeId, timeoutSeconds: 60, stageUrl }, world.ports);
    expect(secretOf(callOf(world, 'evaluate'))).toBe((await world.attempt(ATTEMPT)).secret);
  });

  it('is missing, and nothing else, in an attempt older than it', async () => {
    const world = await withService();
    await world.changeAttempt(ATTEMPT, { secret: null });
    await runSteps(world, 'setup', 'runGrader');
    for (const phase of ['start', 'evaluate']) expect(callOf(world, phase)?.input).not.toHaveProperty('secret');
  });

  it('is in no file of the run, event, log line or command, whatever hooks and graders print', async () => {
    const world = await withService();
    const { secret } = await world.attempt(ATTEMPT);
    const leak = `it was ${String(secret)}`;
    world.modules.behave['evaluate'] = () => ({ value: { score: 1, leak }, stdout: leak, stderr: leak });
    await runSteps(world, 'setup', 'close');
    const { runDir } = await world.attempt(ATTEMPT);
    const files = await world.runTree.list(String(runDir));
    expect(files.map(({ path }) => path)).toEqual(expect.arrayContaining(['record.json', 'events.jsonl']));
    const told = [
      ...world.runTree.files.values(),
      JSON.stringify([world.log.lines, world.events.published, [...world.executions.started]]),
      JSON.stringify(world.guest.jobs.map((job) => (job.kind === 'exec' ? [job.argv, job.env] : job))),
      JSON.stringify(world.guest.calls),
    ].map(String);
    expect(told.filter((text) => text.includes(String(secret)))).toEqual([]);
    expect(told.join('')).toContain('it was ***');
  });
});
