import { Duration, RemovalPolicy, Size } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import {
  Effect,
  ManagedPolicy,
  Policy,
  PolicyDocument,
  PolicyStatement,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  Architecture,
  CfnEventInvokeConfig,
  Code,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
  type CfnFunction,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { FunctionDeclaration } from '#contracts/function-declaration';
import { variablesOf } from '#contracts/needs';
import { allow, policiesOf, statementsOf } from './grants.ts';
import { environmentOf, type HostResources } from './host-resources.ts';

/** Where functions run that hold no rights: graders with no way out but to signed URLs, calls with none but to guests. */
export interface IsolatedNetwork {
  readonly vpc: IVpc;
  readonly graderSubnets: SubnetSelection;
  readonly graderSecurityGroup: ISecurityGroup;
  readonly callSubnets: SubnetSelection;
  readonly callSecurityGroup: ISecurityGroup;
}

export interface StageFunctionProps {
  readonly declaration: FunctionDeclaration;
  /** Folder with the bundled `index.mjs`. */
  readonly folder: string;
  readonly resources: HostResources;
  readonly isolated: IsolatedNetwork;
  readonly logRetentionDays: number;
}

/** What everybody calls a function by. A state machine names a version instead. */
export const LIVE_ALIAS = 'live';
/** Metadata by which a template tells which declaration a function comes from. */
export const FUNCTION_METADATA = 'examhall:function';

/** As the managed policies of Lambda and X-Ray have it, without what those allow besides. */
const TRACING_ACTIONS = ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'];
const INTERFACE_ACTIONS = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
];
const LOG_ACTIONS = ['logs:CreateLogStream', 'logs:PutLogEvents'];
const ASYNC_RETRIES = 2;

/** Ports of a function that reads nothing of ours and changes nothing: it talks to strangers, or runs their code. */
const WITHOUT_RIGHTS: readonly string[] = ['modules', 'workspace', 'guestCalls'];

/** Where a function runs that holds no right of its own, or null for all others, which run in no network of ours. */
function placeOf({ needs }: FunctionDeclaration, network: IsolatedNetwork): VpcPlace | null {
  if (!needs.every(({ port }) => WITHOUT_RIGHTS.includes(port))) return null;
  const { vpc } = network;
  return needs.some(({ port }) => port === 'guestCalls')
    ? { vpc, vpcSubnets: network.callSubnets, securityGroups: [network.callSecurityGroup] }
    : { vpc, vpcSubnets: network.graderSubnets, securityGroups: [network.graderSecurityGroup] };
}

interface VpcPlace {
  readonly vpc: IVpc;
  readonly vpcSubnets: SubnetSelection;
  readonly securityGroups: ISecurityGroup[];
}

function isAsynchronous({ trigger }: FunctionDeclaration): boolean {
  return trigger.kind === 'event' || trigger.kind === 'schedule' || trigger.kind === 'timer';
}

/** A function made from its declaration: exactly its variables, exactly its rights, a version that outlives deploys. */
export class StageFunction extends Construct {
  readonly declaration: FunctionDeclaration;
  readonly function: LambdaFunction;
  readonly alias: Alias;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: StageFunctionProps) {
    super(scope, id);
    const { declaration, resources, isolated } = props;
    this.declaration = declaration;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: props.logRetentionDays as RetentionDays,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    const place = placeOf(declaration, isolated);
    const isIsolated = place !== null;
    const role = this.#role(resources, isIsolated);
    this.function = new LambdaFunction(this, 'Function', {
      description: `Exam Hall: ${declaration.name}`,
      code: Code.fromAsset(props.folder),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.X86_64,
      memorySize: declaration.memoryMiB,
      ephemeralStorageSize: Size.mebibytes(declaration.ephemeralStorageMiB),
      timeout: Duration.seconds(declaration.timeoutSeconds),
      environment: { ...environmentOf(variablesOf(declaration.needs), resources) },
      role: role.withoutPolicyUpdates(),
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.TEXT,
      tracing: isIsolated ? Tracing.DISABLED : Tracing.ACTIVE,
      currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN },
      ...(declaration.reservedConcurrency === undefined
        ? {}
        : { reservedConcurrentExecutions: declaration.reservedConcurrency }),
      ...place,
    });
    (this.function.node.defaultChild as CfnFunction).addMetadata(FUNCTION_METADATA, declaration.name);
    this.alias = new Alias(this, 'Live', { aliasName: LIVE_ALIAS, version: this.function.currentVersion });
    if (isIsolated) this.#denyCallsFromInside(role);
    if (isAsynchronous(declaration)) this.#setFailuresAside(resources);
  }

  /** ARN of this deploy's version: what is started under it stays under it. */
  get versionArn(): string {
    return this.function.currentVersion.functionArn;
  }

  #role(resources: HostResources, isIsolated: boolean): Role {
    const { declaration } = this;
    const own = [
      allow({ actions: LOG_ACTIONS, on: [this.logGroup.logGroupArn] }),
      isIsolated ? allow({ actions: INTERFACE_ACTIONS, on: ['*'] }) : allow({ actions: TRACING_ACTIONS, on: ['*'] }),
      ...(isAsynchronous(declaration)
        ? [allow({ actions: ['sqs:SendMessage'], on: [resources.setAsideQueueArn] })]
        : []),
    ];
    const granted = declaration.needs.flatMap((need) => statementsOf(need, resources));
    return new Role(this, 'Role', {
      description: `Exam Hall: what ${declaration.name} may do`,
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      inlinePolicies: { needs: new PolicyDocument({ statements: [...own, ...granted], minimize: true }) },
      managedPolicies: this.#policies(resources),
    });
  }

  /** Named by the role and not the other way round, so that the function waits for them. */
  #policies(resources: HostResources): ManagedPolicy[] {
    const { declaration } = this;
    return declaration.needs
      .flatMap((need) => Object.entries(policiesOf(need, resources)))
      .map(([name, statements]) => {
        const description = `Exam Hall: of what ${declaration.name} may do, what is too long to stand inside its role`;
        return new ManagedPolicy(this, name, {
          description,
          document: new PolicyDocument({ statements: [...statements] }),
        });
      });
  }

  /**
   * Lambda itself needs the role for interfaces and logs; the code inside gets neither. Lambda writes logs under the
   * function's own name too, so those two actions stay allowed.
   */
  #denyCallsFromInside(role: Role): void {
    const statement = new PolicyStatement({
      effect: Effect.DENY,
      notActions: [...LOG_ACTIONS],
      resources: ['*'],
      conditions: { ArnLike: { 'lambda:SourceFunctionArn': `${this.function.functionArn}*` } },
    });
    new Policy(this, 'NoCallsFromInside', { roles: [role], statements: [statement] });
  }

  #setFailuresAside(resources: HostResources): void {
    const config = new CfnEventInvokeConfig(this, 'SetAside', {
      functionName: this.function.functionName,
      qualifier: this.alias.aliasName,
      maximumRetryAttempts: ASYNC_RETRIES,
      destinationConfig: { onFailure: { destination: resources.setAsideQueueArn } },
    });
    config.node.addDependency(this.alias);
  }
}
