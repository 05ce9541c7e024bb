import { DescribeInstancesCommand, type EC2Client } from '@aws-sdk/client-ec2';
import { GUEST_PATHS } from '#core/boot-script';
import { objectKeys } from '#core/keys';
import type { PreflightFacts } from '#core/preflight-check';
import type { SandboxSettings } from '#core/sandbox-settings';
import type { SandboxEntry } from '#contracts/api-sandboxes';
import type { DeploymentOutputs } from '#contracts/deployment-outputs';
import type { ApiClient } from '#cli/remote/api-client';
import { allSandboxes } from '#cli/remote/list-sandboxes';
import { allPages } from '#cli/remote/pages';

interface Known {
  readonly sandbox: SandboxEntry;
  readonly os: 'linux' | 'windows';
  readonly privilege: PreflightFacts['privilege'];
  readonly outputs: DeploymentOutputs;
  readonly settings: SandboxSettings;
}

interface Askable {
  readonly client: Pick<ApiClient, 'baseUrl' | 'call'>;
  readonly ec2: EC2Client;
}

/** What every task token of Step Functions has near its beginning. */
const TOKEN_START = 'AAAAKgAAAA';

/** What can be known of a stage and a sandbox; what cannot be is null, and the checks that need it stay unknown. */
export async function preflightFacts(
  { sandbox, os, privilege, outputs, settings }: Known,
  { client, ec2 }: Askable,
): Promise<PreflightFacts> {
  const otherAttemptKey = await otherKey(sandbox, client);
  const siblings = (await allSandboxes(client)).filter(
    ({ provider, sandboxId, state }) => provider === 'aws' && sandboxId !== sandbox.sandboxId && state === 'ready',
  );
  const own = await addressesOf(sandbox.sandboxId, ec2);
  const sibling = siblings[0] === undefined ? null : await addressesOf(siblings[0].sandboxId, ec2);
  const { runner, runnerNode, keyFile, jobsDir } = GUEST_PATHS[os];
  return {
    region: outputs.region,
    stage: outputs.stage,
    privilege,
    ...{ node: runnerNode, runner, runnerKey: keyFile, jobs: jobsDir },
    artifacts: outputs.buckets.artifacts,
    references: outputs.buckets.references,
    table: outputs.tableName,
    runDocument: settings.documents.run,
    otherAttemptKey,
    changedLink: otherAttemptKey === null ? null : await changedLink(sandbox, otherAttemptKey, client),
    siblingAddress: sibling?.privateAddress ?? null,
    publicAddress: own.publicAddress,
    tokenStart: TOKEN_START,
    endpoint: null,
  };
}

async function addressesOf(sandboxId: string, ec2: EC2Client) {
  const { Reservations = [] } = await ec2.send(new DescribeInstancesCommand({ InstanceIds: [sandboxId] }));
  const instance = Reservations[0]?.Instances?.[0];
  return { privateAddress: instance?.PrivateIpAddress ?? null, publicAddress: instance?.PublicIpAddress ?? null };
}

/** Key of something that another unit of the sweep collected. */
async function otherKey({ sweepId, unitId }: SandboxEntry, client: Askable['client']): Promise<string | null> {
  if (sweepId === null) return null;
  const units = await allPages(client, async (query) => {
    return await client.call('listUnits', { params: { sweepId }, query });
  });
  const other = units.find((unit) => unit.unitId !== unitId && unit.attempts > 0);
  return other === undefined ? null : objectKeys.collectManifest(`${other.unitId}.1`);
}

/** A link to a file of the sandbox's own unit, led to what is somebody else's. */
async function changedLink({ unitId }: SandboxEntry, key: string, client: Askable['client']): Promise<string | null> {
  if (unitId === null) return null;
  const { attemptList } = await client.call('getUnit', { params: { unitId }, query: { limit: 1 } });
  const link = attemptList.flatMap(({ files }) => files)[0]?.url;
  if (link === undefined) return null;
  const url = new URL(link);
  url.pathname = `/${key}`;
  return url.href;
}
