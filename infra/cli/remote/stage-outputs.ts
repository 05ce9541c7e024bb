import { deploymentParameterName, type DeploymentOutputs } from '#contracts/deployment-outputs';
import type { AwsSession } from './aws-session.ts';
import { RemoteError } from './remote-error.ts';

/** Address of a stage's API, as the stage itself tells it. @throws RemoteError, ConfigError */
export async function apiUrlOfStage(stage: string, session: AwsSession): Promise<string> {
  return (await outputsOfStage(stage, session)).apiUrl;
}

/** What a deployed stage tells about itself. @throws RemoteError */
export async function outputsOfStage(stage: string, session: AwsSession): Promise<DeploymentOutputs> {
  const { region, credentials } = session;
  const name = parameterOf(stage);
  const { readDeploymentOutputs } = await import('#adapters/ssm-parameters');
  let outputs: DeploymentOutputs | undefined;
  try {
    outputs = await readDeploymentOutputs(stage, { region, credentials, maxAttempts: 4 });
  } catch (error) {
    throw parameterError(error, { name, stage, session });
  }
  if (outputs !== undefined) return outputs;
  throw new RemoteError(
    'request',
    `stage "${stage}" is not deployed in ${region}: there is no parameter ${name}; check --stage, --region and --profile, or give the API's address by --host`,
  );
}

function parameterOf(stage: string): string {
  try {
    return deploymentParameterName(stage);
  } catch (error) {
    throw new RemoteError('request', error instanceof Error ? error.message : String(error));
  }
}

function parameterError(
  error: unknown,
  { name, stage, session }: { readonly name: string; readonly stage: string; readonly session: AwsSession },
): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { region, profile } = session;
  const facts = { cause: error, code: error.name };
  if (error.name === 'EnvironmentInvalidError') {
    const where = `in ${region}${profile === undefined ? '' : ` (profile ${profile})`}`;
    return new RemoteError(
      'host',
      `${error.message} (${where}), or use the version of examhall that deployed it`,
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
