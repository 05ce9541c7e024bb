import path from 'node:path';
import type { StageSettings } from '../../config/settings.ts';
import { imagesOfSettings } from './deploy-check-images.ts';
import { fail, pass, unverified, warn, type DeployCheck } from './deploy-check.ts';

/** What settings say that can be compared with an account. */
export interface CheckedSettings {
  readonly checks: readonly DeployCheck[];
  readonly stage: string | null;
  readonly vCpuCap: number | null;
  /** What image families resolve to, for when no stage is looked at. */
  readonly images: DeployCheck | null;
  /** Null where the file cannot be used. */
  readonly network: StageSettings['network'] | null;
}

/** The offline part: a settings file as synthesis would judge it, with the routes of its network. */
export async function settingsChecks(file: string): Promise<CheckedSettings> {
  const { loadSettings } = await import('../../config/load-settings.ts');
  const settings = path.resolve(file);
  try {
    const { stage, network, policy, sandboxes } = loadSettings({ CDK_CONTEXT_JSON: JSON.stringify({ settings }) });
    const { caps } = policy;
    const vCpuCap = caps.vCpusByProvider['aws'] ?? null;
    return {
      stage,
      vCpuCap,
      network,
      images: imagesOfSettings(sandboxes),
      checks: [
        {
          name: 'settings',
          ...pass(`${file}: stage ${stage}, up to ${String(caps.sweepConcurrency)} units of a sweep at once`),
        },
        ...stageNameChecks(settings, stage),
        ...rolesChecks(policy.roles),
        routesCheck(network),
        capsCheck(vCpuCap),
      ],
    };
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'SettingsError') throw error;
    return {
      stage: null,
      vCpuCap: null,
      images: null,
      network: null,
      checks: [{ name: 'settings', ...fail(error.message, 'correct the file') }],
    };
  }
}

function capsCheck(vCpuCap: number | null): DeployCheck {
  const name = 'caps';
  if (vCpuCap !== null) return { name, ...pass(`at most ${String(vCpuCap)} vCPUs at once`) };
  const found = 'policy.caps.vCpusByProvider has no "aws": nothing but the quota bounds what runs at once';
  return { name, ...warn(found, 'set it, at most to the quota L-1216C47A') };
}

/** `-c stage=` finds a file of `stages` by its name, and refuses it when it says another. */
function stageNameChecks(file: string, stage: string): readonly DeployCheck[] {
  const name = path.basename(file, '.json');
  if (path.basename(path.dirname(file)) !== 'stages' || name === stage) return [];
  const found = `the file is called ${name}.json and says "stage": "${stage}"`;
  return [{ name: 'stage', ...warn(found, `say "stage": "${name}" in it, or deploy with -c settings=<file>`) }];
}

/** Where no role has a principal the API refuses everybody. */
function rolesChecks(roles: StageSettings['policy']['roles']): readonly DeployCheck[] {
  if (Object.values(roles).some((principals) => principals.length > 0)) return [];
  const found = `policy.roles is empty for ${Object.keys(roles).join(', ')}: the API would refuse every caller`;
  const remedy = 'name principals, as "admin": ["arn:aws:iam::<account>:role/<name>"]';
  return [{ name: 'roles', ...warn(found, remedy) }];
}

/** The routes of a VPC of ours are synthesised; what the settings say of another's, only its route tables can confirm. */
function routesCheck({ profiles, vpc }: StageSettings['network']): DeployCheck {
  const name = 'routes';
  const sandboxes = `sandboxes of ${profiles.join(', ')}`;
  if (vpc.kind === 'own')
    return { name, ...pass(`the VPC is synthesised with the routes that ${sandboxes} and graders need`) };
  const tables = [vpc.open, vpc.sealed, vpc.grader].flatMap(
    (some) => some?.subnets.map(({ routeTableId }) => routeTableId) ?? [],
  );
  const endpoints = `aws ec2 describe-vpc-endpoints --filters Name=vpc-id,Values=${vpc.vpcId}`;
  return {
    name,
    ...unverified(
      `the settings promise ${sandboxes} and graders the routes that they need; nobody looked into ${vpc.vpcId}`,
      `give --stage and credentials, or compare them: aws ec2 describe-route-tables --route-table-ids ${[...new Set(tables)].join(' ')}; ${endpoints}`,
    ),
  };
}
