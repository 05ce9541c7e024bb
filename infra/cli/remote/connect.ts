import { readText } from '#cli/config/read-text';
import { apiClient, type ApiClient } from './api-client.ts';
import { tokenAuthorizer, type Authorizer } from './authorizers.ts';
import { commandLineError } from './command-line-error.ts';
import { wantedHost, type HostOptions } from './host-options.ts';
import { isLoopback } from './http-exchange.ts';
import { regionOfHost } from './sign-request.ts';

export interface ConnectOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly warn: (line: string) => void;
}

/** A client of the host that the options and the environment name. @throws ConfigError, RemoteError */
export async function connect(options: HostOptions, { env, warn }: ConnectOptions): Promise<ApiClient> {
  const { host, stage } = wantedHost(options, env);
  if (host !== undefined && stage !== undefined) {
    throw commandLineError({
      what: 'both a host and a stage are named',
      got: `host ${JSON.stringify(host)} and stage ${JSON.stringify(stage)}`,
      allowed: 'one of them',
      action: 'leave out one of --host, --stage (or unset EXAMHALL_HOST, EXAMHALL_STAGE)',
    });
  }
  if (stage !== undefined) return await connectToStage(stage, options, { env, warn });
  if (host === undefined) {
    throw commandLineError({
      what: 'no host is named',
      got: 'neither --host nor --stage',
      allowed: '--host <url> or EXAMHALL_HOST, --stage <name> or EXAMHALL_STAGE',
      action: 'start `examhall serve` and give its address, or name a stage that is deployed',
    });
  }
  const baseUrl = readUrl(host);
  const authorizer = isLoopback(baseUrl)
    ? tokenAuthorizer(await readToken(options, env))
    : await awsAuthorizerFor(options, env, regionOfHost(baseUrl));
  return apiClient({ baseUrl, authorizer, timeoutSeconds: options.timeout, warn });
}

async function connectToStage(stage: string, options: HostOptions, { env, warn }: ConnectOptions): Promise<ApiClient> {
  const { openAwsSession } = await import('./aws-session.ts');
  const { apiUrlOfStage } = await import('./stage-outputs.ts');
  const session = await openAwsSession(options, env);
  const baseUrl = readUrl(await apiUrlOfStage(stage, session));
  const authorizer = await awsAuthorizerFor(options, env, regionOfHost(baseUrl));
  return apiClient({ baseUrl, authorizer, timeoutSeconds: options.timeout, warn });
}

async function awsAuthorizerFor(
  options: HostOptions,
  env: ConnectOptions['env'],
  region: string | null,
): Promise<Authorizer> {
  const { openAwsSession } = await import('./aws-session.ts');
  const { awsAuthorizer } = await import('./sign-request.ts');
  const session = await openAwsSession(region === null ? options : { ...options, region }, env);
  return await awsAuthorizer({ region: session.region, credentials: session.credentials, now: Date.now });
}

/** The address of an API: https, or http to this computer, and nothing in it but host and path. */
export function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isHttp = url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url)));
  if (url !== null && isHttp && url.username === '' && url.password === '' && url.search === '' && url.hash === '')
    return url;
  throw commandLineError({
    what: 'the address of the host cannot be used',
    got: JSON.stringify(url === null || url.password === '' ? text : `${url.protocol}//***@${url.host}`),
    allowed:
      'https://<host>/<path>, or http:// to this computer (127.0.0.1, [::1], localhost), without user, query or fragment',
    action: 'give the address as `examhall serve` prints it, or as the outputs of the stage have it',
  });
}

async function readToken({ tokenFile }: HostOptions, env: ConnectOptions['env']): Promise<string> {
  const where = tokenFile === undefined ? 'EXAMHALL_TOKEN' : tokenFile;
  const reading = tokenFile === undefined ? { text: env['EXAMHALL_TOKEN'] ?? '' } : await readText(tokenFile);
  const token = 'text' in reading ? reading.text.trim() : '';
  if (/^[\x21-\x7e]{1,4096}$/u.test(token)) return token;
  throw commandLineError({
    what: 'there is no token for this host',
    got:
      'fault' in reading
        ? `${where} ${reading.fault.what}`
        : token === ''
          ? `${where} not set or empty`
          : `${where} with spaces or unusual letters`,
    allowed: 'the token that `examhall serve` printed, in EXAMHALL_TOKEN or in a file given by --token-file',
    action: 'set one of them; a token is never an argument, which other users of this computer could read',
  });
}
