import type { SandboxSettings } from '#core/sandbox-settings';

/** Settings of a stage that knows of sandboxes and has no place for any. */
export const KNOWN_SANDBOXES: SandboxSettings = {
  stage: 'prod',
  tags: {},
  networks: {},
  images: {},
  machineTypes: {},
  volumeKeyArn: 'arn:aws:kms:us-east-1:111122223333:key/volumes',
  documents: { run: 'examhall-prod-run', wait: 'examhall-prod-wait' },
};
