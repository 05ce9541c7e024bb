import { execFileSync } from 'node:child_process';
import { EC2Client } from '@aws-sdk/client-ec2';
import { SSMClient } from '@aws-sdk/client-ssm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptImage, type Adoption } from '#cli/cloud/adopt-image';
import { createAdoptionCloud } from '#cli/cloud/adoption-cloud';
import { createMachineShell, type MachineShell } from '#cli/cloud/machine-shell';
import { verifyOn } from '#cli/cloud/verify-sandbox';
import { VirtualClock } from '#local/clock';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';
import { DEFAULT_CLOUD } from '#test/emulators/cloud/cloud-settings';

const [template] = DEFAULT_CLOUD.templates;
const place = {
  subnets: DEFAULT_CLOUD.subnets.map(({ id, zone }) => ({ id, zone })),
  template: { id: template?.id ?? '', version: template?.version ?? '' },
};
const ADOPTION: Adoption = {
  ...{ imageId: 'ami-00000000000000001', family: 'ale-ubuntu22', removeReferences: false },
  ...{ adoptionId: '0a1b2c3d', region: DEFAULT_CLOUD.region },
  settings: {
    ...{ stage: 'prod', tags: { team: 'evals' }, images: {}, machineTypes: {} },
    networks: { open: place, sealed: place },
    volumeKeyArn: 'arn:aws:kms:us-east-1:123456789012:key/1',
    documents: { run: 'run', wait: 'wait' },
  },
  archive: async () => Promise.reject(new Error('the archive is not asked for before an image has passed')),
};

describe('operators’ own calls, by real SDK clients', () => {
  let clock: VirtualClock;
  let cloud: StandInCloud;
  let ec2: EC2Client;
  let ssm: SSMClient;
  let shell: MachineShell;
  /** What machines answer; the wrapped script itself is really unpacked by a shell. */
  let answer: (text: string) => { readonly exitCode: number; readonly stdout: string };

  beforeEach(async () => {
    clock = new VirtualClock({ isAutomatic: false });
    cloud = await StandInCloud.start({
      clock,
      script: (_machine, step) => {
        const shown = step.script.replace('exec /bin/bash -c "$script" </dev/null', 'printf %s "$script"');
        return answer(execFileSync('/bin/sh', ['-c', shown], { encoding: 'utf8' }));
      },
    });
    ec2 = new EC2Client(cloud.clientConfig);
    ssm = new SSMClient(cloud.clientConfig);
    shell = createMachineShell({ client: ssm, delay });
  });
  afterEach(async () => {
    ec2.destroy();
    ssm.destroy();
    await cloud.stop();
  });
  const delay = async (seconds: number): Promise<void> => {
    await clock.advance(seconds * 1000);
    await new Promise((resolve) => setImmediate(resolve));
  };

  function tools(told: string[]) {
    const made = createAdoptionCloud(ec2, { delay, pause: delay });
    const describeImage = async (imageId: string) => ({
      ...(await made.describeImage(imageId)),
      architecture: 'x86_64',
      volumes: [{ device: '/dev/sda1', sizeGiB: 40 }],
    });
    return {
      cloud: {
        describeImage,
        launch: made.launch.bind(made),
        terminate: made.terminate.bind(made),
        machinesTagged: made.machinesTagged.bind(made),
        machinesLaunchedBy: made.machinesLaunchedBy.bind(made),
        removeImagesTagged: made.removeImagesTagged.bind(made),
        createImage: made.createImage.bind(made),
        removeImage: made.removeImage.bind(made),
      },
      shell,
      tell: (line: string) => told.push(line),
      nowIso: () => clock.now().toISOString(),
      signal: new AbortController().signal,
    };
  }

  it('refuse an image that holds reference.7z, and leave no machine, volume or interface', async () => {
    answer = (text) => {
      expect(text).toContain('findmnt');
      return { exitCode: 0, stdout: 'FOUND /media/user/data/agenthle/reference.7z\nDONE\n' };
    };
    const told: string[] = [];
    const adopted = await adoptImage(ADOPTION, tools(told));
    expect(adopted).toMatchObject({ state: 'refused', found: ['/media/user/data/agenthle/reference.7z'] });
    expect(told.at(-1)).toMatch(/^machine i-[0-9a-f]+ is gone$/u);
    await clock.advance(60_000);
    expect(cloud.machines.held).toEqual([]);
    expect(cloud.callsOf('RunInstances')).toHaveLength(1);
  });

  it('end the machine of a scan that fails, and the one that a killed adoption left, once its time is over', async () => {
    answer = () => ({ exitCode: 9, stdout: '' });
    const killed = { ...tools([]), shell: { ...shell, waitOnline: async () => Promise.reject(new Error('killed')) } };
    const left = { ...killed, cloud: { ...killed.cloud, terminate: async () => Promise.resolve(false) } };
    await expect(adoptImage(ADOPTION, left)).rejects.toThrow('killed');
    expect(cloud.machines.held.length).toBeGreaterThan(0);
    await clock.advance(3 * 3600 * 1000);
    await expect(adoptImage({ ...ADOPTION, adoptionId: '0a1b2c3e' }, tools([]))).rejects.toThrow('exit code 9');
    await clock.advance(60_000);
    expect(cloud.machines.held).toEqual([]);
  });

  it('end the machine of a launch whose answer was lost', async () => {
    cloud.faults.loseAnswers('RunInstances', 10);
    await expect(adoptImage(ADOPTION, tools([]))).rejects.toThrow();
    await clock.advance(60_000);
    expect(cloud.callsOf('RunInstances').length).toBeGreaterThan(0);
    expect(cloud.callsOf('TerminateInstances').length).toBeGreaterThan(0);
    expect(cloud.machines.held).toEqual([]);
  });

  it('run the verify script on a machine, and read what it says', async () => {
    const checks = [{ name: 'screen', ok: true, seen: '1920x1080' }];
    answer = (text) => {
      expect(text).toContain('/opt/examhall/linux/verify.sh');
      return { exitCode: 0, stdout: `${JSON.stringify({ image: 'ubuntu-desktop', ok: true, checks })}\n` };
    };
    const made = tools([]);
    const image = await made.cloud.describeImage(ADOPTION.imageId);
    const launch = { image, subnetId: place.subnets[0]?.id ?? '', template: place.template, tags: {}, userData: '#' };
    const sandboxId = await made.cloud.launch({ ...launch, volumeKeyArn: 'arn:key', clientToken: 'one' });
    expect(await verifyOn({ sandboxId, os: 'linux' }, shell)).toMatchObject({ ok: true, checks });
    expect(await made.cloud.terminate(sandboxId)).toBe(true);
  });
});
