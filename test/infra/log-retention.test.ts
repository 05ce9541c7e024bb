import { describe, expect, it } from 'vitest';
import { stageSettings } from '#test/builders/stage-settings';
import { Deployment } from './deployment.ts';
import { appForTests } from './synth.ts';

/** Days as each template says, of every log group and of the bucket of access logs. */
function retentionOf(logRetentionDays: 30 | 90): { readonly groups: readonly unknown[]; readonly expiry: string } {
  const deployment = new Deployment(appForTests(stageSettings({ logRetentionDays })));
  const [bucket] = deployment.ofType('AWS::S3::Bucket').filter(({ id }) => id.startsWith('AccessLogs'));
  return {
    groups: deployment.ofType('AWS::Logs::LogGroup').map(({ properties }) => properties['RetentionInDays']),
    expiry: JSON.stringify(bucket?.properties['LifecycleConfiguration']),
  };
}

describe('logs are kept as long as the settings say', () => {
  it.each([30, 90] as const)('%i days, in every log group and in the bucket of access logs', (days) => {
    const { groups, expiry } = retentionOf(days);
    expect(groups.length).toBeGreaterThan(20);
    expect(new Set(groups)).toEqual(new Set([days]));
    expect(expiry).toContain(`"ExpirationInDays":${String(days)}`);
  });
});
