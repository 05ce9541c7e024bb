import { describe, expect, it } from 'vitest';
import { deploymentParameterName, DeploymentOutputsSchema } from '#contracts/deployment-outputs';

const outputs = {
  version: 1,
  stage: 'dev',
  region: 'eu-central-1',
  accountId: '123456789012',
  apiUrl: 'https://abc123.execute-api.eu-central-1.amazonaws.com/v1',
  tableName: 'table',
  buckets: { artifacts: 'bucket-a', tasks: 'bucket-t', references: 'bucket-r' },
  eventBusName: 'bus',
  scheduleGroupName: 'group',
  machines: { sweep: 'arn:aws:states:x:sweep:live', grade: 'arn:aws:states:x:grade:live' },
  versions: { examhall: '0.1.0', codeSha256: 'a'.repeat(64) },
};

describe("a deployment's outputs", () => {
  it('are read, also with what a later version adds', () => {
    expect(DeploymentOutputsSchema.parse({ ...outputs, more: 1 })).toEqual(outputs);
  });

  it.each([
    ['apiUrl', 'https://abc123.execute-api.eu-central-1.amazonaws.com/v1/'],
    ['apiUrl', 'abc123/v1'],
    ['apiUrl', 'https://'],
    ['region', 'Frankfurt'],
    ['accountId', '12'],
    ['stage', 'Dev'],
    ['version', 2],
    ['buckets', { artifacts: 'bucket-a', tasks: 'bucket-t' }],
  ])('are refused with %s %j', (name, value) => {
    const found = DeploymentOutputsSchema.safeParse({ ...outputs, [name]: value });
    expect(found.error?.issues[0]?.path[0]).toBe(name);
  });

  it.each(['eu-central-1', 'us-gov-west-1', 'ap-southeast-2'])('may be of region %s', (region) => {
    expect(DeploymentOutputsSchema.parse({ ...outputs, region }).region).toBe(region);
  });

  it('have a parameter of their own for each stage, and none for what is no stage', () => {
    expect(deploymentParameterName('prod-eu')).toBe('/examhall/prod-eu/deployment');
    for (const stage of ['', 'a/../b', 'Prod', '1st', 'x'.repeat(21)]) {
      expect(() => deploymentParameterName(stage)).toThrow('is no stage name');
    }
  });
});
