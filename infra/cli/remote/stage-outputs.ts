import {
  DeploymentOutputsSchema,
  deploymentParameterName,
  type DeploymentOutputs,
} from '#contracts/deployment-outputs';
import type { AwsSession } from './aws-session.ts';
import { RemoteError } from './remote-error.ts';

/** Address of a stage's API, as the stage itself tells it. @throws RemoteError, ConfigError */
export async function apiUrlOfStage(stage: string, session: AwsSession): Promise<string> {
  return (await outputsOfStage(stage, session)).apiUrl;
}

/** What a deployed stage tells about itself. @throws RemoteError */
export async function outputsOfStage(stage: string, session: AwsSession): Promise<DeploymentOutputs> {
  const { region, profile } = session;
  const name = parameterOf(stage);
  const value = await readParameter(name, stage, session);
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    parsed = null;
  }
  const outputs = DeploymentOutputsSchema.safeParse(parsed);
  if (outputs.success) return outputs.data;
  const [issue] = outputs.error.issues;
  const where = issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
  throw new RemoteError(
    'host',
    `parameter ${name} in ${region}${profile === undefined ? '' : ` (profile ${profile})`} is not what a stage of this version writes${where}; deploy the stage again, or use the version of examhall that deployed it`,
  );
}

function parameterOf(stage: string): string {
  try {
    return deploymentParameterName(stage);
  } catch (error) {
    throw new RemoteError('request', error instanceof Error ? error.message : String(error));
  }
}

async function readParameter(name: string, stage: string, session: AwsSession): Promise<string> {
  const { GetParameterCommand, SSMClient } = await import('@aws-sdk/client-ssm');
  const client = new SSMClient({ region: session.region, credentials: session.credentials, maxAttempts: 4 });
  try {
    const { Parameter } = await client.send(new GetParameterCommand({ Name: name }));
    return Parameter?.Value ?? '';
  } catch (error) {
    throw parameterError(error, { name, stage, region: session.region });
  } finally {
    client.destroy();
  }
}

function parameterError(
  error: unknown,
  { name, stage, region }: { readonly name: string; readonly stage: string; readonly region: string },
): Error {
  if (error instanceof RemoteError || !(error instanceof Error))
    return error instanceof Error ? error : new Error(String(error));
  const facts = { cause: error, code: error.name };
  if (error.name === 'ParameterNotFound') {
    return new RemoteError(
      'request',
      `stage "${stage}" is not deployed in ${region}: there is no parameter ${name}; check --stage, --region and --profile, or give the API's address by --host`,
      facts,
    );
  }
  if (error.name === 'AccessDeniedException') {
    return new RemoteError(
      'access',
      `these credentials may not read where stage "${stage}" is: ${error.message}; allow ssm:GetParameter on ${name}, or give the API's address by --host`,
      facts,
    );
  }
  return awsError(error, `the address of stage "${stage}"`, region);
}

/** An error of an AWS service, in words. */
export function awsError(error: Error, what: string, region: string): RemoteError {
  const facts = { cause: error, code: error.name };
  if (/^(?:ExpiredToken(?:Exception)?|RequestExpired)$/u.test(error.name)) {
    return new RemoteError(
      'access',
      `cannot ask for ${what}: the AWS credentials have expired; renew them (\`aws sso login\`)`,
      facts,
    );
  }
  if (
    /^(?:UnrecognizedClientException|InvalidClientTokenId|InvalidSignatureException|SignatureDoesNotMatch|AuthFailure)$/u.test(
      error.name,
    )
  ) {
    return new RemoteError(
      'access',
      `cannot ask for ${what}: AWS does not accept these credentials in ${region} (${error.name}: ${error.message}); check --profile, --region, AWS_ACCESS_KEY_ID and the clock`,
      facts,
    );
  }
  if (/Throttl|TooManyRequests/u.test(error.name))
    return new RemoteError('throttled', `cannot ask for ${what}: ${error.message}; wait a little`, facts);
  const code = 'code' in error ? String(error.code) : error.name;
  if (/^E[A-Z_]+$/u.test(code))
    return new RemoteError(
      'unreachable',
      `cannot ask for ${what}: ${code}; check the network, and that ${region} is a region`,
      facts,
    );
  return new RemoteError('host', `cannot ask for ${what}: ${error.name}: ${error.message}`, facts);
}
