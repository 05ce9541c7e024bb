import { clientOptions, type AwsSession } from './aws-session.ts';
import { checked, fail, pass, unverified, warn, type DeployCheck } from './deploy-check.ts';
import { FUNCTIONS } from '#contracts/functions';

/** Lambda keeps so many executions for functions without reserved ones. */
const UNRESERVED_EXECUTIONS = 100;
const LAMBDA_EXECUTIONS = { service: 'lambda', code: 'L-B99A9384', what: 'concurrent executions of Lambda' } as const;
const STANDARD_VCPUS = {
  service: 'ec2',
  code: 'L-1216C47A',
  what: 'vCPUs of running On-Demand Standard instances',
} as const;
/** Cost Explorer has one endpoint for all regions. */
const COSTS_REGION = 'us-east-1';

export type Identity = { readonly arn: string; readonly accountId: string };

/** Whoever calls; null when AWS does not take the credentials. */
export async function identityCheck(
  session: AwsSession,
): Promise<{ readonly check: DeployCheck; readonly identity: Identity | null }> {
  const { GetCallerIdentityCommand, STSClient } = await import('@aws-sdk/client-sts');
  const client = new STSClient(clientOptions(session));
  try {
    const { Account, Arn } = await client.send(new GetCallerIdentityCommand({}));
    const identity = { arn: Arn ?? '', accountId: Account ?? '' };
    return { identity, check: { name: 'identity', ...pass(`${identity.arn} in ${session.region}`) } };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      identity: null,
      check: { name: 'identity', ...fail(message, 'log in, or name another profile by --profile') },
    };
  } finally {
    client.destroy();
  }
}

/** `vCpuCap` is what the settings let run at once; null where they are not at hand or set none. */
export async function quotaChecks(session: AwsSession, vCpuCap: number | null): Promise<readonly DeployCheck[]> {
  const reserved = FUNCTIONS.reduce((sum, { reservedConcurrency = 0 }) => sum + reservedConcurrency, 0);
  const executions = await quotaCheck(
    session,
    LAMBDA_EXECUTIONS,
    reserved + UNRESERVED_EXECUTIONS,
    `${String(reserved)} are reserved by functions`,
  );
  const told =
    vCpuCap === null ? 'no cap is known; give --settings' : `the settings let sandboxes use ${String(vCpuCap)}`;
  return [executions, await quotaCheck(session, STANDARD_VCPUS, vCpuCap, told)];
}

type Quota = { readonly service: string; readonly code: string; readonly what: string };

async function quotaCheck(
  session: AwsSession,
  quota: Quota,
  needed: number | null,
  told: string,
): Promise<DeployCheck> {
  return await checked(`quota ${quota.code}`, 'servicequotas:GetServiceQuota', async () => {
    const value = await quotaValue(session, quota);
    if (value === null)
      return unverified(`Service Quotas has no value for ${quota.what}`, 'look at the console of Service Quotas');
    const found = `${String(value)} ${quota.what}; ${told}`;
    if (needed === null) return unverified(found, 'give --settings <file>, whose caps can be compared');
    if (value >= needed) return pass(found);
    return fail(
      found,
      `ask for at least ${String(needed)}: aws service-quotas request-service-quota-increase --service-code ${quota.service} --quota-code ${quota.code} --desired-value ${String(needed)}`,
    );
  });
}

/** The value applied to this account, else AWS's default. */
async function quotaValue(session: AwsSession, { service, code }: Quota): Promise<number | null> {
  const { GetAWSDefaultServiceQuotaCommand, GetServiceQuotaCommand, ServiceQuotasClient } =
    await import('@aws-sdk/client-service-quotas');
  const client = new ServiceQuotasClient(clientOptions(session));
  const input = { ServiceCode: service, QuotaCode: code };
  try {
    const { Quota: applied } = await client.send(new GetServiceQuotaCommand(input));
    return applied?.Value ?? null;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'NoSuchResourceException') throw error;
    const { Quota: general } = await client.send(new GetAWSDefaultServiceQuotaCommand(input));
    return general?.Value ?? null;
  } finally {
    client.destroy();
  }
}

/** Only an activated key appears in bills; a key can be activated a day after its first use. */
export async function costTagsCheck(session: AwsSession): Promise<DeployCheck> {
  const { FINANCE_TAGS } = await import('../../constructs/sandbox-tags.ts');
  const right =
    'ce:ListCostAllocationTags; in an organisation the management account alone may, so ask finance to look there (Billing, Cost allocation tags)';
  return await checked('cost tags', right, async () => {
    const active = await activeTags(session, FINANCE_TAGS);
    const missing = FINANCE_TAGS.filter((key) => !active.includes(key));
    if (missing.length === 0) return pass(`active: ${FINANCE_TAGS.join(', ')}`);
    return warn(
      `not active: ${missing.join(', ')}; what these tags mark is in no bill under them`,
      'activate them in the management account (Billing, Cost allocation tags); a key appears there within a day of its first use, and in bills a day after it was activated',
    );
  });
}

async function activeTags(session: AwsSession, keys: readonly string[]): Promise<readonly string[]> {
  const { CostExplorerClient, ListCostAllocationTagsCommand } = await import('@aws-sdk/client-cost-explorer');
  const client = new CostExplorerClient({ ...clientOptions(session), region: COSTS_REGION });
  try {
    const { CostAllocationTags = [] } = await client.send(
      new ListCostAllocationTagsCommand({ Status: 'Active', TagKeys: [...keys], MaxResults: 100 }),
    );
    return CostAllocationTags.flatMap(({ TagKey }) => TagKey ?? []);
  } finally {
    client.destroy();
  }
}
