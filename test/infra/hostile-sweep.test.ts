import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { PREFLIGHT_CHECKS } from '#core/preflight-checks';
import { checksFrom, readPreflight, type PreflightResult } from '#core/preflight-script';
import { tier } from '#test/runner/tier';
import { wallsOfDeployment } from './hostile-walls.ts';
import type { FetchedRecord } from './hostile-record.ts';
import { HostileSweep } from './hostile-sweep.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

/** Shown by the stop that the record tells of, and by a look from outside: no agent can say it of itself. */
const NOT_ITS_OWN = ['outlive-stop', 'outside-ports'];
/** What needs another wall than those that `loose` is without: the system's accounts, and the groups of the network. */
const STILL_REFUSED = ['sibling-cua', 'sibling-ports', 'signal-root', 'become-root', 'stop-timer', 'start-later'];
const AGENTS = ['hostile', 'loose', 'sibling'] as const;

tier('isolation')('a hostile agent on a machine of EC2', () => {
  tier('nftables')('in the network of a deployment', () => {
    let sweep: HostileSweep;
    const records = new Map<string, FetchedRecord>();
    const recordOf = (agent: (typeof AGENTS)[number]): FetchedRecord => {
      const record = records.get(agent);
      if (record === undefined) throw new Error(`${agent} has no record`);
      return record;
    };
    const factsOf = (agent: 'hostile' | 'loose') => {
      const facts = sweep.facts.get(agent);
      if (facts === undefined) throw new Error(`${agent} was told nothing`);
      return facts;
    };
    /** What a record holds of the list: a check without a line in it is `unknown`. */
    const evidenceOf = (agent: 'hostile' | 'loose'): readonly PreflightResult[] => {
      const { text } = recordOf(agent);
      return [
        ...readPreflight('agent', factsOf(agent), text('/console/stdout')),
        ...readPreflight('root', factsOf(agent), text('output/root.jsonl')),
      ].filter(({ id }) => !NOT_ITS_OWN.includes(id));
    };
    const idsOfList = (): string[] => PREFLIGHT_CHECKS.map(({ id }) => id).filter((id) => !NOT_ITS_OWN.includes(id));

    beforeAll(async () => {
      sweep = await HostileSweep.run(wallsOfDeployment());
      for (const agent of AGENTS) records.set(agent, await sweep.record(agent));
    });
    afterAll(async () => {
      await sweep.close();
    });

    it('has a record that says of each thing it tried what refused it', () => {
      const evidence = evidenceOf('hostile');
      expect(idsOfList().length).toBeGreaterThanOrEqual(24);
      expect(evidence.map(({ id }) => id)).toEqual(idsOfList());
      expect(evidence.filter(({ verdict }) => verdict !== 'refused')).toEqual([]);
      for (const { id, evidence: said } of evidence) expect(said, id).not.toBe('');
    });

    it('has a record that whoever fetches it can verify, evidence included', () => {
      const { problems, text } = recordOf('hostile');
      expect(problems).toEqual([]);
      expect(text('output/agent.jsonl')).toBe(text('/console/stdout'));
    });

    it('could use the link it was given, and no other', () => {
      const said = recordOf('hostile').text('/console/stdout');
      expect(said).toMatch(/"id":"own-link","verdict":"reached","evidence":"status 200 its own"/u);
      expect(said).toMatch(/"id":"reference-link","verdict":"refused","evidence":"status 403 /u);
    });

    it('has a record of what held it: a machine and a network of its own, an account without rights, a stop', () => {
      const { record, text } = recordOf('hostile');
      expect(record.isolation).toEqual({ kind: 'machine', network: 'own', reason: null });
      expect(record.lock).toMatchObject({
        privilege: { value: 'restricted' },
        network: { value: { profile: 'open', provided: 'own' } },
      });
      const events = text('events.jsonl').trim().split('\n');
      const stops = events
        .map((line) => JSON.parse(line) as unknown)
        .filter((event) => JSON.stringify(event).includes('agent_stop'));
      expect(stops).toMatchObject([{ type: 'agent_stopped', data: { survivors: 0 } }]);
    });

    it('is gone from its machine before that is released, and root has no more rights there', () => {
      const results = readPreflight('root', factsOf('hostile'), sweep.afterStop ?? '');
      expect(results.map(({ id }) => id)).toEqual(checksFrom('root', factsOf('hostile')).map(({ id }) => id));
      expect(results.map(({ id }) => id)).toContain('outlive-stop');
      expect(results.filter(({ verdict }) => verdict !== 'refused')).toEqual([]);
    });

    it('is reached by nobody from outside, while our function reaches the desktop of its sibling', () => {
      expect(sweep.reached).toMatchObject({
        fromOutside: expect.stringMatching(/^closed .*5000:/u) as string,
        fromCaller: 'status 200 cua',
      });
    });

    it('gets the grade of its answer, whatever results it has written', () => {
      const { record } = recordOf('hostile');
      const forged = record.files.filter(({ path }) =>
        /^output\/(?:eval_result|grade-1|record|run)\.json$/u.test(path),
      );
      expect(forged).toHaveLength(4);
      expect(record).toMatchObject({ grade: { kind: 'graded', score: 0 }, verdict: { blame: 'agent', retry: false } });
      expect(recordOf('sibling').record.grade).toMatchObject({ kind: 'graded', score: 1 });
    });

    it("leaves the other attempt's output as it was, costs one machine, and leaves none", async () => {
      const { artifacts } = sweep.world.host.ports;
      const kept = await artifacts.get({ bucket: 'artifacts', key: sweep.otherKey });
      expect(new TextDecoder().decode(kept)).toBe('content of input/base/code.txt by 1100');
      expect(await sweep.world.leftovers()).toEqual([]);
      expect(sweep.world.cloud.machines.launches).toHaveLength(1 + AGENTS.length);
    });

    it('is seen to reach what it tries where the walls are missing', () => {
      const seen = Object.fromEntries(evidenceOf('loose').map(({ id, verdict }) => [id, verdict]));
      const expected = idsOfList().map((id) => [id, STILL_REFUSED.includes(id) ? 'refused' : 'reached']);
      expect(seen).toEqual(Object.fromEntries(expected));
    });
  });
});
