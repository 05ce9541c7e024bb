import { expect, it } from 'vitest';
import { providersOf } from '#local/local-providers';
import { API_POLICY, call, publishBoth, refusal, startBody } from '#test/builders/api-call';
import { StageStaticKit } from '#test/builders/stage-static-kit';
import { World } from '#test/builders/world';

it.each([true, false])(
  'a sweep on a machine that is not listed is refused with 422 before anything starts (dry run: %s)',
  async (dryRun) => {
    const kit = await StageStaticKit.open(0);
    try {
      const world = new World({ policy: API_POLICY });
      const listed = await kit.provider('accept-commands', ['10.1.2.3:5000']);
      Object.assign(world.ports, { providers: providersOf([listed]) });
      await publishBoth(world);
      const bodyFor = (endpoint: string) =>
        startBody({
          dryRun: true,
          snapshots: {
            '*': { provider: 'static', image: 'ale-ubuntu22', os: 'linux', resolution: null, knobs: { endpoint } },
          },
        });
      const body = { ...bodyFor('http://10.1.2.4:5000'), dryRun };
      const problem = await refusal(world, 'startSweep', { body });
      expect(problem.status).toBe(422);
      expect(JSON.stringify(problem)).toContain('body.tasks[0].path');
      expect(JSON.stringify(problem)).toMatch(
        /provider static cannot give endpoint .*10\.1\.2\.4:5000.*sandboxes\.staticHosts in the settings, which lists 10\.1\.2\.3:5000/u,
      );
      expect(world.executions.started.size).toBe(0);
      const answer = await call(world, 'startSweep', { body: bodyFor('http://10.1.2.3:5000') });
      expect(answer).toMatchObject({ dryRun: true, plannedUnits: 2 });
      expect(kit.asked).toEqual([]);
    } finally {
      await kit.remove();
    }
  },
);
