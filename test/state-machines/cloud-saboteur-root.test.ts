import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { tier } from '#test/runner/tier';
import { sabotage, type SabotagedSweep, type Saboteur } from './cloud-saboteurs.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

/** The agent says that it acts, and ends a while later. */
const ACTS = `import { writeFileSync } from 'node:fs';
writeFileSync('/tmp/acts', ''); setTimeout(() => process.exit(0), 4000);`;
/** By then the runner has answered that the agent has begun. */
const ONCE_IT_ACTS = 'until [ -e /tmp/acts ]; do sleep 0.1; done\n';
const FORGED = '{"version":1,"end":"exited","exitCode":0,"confirmedDead":true,"survivors":0,"verdict":{"retry":true}}';

/** An agent that has become root, as privilege `upstream` lets it. */
const AS_ROOT: readonly Saboteur[] = [
  {
    id: 'root-kills-runner',
    source: ACTS,
    asRoot: `${ONCE_IT_ACTS}kill -9 $(grep -lsa -- '[a]ttached' /proc/[0-9]*/cmdline | tr -dc '0-9\\n')`,
  },
  {
    id: 'root-kills-every-runner',
    source: ACTS,
    asRoot: `${ONCE_IT_ACTS}kill -9 $(grep -lsa -- '[r]unner.mjs' /proc/[0-9]*/cmdline | tr -dc '0-9\\n')`,
  },
  {
    id: 'root-forges-result',
    source: ACTS,
    asRoot: `${ONCE_IT_ACTS}for job in /var/lib/examhall/jobs/*run; do echo '${FORGED}' > $job/result.json; done`,
  },
  { id: 'root-deletes-jobs', source: ACTS, asRoot: `${ONCE_IT_ACTS}rm -rf /var/lib/examhall` },
];

tier('isolation')('a saboteur that has become root on a machine of EC2', () => {
  let sweep: SabotagedSweep;
  beforeAll(async () => {
    sweep = await sabotage(AS_ROOT, 15);
  });
  afterAll(async () => {
    await sweep.close();
  });

  it.each(AS_ROOT.map(({ id }) => id))('earns no other attempt: %s', (id) => {
    const { attempts, unit } = sweep.of(id);
    expect(attempts.map(({ verdict }) => verdict)).toMatchObject([{ blame: 'agent', retry: false }]);
    expect(['scored', 'forfeited']).toContain(unit.class);
  });

  it('is told from an agent that ended by itself', () => {
    const [attempt] = sweep.of('root-kills-runner').attempts;
    expect(attempt?.outcome).toMatchObject({
      kind: 'failed',
      message: 'the guest runner was ended while the agent ran',
    });
  });

  it('costs one machine for each, and nothing of any is left', () => {
    expect(sweep).toMatchObject({ machines: AS_ROOT.length, leftovers: [] });
  });
});
