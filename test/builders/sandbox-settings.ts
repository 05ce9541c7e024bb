import type { SandboxSettings } from '#core/sandbox-settings';

/** Settings of a deployment with two zones and an image of either system. */
export function sandboxSettings(changes: Partial<SandboxSettings> = {}): SandboxSettings {
  const image = { revision: 'r1', kind: 'bare', rootDevice: '/dev/sda1', volumeGiB: 30, seats: null } as const;
  return {
    stage: 'test',
    tags: { team: 'research' },
    networks: {
      open: {
        subnets: [
          { id: 'subnet-a', zone: 'us-east-1a' },
          { id: 'subnet-b', zone: 'us-east-1b' },
        ],
        template: { id: 'lt-0123456789abcdef0', version: '3' },
      },
    },
    images: {
      'ale-ubuntu22': { ...image, imageId: 'ami-0aaaaaaaaaaaaaaaa', os: 'linux' },
      'ale-win-server': { ...image, imageId: 'ami-0bbbbbbbbbbbbbbbb', os: 'windows', volumeGiB: 60, seats: 2 },
    },
    machineTypes: {},
    volumeKeyArn: 'arn:aws:kms:us-east-1:111122223333:key/volumes',
    documents: { run: 'run', wait: 'wait' },
    ...changes,
  };
}
