import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DescribeInstancesCommand, EC2Client, TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, describe, expect, it } from 'vitest';
import { loadExperiment } from '#cli/config/load-experiment';
import { imageFamily } from '#core/image-family';
import { enumerateUnits } from '#core/matrix';
import { endMachines } from '#test/live/end-machines';
import { experimentFiles, LIVE_SWEEPS, runLiveSweep } from '#test/live/sweeps';
import { liveSettings } from '#test/live/live-settings';
import { parseSettings } from '../../infra/config/load-settings.ts';

const ec2 = mockClient(EC2Client);
afterAll(() => {
  ec2.restore();
});

describe('the live sweeps', () => {
  it('are one for each system, of families that the live stage has', () => {
    const settings = liveSettings(process.cwd(), {
      stage: 'live1a2b3c',
      principalArn: 'arn:aws:iam::111122223333:role/x',
    });
    const families = Object.keys(parseSettings(settings, 'live').sandboxes.images);
    expect(LIVE_SWEEPS.map(({ image }) => imageFamily(image)?.os)).toEqual(['linux', 'windows']);
    for (const { image } of LIVE_SWEEPS) expect(families).toContain(image);
  });

  it.each(LIVE_SWEEPS)('plan one unit of demo/hello that keeps nothing: $name', async (sweep) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'examhall-live-'));
    try {
      for (const [name, text] of Object.entries(experimentFiles(sweep, 'eu-west-1')))
        writeFileSync(path.join(folder, name), text);
      const file = path.join(folder, 'experiment.yaml');
      const { experiment } = await loadExperiment(file, { env: {}, cwd: folder, agentConfigKeys: { oracle: [] } });
      expect(enumerateUnits(experiment).map(({ taskPath }) => taskPath)).toEqual(['demo/hello']);
      expect(experiment.cleanupMode).toBe('delete');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  const [sweep] = LIVE_SWEEPS;
  const ended = (score: number) => JSON.stringify({ sweep: { status: 'closed' }, units: [{ class: 'scored', score }] });
  const none = JSON.stringify({ sandboxes: [] });
  const still = JSON.stringify({ sandboxes: [{ sandboxId: 'i-1', state: 'ready' }] });

  it.each([
    ['passes when it is scored 1 and nothing is left', ended(1), none, null],
    ['fails for another score', ended(0), none, '"score":0'],
    ['fails for a sandbox that is left', ended(1), still, 'i-1'],
  ])('%s', async (_what, run, list, message) => {
    if (sweep === undefined) throw new Error('there is no live sweep');
    const work = runLiveSweep(sweep, 'eu-west-1', async ([verb]) => ({ code: 0, text: verb === 'run' ? run : list }));
    if (message === null) await work;
    else await expect(work).rejects.toThrow(message);
  });
});

describe('the machines of a live stage', () => {
  const page = (...ids: string[]) => ({ Reservations: [{ Instances: ids.map((InstanceId) => ({ InstanceId })) }] });
  const delay = async (): Promise<void> => Promise.resolve();
  const config = { region: 'eu-west-1' };

  it('are ended by the stage’s tag until none is there, each by a call of its own', async () => {
    ec2.reset();
    ec2.on(DescribeInstancesCommand).resolvesOnce(page('i-1', 'i-2')).resolvesOnce(page('i-2')).resolves(page());
    ec2.on(TerminateInstancesCommand).rejectsOnce(new Error('throttled')).resolves({});
    expect(await endMachines('live1a2b3c', config, { delay })).toEqual([]);
    const asked = ec2.commandCalls(TerminateInstancesCommand).map(({ args }) => args[0].input.InstanceIds);
    expect(asked).toEqual([['i-1'], ['i-2'], ['i-2']]);
    const [first] = ec2.commandCalls(DescribeInstancesCommand);
    expect(first?.args[0].input.Filters?.[0]).toEqual({ Name: 'tag:examhall:stage', Values: ['live1a2b3c'] });
  });

  it('that do not go are told', async () => {
    ec2.reset();
    ec2.on(DescribeInstancesCommand).resolves(page('i-1'));
    ec2.on(TerminateInstancesCommand).resolves({});
    expect(await endMachines('live1a2b3c', config, { delay })).toMatchObject([{ what: 'machine i-1' }]);
  });
});
