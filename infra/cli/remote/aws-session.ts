import type { HostOptions } from './host-options.ts';
import { RemoteError } from './remote-error.ts';
import { credentialsError, type AwsCredentials } from './sign-request.ts';

/** Who calls AWS, and where; as the AWS CLI would find both. */
export interface AwsSession {
  readonly region: string;
  /** That the credentials are of; undefined for keys of the environment and for the default chain. */
  readonly profile: string | undefined;
  readonly credentials: () => Promise<AwsCredentials & { readonly accountId?: string }>;
}

/** What every client is made with. */
export function clientOptions({ region, credentials }: AwsSession) {
  return { region, credentials, maxAttempts: 4 };
}

type Environment = Readonly<Record<string, string | undefined>>;
type Wanted = Pick<HostOptions, 'profile' | 'region'>;

/** The SDK warns of keys beside a profile; which of them is taken is settled here. */
const ignore = (): void => undefined;
const QUIET = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Credentials and region of the normal chain: options, environment, shared files, SSO, container, instance. */
export async function openAwsSession(options: Wanted, env: Environment): Promise<AwsSession> {
  // What a newer SDK will need is no news for whoever runs a command.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  const named = given(options.profile) ?? given(env['AWS_PROFILE']) ?? given(env['AWS_DEFAULT_PROFILE']);
  const region = await regionOf(options, env, named);
  const { fromEnv, fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
  const hasKeys = takesKeysOf(env, options);
  const profile = hasKeys ? undefined : named;
  const provider = hasKeys
    ? fromEnv()
    : fromNodeProviderChain({
        ...(profile === undefined ? {} : { profile }),
        clientConfig: { region },
        logger: QUIET,
      });
  return {
    region,
    profile,
    credentials: async () => {
      try {
        return await provider();
      } catch (error) {
        throw credentialsError(error, profile);
      }
    },
  };
}

/**
 * Keys in the environment win over a profile that the environment names, and lose to one that an option names. The SDK's own
 * chain lets both profiles win.
 */
function takesKeysOf(env: Environment, options: Wanted): boolean {
  if (given(options.profile) !== undefined || given(env['AWS_ACCESS_KEY_ID']) === undefined) return false;
  if (given(env['AWS_SECRET_ACCESS_KEY']) !== undefined) return true;
  throw new RemoteError(
    'access',
    'AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not; set both, or neither, or name a profile by --profile',
  );
}

async function regionOf(options: Wanted, env: Environment, profile: string | undefined): Promise<string> {
  const named = given(options.region) ?? given(env['AWS_REGION']) ?? given(env['AWS_DEFAULT_REGION']);
  if (named !== undefined) return checkedRegion(named);
  const { STSClient } = await import('@aws-sdk/client-sts');
  const client = new STSClient(profile === undefined ? {} : { profile });
  try {
    return checkedRegion(await client.config.region());
  } catch (error) {
    if (error instanceof RemoteError) throw error;
    const where = profile === undefined ? 'the default profile' : `profile "${profile}"`;
    throw new RemoteError(
      'access',
      `no AWS region: none of --region, AWS_REGION, AWS_DEFAULT_REGION is set, and ${where} has none; name the region that the stage is deployed in`,
      { cause: error },
    );
  } finally {
    client.destroy();
  }
}

function checkedRegion(name: string): string {
  if (/^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/u.test(name)) return name;
  throw new RemoteError('access', `${JSON.stringify(name)} is no AWS region; allowed: a name such as eu-central-1`);
}

function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
