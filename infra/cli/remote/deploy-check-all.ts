import packageJson from '../../../package.json' with { type: 'json' };
import type { DeploymentOutputs } from '#contracts/deployment-outputs';
import type { AwsSession } from './aws-session.ts';
import { fail, pass, warn, type DeployCheck } from './deploy-check.ts';
import { costTagsCheck, identityCheck, quotaChecks, type Identity } from './deploy-check-account.ts';
import { apiChecks } from './deploy-check-api.ts';
import { imagesOfStage, UNKNOWN_IMAGES } from './deploy-check-images.ts';
import { keyChecks } from './deploy-check-keys.ts';
import { resourceChecks } from './deploy-check-resources.ts';
import { routeChecks } from './deploy-check-routes.ts';
import { settingsChecks, type CheckedSettings } from './deploy-check-settings.ts';
import { wantedHost, type HostOptions } from './host-options.ts';
import { openClient } from './open-client.ts';
import { RemoteError } from './remote-error.ts';

export interface DeployCheckOptions extends HostOptions {
  readonly settings?: string;
}

/** Looks at settings, account, deployment and API, as far as they are named and may be looked at. Changes nothing. */
export async function deployChecks(
  options: DeployCheckOptions,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly DeployCheck[]> {
  const settings = options.settings === undefined ? null : await settingsChecks(options.settings);
  const { host, stage } = wantedHost(options, env);
  const checks = settings?.checks ?? [];
  if (stage === undefined) {
    const offline = [...checks, ...(settings?.images ? [settings.images] : [])];
    return host === undefined ? offline : [...offline, ...(await hostChecks(options))];
  }
  const looked = await stageChecks(stage, options, { env, settings });
  const isSeen = (name: string): boolean => looked.some((each) => each.name === name);
  return [...checks.filter(({ name }) => !isSeen(name)), ...otherStage(settings, stage), ...looked];
}

function otherStage(settings: CheckedSettings | null, stage: string): readonly DeployCheck[] {
  if (settings === null || settings.stage === null || settings.stage === stage) return [];
  const found = `the settings are of stage ${settings.stage}, not ${stage}`;
  return [{ name: 'stage', ...fail(found, 'give the settings of the stage that is looked at') }];
}

interface Look {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: CheckedSettings | null;
}

async function stageChecks(
  stage: string,
  options: DeployCheckOptions,
  { env, settings }: Look,
): Promise<readonly DeployCheck[]> {
  const { openAwsSession } = await import('./aws-session.ts');
  const session = await openAwsSession(options, env);
  const { check, identity } = await identityCheck(session);
  if (identity === null) return [check, UNKNOWN_IMAGES];
  const account = [
    ...(settings?.network ? await routeChecks(settings.network, session) : []),
    ...(await quotaChecks(session, settings?.vCpuCap ?? null)),
    await costTagsCheck(session),
  ];
  const { outputs, check: found } = await outputsCheck(stage, { session, identity, settings });
  if (outputs === null) {
    const images = settings?.images ?? (await imagesOfStage(stage, session));
    return [check, found, images, ...account];
  }
  return [
    check,
    found,
    ...(await resourceChecks(outputs, session)),
    ...(await keyChecks(outputs.buckets, session)),
    await imagesOfStage(stage, session),
    ...account,
    ...(await hostChecks({ ...options, stage })),
  ];
}

async function outputsCheck(
  stage: string,
  {
    session,
    identity,
    settings,
  }: { readonly session: AwsSession; readonly identity: Identity; readonly settings: CheckedSettings | null },
): Promise<{ readonly outputs: DeploymentOutputs | null; readonly check: DeployCheck }> {
  const { outputsOfStage } = await import('./stage-outputs.ts');
  const name = 'deployment';
  try {
    const outputs = await outputsOfStage(stage, session);
    const { accountId, region, versions } = outputs;
    const isElsewhere = accountId !== identity.accountId || region !== session.region;
    if (isElsewhere)
      return {
        outputs,
        check: {
          name,
          ...fail(
            `its outputs are of account ${accountId}, ${region}`,
            'deploy the stage again, into this account and region',
          ),
        },
      };
    const found = `stage ${stage}, Exam Hall ${versions.examhall}, code ${versions.codeSha256.slice(0, 12)}`;
    if (versions.examhall === packageJson.version) return { outputs, check: { name, ...pass(found) } };
    return {
      outputs,
      check: {
        name,
        ...warn(
          `${found}; this command is ${packageJson.version}`,
          'deploy this version, or use the version that is deployed',
        ),
      },
    };
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    // Whoever brings settings may look at an account before the first deploy.
    if (settings?.stage === stage && error.kind === 'request') {
      const remedy = 'deploy it; if it was deployed before, correct --region and --profile';
      return { outputs: null, check: { name, ...warn(error.message, remedy) } };
    }
    return {
      outputs: null,
      check: { name, ...fail(error.message, 'deploy the stage, or correct --stage, --region and --profile') },
    };
  }
}

/** A host that cannot be asked is a finding too. */
async function hostChecks(options: HostOptions): Promise<readonly DeployCheck[]> {
  try {
    return await apiChecks(await openClient(options));
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return [{ name: 'api', ...fail(error.message, 'see above') }];
  }
}
