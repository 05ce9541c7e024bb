import { describe, expect, it } from 'vitest';
import { objectKeys, rowKeys } from '#core/keys';
import { isStillThere } from '#core/teardown';
import { teardownRows } from '#usecases/steps/teardown';
import { reportSweep } from '#usecases/report-sweep';
import { ATTEMPT, runSteps, runTo, UNIT } from '#test/builders/attempt-run';
import { World } from '#test/builders/world';

describe('an attempt without faults', () => {
  it('leaves a scored unit, a whole record and nothing else', async () => {
    const world = new World({ script: (job) => (job.kind === 'exec' ? { result: { durationSeconds: 12 } } : {}) });
    await runTo(world, 'closeUnit');
    const unit = await world.unit(UNIT);
    expect(unit).toMatchObject({
      class: 'scored',
      score: 0.5,
      status: 'completed',
      attempts: 1,
      winningAttemptId: ATTEMPT,
      notRunReason: null,
    });
    const runDir = unit.runDir ?? '';
    expect((await world.runTree.list(runDir)).map(({ path }) => path)).toEqual([
      'eval_result.json',
      'events.jsonl',
      'origin_log/scripted/transcript.jsonl',
      'output/answer.txt',
      'record.json',
      'run.json',
      'trajectory.json',
    ]);
    expect(world.runTree.eventTypes(runDir)).toEqual([
      'run_started',
      'task_revision',
      'provision_started',
      'provision_done',
      'agent_run_started',
      'agent_finished',
      'agent_stopped',
      'output_gather_done',
      'reference_stage_completed',
      'run_completed',
    ]);
    expect(world.runTree.json(`${runDir}/run.json`)).toMatchObject({ status: 'completed', score: 0.5 });
    expect(world.machines.held).toEqual([]);
    expect(world.timers.pending.size).toBe(0);
    expect(world.workspace.openFolders.size).toBe(0);
    expect((await teardownRows(world.ports, ATTEMPT)).filter(isStillThere)).toEqual([]);
    for (const { pk } of [
      rowKeys.slot(''),
      rowKeys.openAttempt(''),
      rowKeys.closeWait(''),
      rowKeys.jobWait(''),
      rowKeys.sandboxWait(''),
      rowKeys.gradeWait(''),
      rowKeys.admitWait('first', ''),
    ])
      expect([pk, await world.keysIn(pk)]).toEqual([pk, []]);
  });

  it('answers every token it was given, once', async () => {
    const world = new World();
    await runTo(world, 'closeUnit');
    expect([...world.tokens.answers.values()]).toEqual([
      { output: { attemptId: ATTEMPT } },
      { output: {} },
      { output: {} },
      { output: {} },
      { output: {} },
      { output: {} },
      { output: {} },
    ]);
  });

  it('says in the record what it was made with', async () => {
    const world = new World();
    await runTo(world, 'record');
    const { runDir } = await world.attempt(ATTEMPT);
    const record = world.runTree.json(`${String(runDir)}/record.json`);
    expect(record).toMatchObject({
      ids: { attemptId: ATTEMPT, unitId: UNIT, run: 1 },
      ledgerClass: 'scored',
      error: null,
      rawGraderOutput: { end: 'returned', value: { score: 0.5, gates: 1 } },
      isolation: { kind: 'none' },
    });
  });

  it('goes into the report of its sweep, which closes it', async () => {
    const world = new World();
    await runTo(world, 'closeUnit');
    const report = await reportSweep({ sweepId: 'first', run: 1 }, world.ports);
    expect(report).toEqual({ reportKey: objectKeys.report('first'), planned: 1, scored: 1 });
    expect(await world.keysIn('active-sweeps')).toEqual([]);
    expect(world.runTree.text('./report.html')).toContain('scripted');
    await expect(reportSweep({ sweepId: 'first', run: 1 }, world.ports)).resolves.toEqual(report);
  });

  it('never brings a reference or a key of it near the sandbox', async () => {
    const world = new World();
    await runTo(world, 'collect');
    const told = JSON.stringify([world.guest.jobs, world.guest.calls]);
    expect(told).toContain('stage-list.json');
    expect(told).not.toMatch(/reference|solution/u);
    const list = await world.artifacts.get({ bucket: 'artifacts', key: objectKeys.list(ATTEMPT, 'stage') });
    expect(new TextDecoder().decode(list)).not.toMatch(/reference|solution/u);
  });
});

describe('an attempt whose grader needs its sandbox', () => {
  it('is graded before the release just as well', async () => {
    const world = new World();
    await runTo(world, 'collect');
    await runSteps(world, 'gradeUnit', 'commitGrade');
    await runSteps(world, 'release', 'release');
    await runSteps(world, 'record', 'closeUnit');
    expect(await world.unit(UNIT)).toMatchObject({ class: 'scored', score: 0.5 });
  });
});

describe('every step, called twice', () => {
  const steps = [
    'provision',
    'await',
    'stage',
    'setup',
    'run',
    'collect',
    'release',
    'gradeUnit',
    'stageGrade',
    'runGrader',
    'commitGrade',
    'record',
    'close',
    'closeUnit',
  ] as const;

  it.each(steps)('%s leaves what it would have left', async (step) => {
    const [once, twice] = [new World(), new World()];
    for (const world of [once, twice]) await runTo(world, step);
    await runSteps(twice, step, step);
    for (const world of [once, twice]) if (step !== 'closeUnit') await runSteps(world, followers[step], 'closeUnit');
    expect(await twice.unit(UNIT)).toEqual(await once.unit(UNIT));
    // The log is of what was done, so a repeat may be in it; the record covers the log.
    const { recordSha256, ...attempt } = await once.attempt(ATTEMPT);
    expect(await twice.attempt(ATTEMPT)).toMatchObject(attempt);
    expect(recordSha256).toMatch(/^[0-9a-f]{64}$/u);
    expect(twice.guest.jobs.map(({ jobId }) => jobId)).toEqual(once.guest.jobs.map(({ jobId }) => jobId));
    expect(twice.machines.held).toEqual([]);
    expect(twice.timers.pending.size).toBe(0);
    const runDir = (await once.unit(UNIT)).runDir ?? '';
    expect(twice.runTree.text(`${runDir}/run.json`)).toBe(once.runTree.text(`${runDir}/run.json`));
    expect(new Set(twice.runTree.eventTypes(runDir))).toEqual(new Set(once.runTree.eventTypes(runDir)));
    expect([...twice.runTree.folders]).toEqual([...once.runTree.folders]);
  });

  const followers = {
    provision: 'await',
    await: 'stage',
    stage: 'setup',
    setup: 'run',
    run: 'collect',
    collect: 'release',
    release: 'gradeUnit',
    gradeUnit: 'stageGrade',
    stageGrade: 'runGrader',
    runGrader: 'commitGrade',
    commitGrade: 'record',
    record: 'close',
    close: 'closeUnit',
  } as const;
});
