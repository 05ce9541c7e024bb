import { DescribeImagesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deployChecks } from '#cli/remote/deploy-check-all';
import type { DeployCheck } from '#cli/remote/deploy-check';
import { sandboxSettings } from '#test/builders/sandbox-settings';
import { answerWhole, clients, ENV, named } from './deployed-stage.ts';

const ec2 = mockClient(EC2Client);
const image = {
  os: 'linux',
  revision: null,
  kind: 'bare',
  rootDevice: '/dev/sda1',
  volumeGiB: 50,
  seats: null,
} as const;
const images = {
  'ale-ubuntu22': { ...image, imageId: 'ami-0123456789abcdef0' },
  'ale-win-server': { ...image, os: 'windows' as const, imageId: 'ami-0fedcba9876543210' },
};
const deployed = { Name: '/examhall/example/sandboxes' };
const answers = (...ids: readonly string[]): void => {
  ec2.on(DescribeImagesCommand).resolves({ Images: ids.map((ImageId) => ({ ImageId, Name: `name-of-${ImageId}` })) });
};

beforeEach(() => {
  Object.assign(process.env, ENV);
  answerWhole();
  ec2.reset();
  clients.ssm
    .on(GetParameterCommand, deployed)
    .resolves({ Parameter: { Value: JSON.stringify(sandboxSettings({ images })) } });
});
afterEach(() => {
  for (const name of Object.keys(ENV)) Reflect.deleteProperty(process.env, name);
});

async function imagesRow(options: { readonly stage?: string; readonly settings?: string }): Promise<DeployCheck> {
  const checks = await deployChecks({ ...options, timeout: 1 }, { ...ENV, EXAMHALL_TOKEN: 'x' });
  const [row, ...more] = checks.filter(({ name }) => name === 'images');
  expect(more).toEqual([]);
  if (row === undefined) throw new Error('nobody looked at images');
  return row;
}

describe('the images of a stage', () => {
  it('are named by family with what EC2 calls them, and nobody says that they boot', async () => {
    answers('ami-0123456789abcdef0', 'ami-0fedcba9876543210');
    const { state, found } = await imagesRow({ stage: 'example' });
    expect(state).toBe('unverified');
    expect(found).toContain('ale-ubuntu22 is ami-0123456789abcdef0 (bare, name-of-ami-0123456789abcdef0)');
    expect(found).toContain('ale-win-server is ami-0fedcba9876543210');
    expect(found).toContain('that it boots into a desktop is unverified');
  });

  it('fail when EC2 does not have one', async () => {
    answers('ami-0123456789abcdef0');
    expect(await imagesRow({ stage: 'example' })).toMatchObject({
      state: 'fail',
      found: 'ale-win-server is ami-0fedcba9876543210, which EC2 does not have',
    });
  });

  it('are unverified where nobody may look, with the right that is missing', async () => {
    ec2.on(DescribeImagesCommand).rejects(named('UnauthorizedOperation'));
    expect(await imagesRow({ stage: 'example' })).toMatchObject({
      state: 'unverified',
      remedy: 'allow ec2:DescribeImages',
    });
  });

  it('are unverified of a stage that tells nothing of them', async () => {
    clients.ssm.on(GetParameterCommand, deployed).rejects(named('ParameterNotFound'));
    const { state, found } = await imagesRow({ stage: 'example' });
    expect([state, found.includes('/examhall/example/sandboxes')]).toEqual(['unverified', true]);
    expect(ec2.calls()).toEqual([]);
  });

  it('of a settings file are the parameters that a deploy looks up', async () => {
    const { state, found } = await imagesRow({ settings: 'infra/config/stages/example.json' });
    expect(state).toBe('unverified');
    expect(found).toContain('ale-ubuntu22 is what /aws/service/canonical/ubuntu/server/22.04/');
    expect(found).toContain('Windows_Server-2022-English-Full-Base names at each deploy (bare)');
  });
});
