import { expect, it } from 'vitest';
import { tier } from '#test/runner/tier';
import type { MemoryRunTree } from '#test/fakes/run-tree';
import { runScenario } from './cloud-scenario-run.ts';
import { CLOUD_SCENARIOS, type CloudScenario } from './cloud-scenarios.ts';

/** A machine is told to end within a minute of its expiry by its timer, by its guest five minutes later, within two rounds of the reaper else. */
const MOST_OVERDUE_SECONDS = { 'expire-sandbox': 60, 'guest timer': 300, 'reap-sandboxes': 660 } as const;

/** What agents wrote, as the records have it: that each ran as the agent's account with its input. */
function answersOf({ files }: MemoryRunTree): readonly string[] {
  return [...files].flatMap(([file, content]) => (file.endsWith('/output/answer.txt') ? [content.toString()] : []));
}

/** Runs the scenarios of one part, each as the whole unit machine with the AWS adapters on the stand-in. */
export function describeScenarios(part: CloudScenario['part']): void {
  const scenarios = CLOUD_SCENARIOS.filter((scenario) => scenario.part === part);
  tier('isolation')(`one unit on EC2: ${part}`, () => {
    it('there are scenarios', () => {
      expect(scenarios.length).toBeGreaterThan(5);
    });

    it.each(scenarios.map((scenario) => [scenario.name, scenario] as const))(
      '%s',
      async (_, scenario) => {
        const { outcome, leftovers, overdueSeconds, world } = await runScenario(scenario);
        const { cloud, log, runTree } = world;
        const printed = cloud.commands.printed.join('\n');
        const secrets = (await world.attempts()).flatMap(({ attemptId, secret }) => [attemptId, secret]);
        expect(secrets.filter((told) => told !== null && printed.includes(told))).toEqual([]);
        await world.close();
        expect(outcome).toEqual(scenario.expected);
        expect(leftovers).toEqual([]);
        expect(cloud.faults.pending).toEqual([]);
        if (scenario.agent === 'quick') expect(answersOf(runTree)).toEqual(['content of input/base/code.txt by 1100']);
        const { calls: [operation, atLeast] = ['RunInstances', 1], zone, log: line } = scenario.shows ?? {};
        expect(cloud.callsOf(operation).length).toBeGreaterThanOrEqual(atLeast);
        if (zone !== undefined) expect(cloud.machines.launches.at(-1)).toBe(zone);
        if (line !== undefined) expect(log.lines.map(({ event }) => event)).toContain(line);
        const [dead] = scenario.faults.flatMap((fault) => (fault.kind === 'all-dead-but' ? [fault.alive] : []));
        if (dead !== undefined) expect(overdueSeconds).toBeLessThanOrEqual(MOST_OVERDUE_SECONDS[dead]);
      },
      180_000,
    );
  });
}
