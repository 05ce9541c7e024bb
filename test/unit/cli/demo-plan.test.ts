import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadExperiment } from '#cli/config/load-experiment';
import { planHere } from '#cli/demo-plan';
import type { FoundDesktop } from '#local/desktop/installation';
import { REPOSITORY, TASKS } from '#test/builders/task-folder';

const DEMO = path.join(REPOSITORY, 'infra/cli/demo/experiment.yaml');
const SCREEN = ['demo/hello', 'demo/seecheck'];
const OTHERS = ['business_finance/form_1040', 'life_sciences/plate_reader_qc', 'computing_math/rational_calculator'];

const installation = {
  server: '0',
  lockSha256: '0',
  pythonVersion: '3.12.0',
  pythonFolder: null,
  folder: '/opt/x',
  python: '/opt/x/python',
};

async function plan(
  found: FoundDesktop,
): Promise<{ readonly paths: readonly string[]; readonly notPlanned: readonly string[] }> {
  const { experiment } = await loadExperiment(DEMO, { env: {}, cwd: REPOSITORY });
  const planned = await planHere(experiment, { cwd: REPOSITORY, tasksFolder: TASKS, findDesktop: () => found });
  return { paths: planned.experiment.tasks.map((task) => task.path), notPlanned: planned.notPlanned };
}

describe('the demo', () => {
  it('plans every task where a desktop and a browser are there', async () => {
    const found = { isThere: true, installation: { ...installation, browser: '/usr/bin/chromium' } } as const;
    expect(await plan(found)).toEqual({ paths: [...OTHERS, ...SCREEN], notPlanned: [] });
  });

  it.each<[string, FoundDesktop]>([
    ['/opt/x holds no finished set-up', { isThere: false, reason: '/opt/x holds no finished set-up' }],
    ['no browser is installed', { isThere: true, installation: { ...installation, browser: null } }],
  ])('leaves out tasks on a screen where %s, and names the command that gets it', async (reason, found) => {
    expect(await plan(found)).toEqual({
      paths: OTHERS,
      notPlanned: [`not planned: examhall setup desktop (${reason}): demo/hello, demo/seecheck`],
    });
  });

  it('leaves out tasks whose snapshot the environment does not map', async () => {
    const { experiment } = await loadExperiment(DEMO, { env: {}, cwd: REPOSITORY });
    const environment = { ...experiment.environment, snapshots: {} };
    const { notPlanned } = await planHere({ ...experiment, environment }, { cwd: REPOSITORY, tasksFolder: TASKS });
    expect(notPlanned).toHaveLength(2);
    expect(notPlanned[0]).toContain('the environment maps no snapshot cpu-free-ubuntu to a provider');
  });
});
