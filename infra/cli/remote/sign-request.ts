import type { Authorizer, UnsignedCall } from './authorizers.ts';
import { RemoteError } from './remote-error.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export interface SigningOptions {
  readonly region: string;
  /** Asked anew for each call, so that expiring ones are renewed. */
  readonly credentials: () => Promise<AwsCredentials>;
  readonly service?: string;
  /** Milliseconds since the epoch, by this computer. */
  readonly now: () => number;
}

/** Signs calls with AWS Signature Version 4, as API Gateway's IAM authorization asks for. */
export async function awsAuthorizer(options: SigningOptions): Promise<Authorizer> {
  const { SignatureV4 } = await import('@smithy/signature-v4');
  const { Sha256 } = await import('@aws-crypto/sha256-js');
  const { region, service = 'execute-api' } = options;
  let skewMilliseconds = 0;
  return {
    kind: 'aws',
    region,
    authorize: async (call) => {
      const credentials = await options.credentials();
      // The payload hash is part of what is signed; its header is only asked for by S3.
      const signer = new SignatureV4({ service, region, credentials, sha256: Sha256, applyChecksum: false });
      const signed = await signer.sign(requestOf(call), { signingDate: new Date(options.now() + skewMilliseconds) });
      const { host: _, ...headers } = signed.headers;
      return headers;
    },
    correctClock: (serverTime) => {
      skewMilliseconds = serverTime - options.now();
      return skewMilliseconds;
    },
  };
}

function requestOf({ method, url, headers, body }: UnsignedCall) {
  const query: Record<string, string[]> = {};
  for (const [name, value] of url.searchParams) (query[name] ??= []).push(value);
  return {
    method,
    protocol: url.protocol,
    hostname: url.hostname,
    ...(url.port === '' ? {} : { port: Number(url.port) }),
    path: url.pathname,
    query,
    headers: { ...headers, host: url.host },
    ...(body === undefined ? {} : { body }),
  };
}

/** Region of an API Gateway address; null for a domain of one's own. */
export function regionOfHost({ hostname }: Pick<URL, 'hostname'>): string | null {
  return (
    /^[a-z0-9]+(?:-vpce-[a-z0-9]+)?\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/u.exec(hostname)?.[1] ?? null
  );
}

/** What a failed credential provider means, in words. */
export function credentialsError(error: unknown, profile: string | undefined): RemoteError {
  const name = error instanceof Error ? error.name : '';
  const message = error instanceof Error ? error.message : String(error);
  const where = profile === undefined ? 'the default chain' : `profile "${profile}"`;
  if (/expired|sso session|refresh failed|invalid_grant/iu.test(message) || name === 'ExpiredTokenException') {
    const login = profile === undefined ? 'aws sso login' : `aws sso login --profile ${profile}`;
    return new RemoteError(
      'access',
      `the AWS credentials of ${where} have expired: ${message}; renew them (\`${login}\`), and run this again`,
      { cause: error },
    );
  }
  if (profile !== undefined && /could not resolve|not found|profile/iu.test(message)) {
    return new RemoteError(
      'access',
      `no AWS credentials in ${where}: ${message}; \`aws configure list-profiles\` names those there are`,
      { cause: error },
    );
  }
  return new RemoteError(
    'access',
    `no AWS credentials: ${message}; log in (\`aws sso login\`), set AWS_PROFILE or --profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY`,
    { cause: error },
  );
}
