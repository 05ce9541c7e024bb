import { attemptId, gradeId, jobId } from '#core/ids';
import { objectKeys } from '#core/keys';
import type { UnitPlanItem } from '#contracts/payloads';
import { executeRun, prepareRun } from '#local/run-experiment';
import type { Session } from '#local/session';
import { benchExperiment, openBench, REQUEST } from './noop-sweep.ts';

export interface RatioFigures {
  readonly units: number;
  readonly machineMilliseconds: number;
  readonly directMilliseconds: number;
}

/** One unit after the other, first through the machines, then by calling the same handlers in the same order. */
export async function ratioFigures(units: number): Promise<RatioFigures> {
  const { session, folder, close } = await openBench();
  try {
    const one = { ...(await benchExperiment(folder, units)), concurrency: 1 };
    await executeRun(session, await prepareRun(session, { ...one, name: 'warm', trials: 5 }, REQUEST));
    const prepared = await prepareRun(session, { ...one, name: 'machines' }, REQUEST);
    const machinesStart = performance.now();
    await executeRun(session, prepared);
    const machineMilliseconds = (performance.now() - machinesStart) / units;
    const { request } = await prepareRun(session, { ...one, name: 'direct' }, REQUEST);
    session.host.close();
    const directStart = performance.now();
    await session.host.invoke('plan-sweep', { sweepId: request.sweepId, run: request.run });
    for (const item of await planOf(session, request.sweepId)) await callDirectly(session, item);
    await session.host.invoke('report-sweep', { sweepId: request.sweepId, run: request.run });
    return { units, machineMilliseconds, directMilliseconds: (performance.now() - directStart) / units };
  } finally {
    await close();
  }
}

async function planOf(session: Session, sweepId: string): Promise<readonly UnitPlanItem[]> {
  const ref = { bucket: 'artifacts', key: objectKeys.plan(sweepId, 1) } as const;
  const text = new TextDecoder().decode(await session.host.ports.artifacts.get(ref));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as UnitPlanItem);
}

async function callDirectly({ host }: Session, { sweepId, unitId, run }: UnitPlanItem): Promise<void> {
  const attempt = attemptId(unitId, 1);
  const ids = { sweepId, unitId, attemptId: attempt };
  const wait = { ...ids, token: 'none', timeoutSeconds: 60 };
  const grade = { ...ids, gradeId: gradeId(attempt, 1), gradeNumber: 1, mode: 'light', timeoutSeconds: 60 };
  await host.invoke('admit-unit', { sweepId, unitId, run, attempt: 1, token: 'none' });
  await host.invoke('grant-slots', { sweepId });
  await host.invoke('provision-sandbox', ids);
  await host.invoke('await-sandbox', wait);
  await host.invoke('stage-unit', wait);
  await host.invoke('on-run-finished', { jobId: jobId(attempt, 'stage') });
  await host.invoke('set-up-task', ids);
  await host.invoke('run-agent', wait);
  await host.invoke('on-run-finished', { jobId: jobId(attempt, 'run') });
  await host.invoke('collect-output', wait);
  await host.invoke('on-run-finished', { jobId: jobId(attempt, 'collect') });
  await host.invoke('release-sandbox', ids);
  const staged = (await host.invoke('stage-grade', grade)) as { readonly stageUrl: string };
  await host.invoke('run-grader', { gradeId: grade.gradeId, timeoutSeconds: 60, stageUrl: staged.stageUrl });
  await host.invoke('commit-grade', { ...grade, error: null });
  await host.invoke('record-unit', { ...ids, error: null });
  await host.invoke('close-attempt', { ...ids, error: null });
  await host.invoke('close-unit', { sweepId, unitId, run, token: 'none', error: null });
}
