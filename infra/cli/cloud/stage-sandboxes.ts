import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { SandboxSettingsSchema, type SandboxSettings } from '#core/sandbox-settings';
import { sandboxSettingsParameterName } from '#contracts/deployment-outputs';
import { clientOptions, type AwsSession } from '#cli/remote/aws-session';
import { RemoteError } from '#cli/remote/remote-error';
import { awsError } from '#cli/remote/stage-outputs';

/** What a stage launches, and where, as its deployment wrote it down. @throws RemoteError */
export async function sandboxSettingsOf(stage: string, session: AwsSession): Promise<SandboxSettings> {
  const name = sandboxSettingsParameterName(stage);
  const client = new SSMClient(clientOptions(session));
  const absent = `stage "${stage}" has no parameter ${name} in ${session.region}; deploy it with this version, or check --stage, --region and --profile`;
  try {
    const { Parameter } = await client.send(new GetParameterCommand({ Name: name }));
    const parsed = SandboxSettingsSchema.safeParse(jsonOf(Parameter?.Value ?? ''));
    if (parsed.success) return parsed.data;
    throw new RemoteError('host', `${name} holds no settings of sandboxes that this version understands; deploy again`);
  } catch (error) {
    if (error instanceof RemoteError || !(error instanceof Error)) throw error;
    if (error.name === 'ParameterNotFound') throw new RemoteError('request', absent);
    throw awsError(error, name, session.region);
  } finally {
    client.destroy();
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
