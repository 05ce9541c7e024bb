import { GetParameterCommand, PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { readDeploymentOutputs, writeDeploymentOutputs } from '#adapters/ssm-parameters';
import { deploymentParameterName, type DeploymentOutputs } from '#contracts/deployment-outputs';
import { startMotoServer, type MotoServer } from '#test/emulators/moto';
import { tier } from '#test/runner/tier';

const OUTPUTS: DeploymentOutputs = {
  version: 1,
  stage: 'dev',
  region: 'eu-central-1',
  accountId: '123456789012',
  apiUrl: 'https://abc123.execute-api.eu-central-1.amazonaws.com/v1',
  tableName: 'examhall-dev',
  buckets: { artifacts: 'examhall-dev-a', tasks: 'examhall-dev-t', references: 'examhall-dev-r' },
  eventBusName: 'examhall-dev',
  scheduleGroupName: 'examhall-dev',
  machines: {
    sweep: 'arn:aws:states:eu-central-1:123456789012:stateMachine:sweep:live',
    grade: 'arn:aws:states:eu-central-1:123456789012:stateMachine:grade:live',
  },
  versions: { examhall: '0.1.0', codeSha256: 'a'.repeat(64) },
};

tier('moto')('outputs of a deployment in SSM on moto', () => {
  let moto: MotoServer | undefined;
  beforeAll(async () => {
    moto = await startMotoServer();
  });
  afterAll(async () => {
    await moto?.stop();
  });
  const config = () => {
    if (moto === undefined) throw new Error('the emulator did not start');
    return moto.clientConfig;
  };

  it('come back as they were written, the last of two writes', async () => {
    await writeDeploymentOutputs({ ...OUTPUTS, apiUrl: 'https://old.example/v1' }, config());
    await writeDeploymentOutputs(OUTPUTS, config());
    expect(await readDeploymentOutputs('dev', config())).toEqual(OUTPUTS);
  });

  it('are none where no such stage is deployed', async () => {
    expect(await readDeploymentOutputs('prod', config())).toBeUndefined();
  });

  it('are refused by name and place when something else is written there', async () => {
    const client = new SSMClient(config());
    const write = (value: string) =>
      client.send(
        new PutParameterCommand({
          Name: deploymentParameterName('odd'),
          Value: value,
          Type: 'String',
          Overwrite: true,
        }),
      );
    await write('no JSON');
    await expect(readDeploymentOutputs('odd', config())).rejects.toMatchObject({ name: 'EnvironmentInvalidError' });
    await write(JSON.stringify({ ...OUTPUTS, apiUrl: 'https://x.example/v1/' }));
    await expect(readDeploymentOutputs('odd', config())).rejects.toMatchObject({
      name: 'EnvironmentInvalidError',
      message: expect.stringMatching(/\/examhall\/odd\/deployment .*apiUrl .*deploy the stage again/u) as string,
    });
    client.destroy();
  });
});

describe('outputs of a deployment', () => {
  let wire = mockClient(SSMClient);
  wire.restore();
  beforeEach(() => {
    wire = mockClient(SSMClient);
  });
  afterEach(() => {
    wire.restore();
  });

  it('are not asked of what is no stage', async () => {
    for (const stage of ['', '../prod', 'Prod', 'a/b', 'x'.repeat(21)]) {
      await expect(readDeploymentOutputs(stage)).rejects.toThrow(TypeError);
    }
    expect(wire.calls()).toEqual([]);
  });

  it('that do not fit one parameter, or are none, are not written', async () => {
    const large = { ...OUTPUTS, machines: { ...OUTPUTS.machines, sweep: `arn:${'x'.repeat(5_000)}` } };
    await expect(writeDeploymentOutputs(large)).rejects.toMatchObject({ name: 'PayloadInvalidError' });
    await expect(writeDeploymentOutputs({ ...OUTPUTS, region: 'here' })).rejects.toThrow(/region/u);
    expect(wire.calls()).toEqual([]);
  });

  it('that may not be read are told by AWS, not taken for none', async () => {
    const denied = Object.assign(new Error('not authorized'), { name: 'AccessDeniedException' });
    wire.on(GetParameterCommand).rejects(denied);
    await expect(readDeploymentOutputs('dev', { region: 'us-east-1' })).rejects.toBe(denied);
  });
});
