import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { apiUrlOfStage } from '#cli/remote/stage-outputs';

const wire = mockClient(SSMClient);
const session = {
  region: 'eu-central-1',
  profile: 'exam',
  credentials: async () => ({ accessKeyId: 'a', secretAccessKey: 's' }),
};
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
const named = (name: string): Error => Object.assign(new Error('told'), { name });

beforeEach(() => {
  wire.reset();
});
afterAll(() => {
  wire.restore();
});

describe('the address of a stage', () => {
  it('is what its parameter says', async () => {
    wire.on(GetParameterCommand).resolves({ Parameter: { Value: JSON.stringify(outputs) } });
    expect(await apiUrlOfStage('dev', session)).toBe(outputs.apiUrl);
    expect(wire.commandCalls(GetParameterCommand)[0]?.args[0].input).toEqual({ Name: '/examhall/dev/deployment' });
  });

  it.each([
    ['ParameterNotFound', /stage "dev" is not deployed in eu-central-1.*--stage, --region and --profile/u],
    ['AccessDeniedException', /may not read where stage "dev" is.*ssm:GetParameter on \/examhall\/dev\/deployment/u],
    ['ExpiredTokenException', /have expired; renew them/u],
    ['ThrottlingException', /wait a little/u],
  ])('that AWS answers with %s is explained', async (name, message) => {
    wire.on(GetParameterCommand).rejects(named(name));
    await expect(apiUrlOfStage('dev', session)).rejects.toThrow(message);
  });

  it.each(['no JSON', '{}', JSON.stringify({ ...outputs, version: 2 })])('is not taken from %s', async (Value) => {
    wire.on(GetParameterCommand).resolves({ Parameter: { Value } });
    await expect(apiUrlOfStage('dev', session)).rejects.toThrow(
      /\/examhall\/dev\/deployment holds no outputs.*deploy the stage again.*profile exam.*version of examhall/u,
    );
  });

  it('is not asked of what is no stage', async () => {
    await expect(apiUrlOfStage('Dev/..', session)).rejects.toThrow('is no stage name');
    expect(wire.calls()).toEqual([]);
  });
});
