import { describe, expect, it } from 'vitest';
import { ExamHallError } from '#core/errors';
import { gradeId } from '#core/ids';
import { objectKeys } from '#core/keys';
import { taskManifestKey } from '#core/catalog';
import { GradeStageSchema } from '#contracts/grade-stage';
import type { ObjectRef } from '#ports/artifact-store';
import type { ModuleReport } from '#ports/module-runner';
import { closeAttempt } from '#usecases/close-attempt';
import { commitGrade } from '#usecases/commit-grade';
import { gradeUnit } from '#usecases/grade-unit';
import { runGrader } from '#usecases/run-grader';
import { runSandboxGrader } from '#usecases/run-sandbox-grader';
import { stageGrade } from '#usecases/stage-grade';
import { watchRuns } from '#usecases/watch-runs';
import { ATTEMPT, failure, grading, ids, runSteps, runTo, UNIT, waiting } from '#test/builders/attempt-run';
import { publishFakeTask } from '#test/builders/catalog';
import { World } from '#test/builders/world';

const GRADE = gradeId(ATTEMPT, 1);
const stageRef = { bucket: 'artifacts', key: objectKeys.gradeStage(GRADE) } as const;
const gradeRef = { bucket: 'artifacts', key: objectKeys.grade(ATTEMPT, 1) } as const;
const rawRef = { bucket: 'artifacts', key: objectKeys.gradeRaw(GRADE) } as const;

async function staged(): Promise<{ readonly world: World; readonly stageUrl: string }> {
  const world = new World();
  await runTo(world, 'gradeUnit');
  return { world, ...(await stageGrade(grading(), world.ports)) };
}

const run = async (world: World, stageUrl: string) =>
  await runGrader({ gradeId: GRADE, timeoutSeconds: 60, stageUrl }, world.ports);
const commit = async (world: World, error: ReturnType<typeof failure> | null = null) =>
  await commitGrade({ ...grading(), error }, world.ports);
const read = async (world: World, ref: ObjectRef): Promise<unknown> =>
  JSON.parse(new TextDecoder().decode(await world.artifacts.get(ref)));

describe('staging a grade', () => {
  it('hands out one unit’s reference, output and input as signed URLs, and nothing else', async () => {
    const { world } = await staged();
    const stage = GradeStageSchema.parse(await read(world, stageRef));
    expect(stage.folders.reference.map(({ path }) => path)).toEqual(['reference/base/code.txt']);
    expect(stage.folders.output.map(({ path }) => path)).toEqual(['answer.txt']);
    expect(stage.upload.keyPrefix).toBe(objectKeys.gradeFolder(GRADE));
    const urls = [stage.module, ...Object.values(stage.folders).flat()].map(({ url }) => decodeURIComponent(url));
    expect(urls.filter((url) => /\/other\/|solution/u.test(url))).toEqual([]);
  });

  it('fails by name for a task without a reference, which is the task’s fault', async () => {
    const world = new World();
    const task = await publishFakeTask(world.artifacts, { hasReference: false });
    const tasks = [{ path: 'demo/copy', manifestKey: taskManifestKey(task), variants: [0] }];
    await runTo(world, 'gradeUnit', { tasks });
    await expect(stageGrade(grading(), world.ports)).rejects.toMatchObject({ name: 'ReferenceMissingError' });
    await commit(world, failure('ReferenceMissingError', 'StageGrade', 'published without a reference'));
    await runSteps(world, 'record', 'closeUnit');
    expect((await world.attempt(ATTEMPT)).grade).toMatchObject({ reason: 'reference-missing', blame: 'task' });
    expect(await world.unit(UNIT)).toMatchObject({ class: 'task_fault', score: null });
  });

  it('fails by name when nothing was collected', async () => {
    const world = new World();
    await runTo(world, 'gradeUnit');
    await world.artifacts.remove({ bucket: 'artifacts', key: objectKeys.collectManifest(ATTEMPT) });
    await expect(stageGrade(grading(), world.ports)).rejects.toMatchObject({ name: 'CollectFailedError' });
  });
});

describe('running a grader', () => {
  it('keeps its raw report, whatever it did', async () => {
    const { world, stageUrl } = await staged();
    world.modules.behave['evaluate'] = () => ({ end: 'timeout', value: null, valueKind: 'none', stdout: 'so far' });
    await run(world, stageUrl);
    expect(await read(world, rawRef)).toMatchObject({ end: 'timeout', stdout: 'so far' });
    expect(world.workspace.openFolders.size).toBe(0);
  });

  it('brings each file to its folder and the module its input', async () => {
    const { world, stageUrl } = await staged();
    const seen: unknown[] = [];
    world.modules.behave['evaluate'] = (call) => {
      seen.push([...world.artifacts.scratchFiles.keys()].map((file) => file.replace(/^\/scratch\/\d+\//u, '')));
      expect(call.input).toMatchObject({
        variantIndex: 0,
        variant: { name: 'base', prompt: 'Do base.' },
        session: null,
      });
      return { value: 1 };
    };
    await run(world, stageUrl);
    expect(seen).toEqual([
      [
        'task.mjs',
        'data/output/answer.txt',
        'data/reference/reference/base/code.txt',
        'data/input/input/base/code.txt',
      ],
    ]);
  });

  it.each([
    [
      'a transfer breaks',
      async (world: World) => world.workspace.failNext(new ExamHallError('StoreUnavailableError', 'HTTP 503')),
    ],
    ['the connection is refused', async (world: World) => world.workspace.failNext(new TypeError('fetch failed'))],
    [
      'its process does not start',
      (world: World) =>
        void (world.modules.behave['evaluate'] = (): Partial<ModuleReport> => ({
          end: 'unavailable',
          errorMessage: 'spawn EAGAIN',
        })),
    ],
    [
      'what was staged is no JSON',
      async (world: World) => {
        await world.artifacts.put(stageRef, 'cut');
      },
    ],
    [
      'what was staged is something else',
      async (world: World) => {
        await world.artifacts.put(stageRef, '{"version":2}');
      },
    ],
    [
      'a staged file has changed',
      async (world: World) => {
        const stage = GradeStageSchema.parse(await read(world, stageRef));
        await world.artifacts.put(
          stageRef,
          JSON.stringify({ ...stage, module: { ...stage.module, sha256: '0'.repeat(64) } }),
        );
      },
    ],
  ])('is unavailable, which is tried again, when %s', async (_, breakIt) => {
    const { world, stageUrl } = await staged();
    await breakIt(world);
    await expect(run(world, stageUrl)).rejects.toMatchObject({ name: 'GraderUnavailableError' });
    expect(world.workspace.openFolders.size).toBe(0);
  });

  it('in the agent’s sandbox reaches it by its session', async () => {
    const world = new World();
    await runTo(world, 'collect');
    await runSteps(world, 'gradeUnit', 'gradeUnit');
    const { stageUrl } = await stageGrade({ ...grading(), mode: 'same-sandbox' }, world.ports);
    world.modules.behave['evaluate'] = async (_, session) => {
      await session?.([{ command: 'file_exists', params: { path: '/x' } }], 5);
      return { value: 1 };
    };
    await runSandboxGrader({ ...ids, gradeId: GRADE, timeoutSeconds: 60, stageUrl }, world.ports);
    expect(world.guest.calls).toContainEqual({ command: 'file_exists', params: { path: '/x' } });
    await commit(world);
    expect((await world.attempt(ATTEMPT)).grade).toMatchObject({ kind: 'graded', score: 1 });
  });
});

describe('committing a grade', () => {
  it('writes it once: a later commit finds it and changes nothing', async () => {
    const { world, stageUrl } = await staged();
    await run(world, stageUrl);
    await commit(world);
    const first = await read(world, gradeRef);
    await world.artifacts.put(
      rawRef,
      JSON.stringify({ end: 'returned', valueKind: 'json', value: 1, durationSeconds: 1, hostFault: null }),
    );
    await commit(world);
    expect(await read(world, gradeRef)).toEqual(first);
    expect((await world.attempt(ATTEMPT)).grade).toMatchObject({ score: 0.5 });
  });

  it.each([
    ['there is none', async () => undefined],
    [
      'it is no JSON',
      async (world: World) => {
        await world.artifacts.put(rawRef, '{"end":');
      },
    ],
    [
      'it is something else',
      async (world: World) => {
        await world.artifacts.put(rawRef, '[]');
      },
    ],
  ])('of a report is the platform’s fault when %s', async (_, breakIt) => {
    const { world } = await staged();
    await breakIt(world);
    await commit(world);
    expect((await world.attempt(ATTEMPT)).grade).toMatchObject({
      kind: 'ungraded',
      blame: 'platform',
      reason: 'platform-fault',
    });
    expect(await closeAttempt({ ...ids, error: null }, world.ports)).toMatchObject({ retry: true });
  });

  it('takes the report that is there, though the step that wrote it failed afterwards', async () => {
    const { world, stageUrl } = await staged();
    await run(world, stageUrl);
    await commit(world, failure('Lambda.Unknown', 'RunGrader'));
    expect((await world.attempt(ATTEMPT)).grade).toMatchObject({ kind: 'graded', score: 0.5 });
  });

  it.each([
    ['GraderUnavailableError', 'RunGrader', 'platform', 'platform-fault'],
    ['Sandbox.Timedout', 'RunGrader', 'platform', 'platform-fault'],
    ['CollectFailedError', 'StageGrade', 'platform', 'platform-fault'],
    ['States.Timeout', 'RunGrader', 'task', 'grader-failed'],
  ])('without a report after %s lays it to the %s', async (name, state, blame, reason) => {
    const { world } = await staged();
    await commit(world, failure(name, state));
    expect((await world.attempt(ATTEMPT)).grade).toMatchObject({ kind: 'ungraded', blame, reason });
  });

  it.each([1.7, -0.2, true, [1], 'x', null])('never makes a 0 of %j', async (value) => {
    const { world, stageUrl } = await staged();
    world.modules.behave['evaluate'] = () => ({ value });
    await run(world, stageUrl);
    await commit(world);
    await runSteps(world, 'record', 'closeUnit');
    expect(await world.unit(UNIT)).toMatchObject({ class: 'task_fault', score: null, winningAttemptId: null });
  });

  it('names the winning attempt once', async () => {
    const { world, stageUrl } = await staged();
    await run(world, stageUrl);
    const other = { ...(await world.unit(UNIT)), winningAttemptId: `${UNIT}.9` };
    await world.store.write([{ put: { pk: 'sweep#first', sk: `unit#${UNIT}`, body: other }, when: 'any' }]);
    await commit(world);
    expect((await world.unit(UNIT)).winningAttemptId).toBe(`${UNIT}.9`);
  });

  it('too late for its attempt keeps the grade and changes nothing', async () => {
    const { world, stageUrl } = await staged();
    await run(world, stageUrl);
    const error = failure('Runtime.ExitError', 'GradeUnit');
    expect(await closeAttempt({ ...ids, error }, world.ports)).toMatchObject({ retry: true });
    await commit(world);
    expect(await read(world, gradeRef)).toMatchObject({ grade: { score: 0.5 } });
    expect((await world.attempt(ATTEMPT)).grade).toBeNull();
    expect((await world.unit(UNIT)).winningAttemptId).toBeNull();
  });

  it('that was cut off before its answer is found by the watch', async () => {
    const { world, stageUrl } = await staged();
    await run(world, stageUrl);
    world.tokens.failNext(new ExamHallError('StoreUnavailableError', 'no answer'));
    await expect(commit(world)).rejects.toThrow('no answer');
    await watchRuns({}, world.ports);
    expect([...world.tokens.answers.values()].at(-1)).toEqual({ output: {} });
  });

  it('answers the waiter last, so that a failure before it loses nothing', async () => {
    const { world, stageUrl } = await staged();
    await run(world, stageUrl);
    world.tokens.failNext(new ExamHallError('StoreUnavailableError', 'no answer'));
    await expect(commit(world)).rejects.toThrow('no answer');
    expect((await world.attempt(ATTEMPT)).grade).toMatchObject({ score: 0.5 });
    await commit(world);
    expect([...world.tokens.answers.values()].at(-1)).toEqual({ output: {} });
  });
});

describe('grade-unit', () => {
  it('asked again while the grade is under way joins it', async () => {
    const { world } = await staged();
    const again = waiting(world);
    await gradeUnit(again, world.ports);
    expect(world.executions.started.size).toBe(1);
    await commit(world);
    expect(world.tokens.answers.has(again.token)).toBe(true);
  });

  it('asked again after the commit is answered at once and grades no second time', async () => {
    const { world, stageUrl } = await staged();
    await run(world, stageUrl);
    await commit(world);
    const again = waiting(world);
    await gradeUnit(again, world.ports);
    expect(world.tokens.answers.get(again.token)).toEqual({ output: {} });
    expect(world.executions.started.size).toBe(1);
    expect((await world.attempt(ATTEMPT)).gradeNumber).toBe(1);
  });
});
