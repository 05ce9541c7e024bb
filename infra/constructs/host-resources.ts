import type { VariableName } from '#contracts/variables';
import type { LaunchRuleProps } from './launch-rule.ts';

export type BucketName = 'artifacts' | 'tasks' | 'references';

export interface BucketResource {
  readonly name: string;
  readonly arn: string;
  /** Of the key its objects are encrypted with. */
  readonly keyArn: string;
}

export interface MachineResource {
  /** The only way in which executions start. */
  readonly aliasArn: string;
  /** ARN that covers every execution started so, and no other. */
  readonly executionArns: string;
}

/** What sandboxes on EC2 are launched with and driven by. */
export interface SandboxResources {
  readonly stage: string;
  /** `SandboxSettings` as JSON. */
  readonly settingsJson: string;
  /** Names of our SSM documents. */
  readonly documentNames: readonly string[];
  /** Absent where nothing is launched. */
  readonly launch?: Omit<LaunchRuleProps, 'imageTag'>;
}

/** What functions of one deployment may be pointed at. Parts that are made later than some functions may be absent. */
export interface HostResources {
  readonly table: { readonly name: string; readonly arn: string };
  readonly buckets: Readonly<Record<BucketName, BucketResource>>;
  readonly bus: { readonly name: string; readonly arn: string };
  readonly schedules: {
    readonly groupName: string;
    /** ARN that covers every schedule of the group and no other. */
    readonly scheduleArns: string;
    readonly roleArn?: string;
    readonly expireAliasArn?: string;
  };
  readonly machines: Readonly<Partial<Record<'sweep' | 'grade', MachineResource>>>;
  readonly sandboxes?: SandboxResources;
  /** The function that talks to guests inside the network. */
  readonly callGuestAliasArn?: string;
  /** `address:port` of static machines that it may reach. */
  readonly staticHosts: readonly string[];
  /** `DeploymentPolicy` as JSON. */
  readonly policyJson: string;
  readonly codeSha256: string;
  /** Where asynchronous invocations end that failed for good. */
  readonly setAsideQueueArn: string;
}

/** Value of each variable; where the resource is not made yet, undefined. */
const VALUES: Readonly<Record<VariableName, (resources: HostResources) => string | undefined>> = {
  EXAMHALL_TABLE: ({ table }) => table.name,
  EXAMHALL_ARTIFACTS_BUCKET: ({ buckets }) => buckets.artifacts.name,
  EXAMHALL_TASKS_BUCKET: ({ buckets }) => buckets.tasks.name,
  EXAMHALL_REFERENCES_BUCKET: ({ buckets }) => buckets.references.name,
  EXAMHALL_EVENT_BUS: ({ bus }) => bus.name,
  EXAMHALL_SCHEDULE_GROUP: ({ schedules }) => schedules.groupName,
  EXAMHALL_EXPIRE_FUNCTION_ARN: ({ schedules }) => schedules.expireAliasArn,
  EXAMHALL_SCHEDULE_ROLE_ARN: ({ schedules }) => schedules.roleArn,
  EXAMHALL_SWEEP_MACHINE_ARN: ({ machines }) => machines.sweep?.aliasArn,
  EXAMHALL_GRADE_MACHINE_ARN: ({ machines }) => machines.grade?.aliasArn,
  EXAMHALL_POLICY: ({ policyJson }) => policyJson,
  EXAMHALL_SANDBOXES: ({ sandboxes }) => sandboxes?.settingsJson,
  EXAMHALL_CALL_GUEST_FUNCTION_ARN: ({ callGuestAliasArn }) => callGuestAliasArn,
  EXAMHALL_STATIC_HOSTS: ({ staticHosts }) => JSON.stringify(staticHosts),
  EXAMHALL_CODE_SHA256: ({ codeSha256 }) => codeSha256,
};

/** @throws Error for a variable whose resource is made later than the function that needs it. */
export function environmentOf(
  names: readonly VariableName[],
  resources: HostResources,
): Readonly<Record<string, string>> {
  const valueOf = (name: VariableName): string => made(VALUES[name](resources), name);
  return Object.fromEntries(names.map((name) => [name, valueOf(name)]));
}

/** @throws Error naming what is not made yet. */
export function made<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`${what} is needed before it is made; make its resource first`);
  return value;
}
