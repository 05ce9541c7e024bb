import { expect, it } from 'vitest';
import { liveSettings } from '#test/live/live-settings';
import { parseSettings } from '../../infra/config/load-settings.ts';

it('the live test deploys settings that a stage may have, under a name of its own', () => {
  const principalArn = 'arn:aws:sts::111122223333:assumed-role/admin/ada';
  const settings = parseSettings(liveSettings(process.cwd(), { stage: 'live1a2b3c', principalArn }), 'live');
  expect(settings.stage).toBe('live1a2b3c');
  expect(settings.policy.roles.admin).toEqual(['arn:aws:iam::111122223333:role/admin']);
});
