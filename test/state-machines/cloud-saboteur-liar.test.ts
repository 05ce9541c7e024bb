import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { tier } from '#test/runner/tier';
import { ACTS, lyingRunner, OF_COLLECT, replaceRunner } from './cloud-liars.ts';
import { sabotage, type SabotagedSweep, type Saboteur } from './cloud-saboteurs.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 300_000 });

const OF_RUN = `answer.ok && answer.value?.state === 'finished' && answer.value.result.jobId.endsWith('~run')`;

const LIARS: readonly Saboteur[] = [
  {
    id: 'root-forges-collect',
    source: ACTS,
    asRoot: lyingRunner(`if (${OF_COLLECT})
  Object.assign(answer.value.result, { exitCode: 1, message: 'ThrottlingException: upload: HTTP 503 SlowDown' });
return real(answer);`),
  },
  {
    id: 'root-forges-spawn-failed',
    source: ACTS,
    asRoot: lyingRunner(`if (${OF_RUN}) Object.assign(answer.value.result, { end: 'spawn-failed', exitCode: null });
return real(answer);`),
  },
  {
    id: 'root-forges-stop',
    source: ACTS,
    asRoot: lyingRunner(`if (${OF_RUN}) Object.assign(answer.value.result, { end: 'stopped', exitCode: null });
return real(answer);`),
  },
  { id: 'root-answers-nonsense', source: ACTS, asRoot: lyingRunner(`return '{"requestId": 7, "ok": "perhaps"}';`) },
  { id: 'root-prints-nonsense', source: ACTS, asRoot: replaceRunner(`console.log('everything is fine');`) },
];

tier('isolation')('a root saboteur that speaks for its machine on EC2', () => {
  let sweep: SabotagedSweep;
  beforeAll(async () => {
    sweep = await sabotage(LIARS, 15);
  });
  afterAll(async () => {
    await sweep.close();
  });

  it.each(LIARS.map(({ id }) => id))('earns no other attempt: %s', (id) => {
    const { attempts, unit } = sweep.of(id);
    expect(attempts.map(({ verdict }) => verdict)).toMatchObject([{ blame: 'agent', retry: false }]);
    expect(['scored', 'forfeited']).toContain(unit.class);
  });

  it('has told what it was told to tell', () => {
    const error = (id: string) => sweep.of(id).attempts[0]?.error;
    expect(error('root-forges-collect')).toMatchObject({ name: 'CollectFailedError', state: 'CollectOutput' });
    expect(error('root-forges-spawn-failed')).toMatchObject({ name: 'AgentLaunchError', state: 'RunAgent' });
    expect(error('root-answers-nonsense')).toMatchObject({ name: 'ChannelUnavailableError' });
    expect(error('root-prints-nonsense')).toMatchObject({ name: 'ChannelUnavailableError' });
    expect(sweep.of('root-forges-stop')).toMatchObject({ attempts: [{ outcome: { kind: 'cancelled' } }] });
    expect(sweep.of('root-forges-stop').unit.class).toBe('scored');
  });

  it('costs one machine for each, and nothing of any is left', () => {
    expect(sweep).toMatchObject({ machines: LIARS.length, leftovers: [] });
  });
});
