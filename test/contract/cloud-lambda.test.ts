import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VirtualClock } from '#local/clock';
import { StandInCloud } from '#test/emulators/cloud/cloud-server';

describe('Lambda of the stand-in', () => {
  let cloud: StandInCloud;
  let lambda: LambdaClient;
  beforeAll(async () => {
    const functions = {
      echo: async (payload: unknown) => ({ payload }),
      fails: async () => {
        throw Object.assign(new Error('on purpose'), { name: 'OwnError' });
      },
    };
    cloud = await StandInCloud.start({ clock: new VirtualClock({ isAutomatic: false }), functions });
    lambda = new LambdaClient({ ...cloud.clientConfig, maxAttempts: 1 });
  });
  afterAll(async () => {
    lambda.destroy();
    await cloud.stop();
  });
  const invoke = async (name: string): Promise<{ error: string | undefined; said: unknown }> => {
    const call = new InvokeCommand({ FunctionName: name, Payload: JSON.stringify({ text: 'ü' }) });
    const { FunctionError, Payload } = await lambda.send(call);
    return { error: FunctionError, said: JSON.parse(new TextDecoder().decode(Payload)) as unknown };
  };

  it('answers with what the function says, or threw', async () => {
    expect(await invoke('echo')).toEqual({ error: undefined, said: { payload: { text: 'ü' } } });
    expect(await invoke('fails')).toEqual({
      error: 'Unhandled',
      said: { errorType: 'OwnError', errorMessage: 'on purpose' },
    });
  });

  it('knows no other function, and can be throttled', async () => {
    await expect(invoke('other')).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    cloud.faults.refuse('Invoke', 'TooManyRequestsException');
    await expect(invoke('echo')).rejects.toMatchObject({ name: 'TooManyRequestsException' });
  });
});
