import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openAwsSession } from '#cli/remote/aws-session';

const NAMES = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_PROFILE',
  'AWS_DEFAULT_PROFILE',
  'AWS_REGION',
  'AWS_DEFAULT_REGION',
] as const;
type Name = (typeof NAMES)[number];

const KEYS = { AWS_ACCESS_KEY_ID: 'of-environment', AWS_SECRET_ACCESS_KEY: 'secret' };
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'examhall-aws-'));
  const config = path.join(folder, 'config');
  const credentials = path.join(folder, 'credentials');
  const keys = (name: string): string => `[${name}]\naws_access_key_id = of-${name}\naws_secret_access_key = secret\n`;
  writeFileSync(
    config,
    '[default]\nregion = us-east-2\n[profile one]\nregion = eu-west-1\n[profile two]\nregion = eu-north-1\n',
  );
  writeFileSync(credentials, ['default', 'one', 'two', 'regionless'].map(keys).join(''));
  vi.stubEnv('AWS_CONFIG_FILE', config);
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', credentials);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** Key id and region that a command would use, in an environment that has these variables and no others of AWS. */
async function found(
  options: { readonly profile?: string; readonly region?: string },
  variables: Partial<Record<Name, string>>,
): Promise<readonly [keyId: string, region: string]> {
  for (const name of NAMES) vi.stubEnv(name, variables[name]);
  const session = await openAwsSession(options, process.env);
  return [(await session.credentials()).accessKeyId, session.region];
}

describe('who calls AWS, and where', () => {
  it('are those of the default profile where nothing is named', async () => {
    expect(await found({}, {})).toEqual(['of-default', 'us-east-2']);
  });

  it('are those of --profile, whatever profile the environment names', async () => {
    expect(await found({ profile: 'two' }, { AWS_PROFILE: 'one' })).toEqual(['of-two', 'eu-north-1']);
    expect(await found({}, { AWS_PROFILE: 'one', AWS_DEFAULT_PROFILE: 'two' })).toEqual(['of-one', 'eu-west-1']);
    expect(await found({}, { AWS_DEFAULT_PROFILE: 'two' })).toEqual(['of-two', 'eu-north-1']);
  });

  it('takes keys of the environment before AWS_PROFILE, whose region stays, and after --profile', async () => {
    expect(await found({}, { ...KEYS, AWS_PROFILE: 'one' })).toEqual(['of-environment', 'eu-west-1']);
    expect(await found({ profile: 'two' }, { ...KEYS, AWS_PROFILE: 'one' })).toEqual(['of-two', 'eu-north-1']);
    expect(await found({}, KEYS)).toEqual(['of-environment', 'us-east-2']);
    expect(await found({}, { ...KEYS, AWS_ACCESS_KEY_ID: '', AWS_PROFILE: 'one' })).toEqual(['of-one', 'eu-west-1']);
  });

  it('refuses half of the keys rather than calling as somebody else', async () => {
    const half = found({}, { AWS_ACCESS_KEY_ID: 'of-environment', AWS_PROFILE: 'one' });
    await expect(half).rejects.toMatchObject({
      name: 'RemoteError',
      message: expect.stringContaining('AWS_SECRET_ACCESS_KEY is not') as unknown,
    });
  });

  it('takes --region, then AWS_REGION, then AWS_DEFAULT_REGION, then the region of the profile', async () => {
    const variables = { AWS_PROFILE: 'one', AWS_REGION: 'ap-south-1', AWS_DEFAULT_REGION: 'ap-east-1' };
    expect(await found({ region: 'us-west-2' }, variables)).toEqual(['of-one', 'us-west-2']);
    expect(await found({}, variables)).toEqual(['of-one', 'ap-south-1']);
    expect(await found({ profile: 'two' }, variables)).toEqual(['of-two', 'ap-south-1']);
    expect(await found({}, { ...variables, AWS_REGION: '' })).toEqual(['of-one', 'ap-east-1']);
  });

  it('asks for a region where a profile has none', async () => {
    await expect(found({ profile: 'regionless' }, {})).rejects.toMatchObject({
      name: 'RemoteError',
      message: expect.stringContaining('profile "regionless" has none') as unknown,
    });
  });
});
