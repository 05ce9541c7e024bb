import { GetParameterCommand, PutParameterCommand, SSMClient, type SSMClientConfig } from '@aws-sdk/client-ssm';

import {
  DEPLOYMENT_OUTPUTS_MAX_BYTES,
  deploymentParameterName,
  DeploymentOutputsSchema,
  type DeploymentOutputs,
} from '#contracts/deployment-outputs';
import { ExamHallError } from '#core/errors';

/** What an SSM client needs beyond its defaults; a region is enough. */
export type SsmConfig = SSMClientConfig;

/**
 * What a deployed stage tells about itself; undefined where no such stage is deployed in that account and region.
 * @throws EnvironmentInvalidError when the parameter holds something else; AWS's own errors, such as AccessDeniedException.
 */
export async function readDeploymentOutputs(
  stage: string,
  config: SsmConfig = {},
): Promise<DeploymentOutputs | undefined> {
  const name = deploymentParameterName(stage);
  const text = await withClient(config, async (client) => {
    try {
      return (await client.send(new GetParameterCommand({ Name: name }))).Parameter?.Value;
    } catch (error) {
      if (error instanceof Error && error.name === 'ParameterNotFound') return undefined;
      throw error;
    }
  });
  return text === undefined ? undefined : parseOutputs(name, text);
}

/** Writes them, replacing what was there. For deployments that no stack describes; a stack writes its own. */
export async function writeDeploymentOutputs(outputs: DeploymentOutputs, config: SsmConfig = {}): Promise<void> {
  const value = JSON.stringify(DeploymentOutputsSchema.parse(outputs));
  const name = deploymentParameterName(outputs.stage);
  const bytes = Buffer.byteLength(value, 'utf8');
  if (bytes > DEPLOYMENT_OUTPUTS_MAX_BYTES) {
    const message = `the outputs have ${String(bytes)} bytes; ${String(DEPLOYMENT_OUTPUTS_MAX_BYTES)} are allowed`;
    throw new ExamHallError('PayloadInvalidError', message, { name, bytes });
  }
  const command = new PutParameterCommand({ Name: name, Value: value, Type: 'String', Overwrite: true });
  await withClient(config, (client) => client.send(command));
}

async function withClient<T>(config: SsmConfig, action: (client: SSMClient) => Promise<T>): Promise<T> {
  const client = new SSMClient({ retryMode: 'standard', maxAttempts: 3, ...config });
  try {
    return await action(client);
  } finally {
    client.destroy();
  }
}

function parseOutputs(name: string, text: string): DeploymentOutputs {
  const found = DeploymentOutputsSchema.safeParse(parseJson(text));
  if (found.success) return found.data;
  const [first] = found.error.issues;
  const where = first === undefined ? '' : `: ${first.path.join('.') || 'the whole'} ${first.message}`;
  const message = `SSM parameter ${name} holds no outputs of a deployment${where}; deploy the stage again`;
  throw new ExamHallError('EnvironmentInvalidError', message, { name });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
