import { ArnFormat, Aws, Fn, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Policy, PolicyDocument, Role, ServicePrincipal, type PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { CfnStateMachine, CfnStateMachineAlias, CfnStateMachineVersion } from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { BUCKET_PLACEHOLDER, placeholders } from '#core/splice';
import { allow } from './grants.ts';
import type { BucketResource } from './host-resources.ts';
import { LIVE_ALIAS, type StageFunction } from './stage-function.ts';

export interface AslStateMachineProps {
  readonly name: string;
  /** Parsed ASL with `${Name}` placeholders: each a state's function, or `ArtifactsBucket`. */
  readonly definition: Readonly<Record<string, unknown>>;
  /** By the name of their state. */
  readonly functions: ReadonlyMap<string, StageFunction>;
  /** Bucket of plans and map results, and what of it is read and written; for a machine with a distributed map. */
  readonly map?: { readonly bucket: BucketResource; readonly keyPrefix: string; readonly label: string };
  readonly logRetentionDays: number;
}

const DELIVERY_ACTIONS = [
  'logs:CreateLogDelivery',
  'logs:GetLogDelivery',
  'logs:UpdateLogDelivery',
  'logs:DeleteLogDelivery',
  'logs:ListLogDeliveries',
  'logs:PutResourcePolicy',
  'logs:DescribeResourcePolicies',
  'logs:DescribeLogGroups',
];
const TRACING_ACTIONS = [
  'xray:PutTraceSegments',
  'xray:PutTelemetryRecords',
  'xray:GetSamplingRules',
  'xray:GetSamplingTargets',
];

/**
 * A machine from its ASL. The definition stays in the template; one map of placeholders makes its substitutions and its
 * rights. Every deploy is a version of its own that stays, and executions start by the alias, so what runs goes on unchanged.
 */
export class AslStateMachine extends Construct {
  readonly name: string;
  readonly machine: CfnStateMachine;
  readonly logGroup: LogGroup;
  /** The only name by which executions are started. */
  readonly aliasArn: string;

  constructor(scope: Construct, id: string, props: AslStateMachineProps) {
    super(scope, id);
    this.name = props.name;
    this.logGroup = this.#logGroup(props);
    const called = placeholders(props.definition).filter((name) => name !== BUCKET_PLACEHOLDER);
    const role = this.#role(called, props);
    this.machine = new CfnStateMachine(this, 'Machine', {
      roleArn: role.roleArn,
      stateMachineType: 'STANDARD',
      definitionString: JSON.stringify(props.definition),
      definitionSubstitutions: Object.fromEntries(
        placeholders(props.definition).map((name) => [name, valueOf(name, props)]),
      ),
      loggingConfiguration: {
        level: 'ALL',
        includeExecutionData: false,
        destinations: [{ cloudWatchLogsLogGroup: { logGroupArn: this.logGroup.logGroupArn } }],
      },
      tracingConfiguration: { enabled: true },
    });
    this.machine.node.addDependency(role);
    if (props.map !== undefined) this.#allowChildren(role, props.map.label);
    this.aliasArn = this.#publish();
  }

  get arn(): string {
    return this.machine.attrArn;
  }

  /** Executions of the machine itself; those of a map's children are named otherwise. */
  get executionArns(): string {
    return this.#executionArn(`${this.machine.attrName}:*`);
  }

  #executionArn(resourceName: string): string {
    const arnFormat = ArnFormat.COLON_RESOURCE_NAME;
    return Stack.of(this).formatArn({ service: 'states', resource: 'execution', resourceName, arnFormat });
  }

  /** Groups of this prefix need no policy of their own. A stack made again finds no name taken. */
  #logGroup({ name, logRetentionDays }: AslStateMachineProps): LogGroup {
    const unique = Fn.select(4, Fn.split('-', Fn.select(2, Fn.split('/', Aws.STACK_ID))));
    return new LogGroup(this, 'Logs', {
      logGroupName: `/aws/vendedlogs/states/${Stack.of(this).stackName}-${name}-${unique}`,
      retention: logRetentionDays as RetentionDays,
      removalPolicy: RemovalPolicy.RETAIN,
    });
  }

  /** Every version of a function: what was deployed before a change still runs on the version it started with. */
  #role(called: readonly string[], props: AslStateMachineProps): Role {
    const functionArns = called.map((state) => `${functionOf(state, props).function.functionArn}:*`);
    const statements = [
      allow({ actions: ['lambda:InvokeFunction'], on: functionArns }),
      allow({ actions: DELIVERY_ACTIONS, on: ['*'] }),
      allow({ actions: TRACING_ACTIONS, on: ['*'] }),
      ...(props.map === undefined ? [] : mapObjects(props.map)),
    ];
    return new Role(this, 'Role', {
      description: `Exam Hall: what the ${props.name} machine may do`,
      assumedBy: new ServicePrincipal('states.amazonaws.com', {
        conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
      }),
      inlinePolicies: { states: new PolicyDocument({ statements }) },
    });
  }

  /** A distributed map starts its children as executions of the machine itself. */
  #allowChildren(role: Role, label: string): void {
    const { attrArn, attrName } = this.machine;
    new Policy(this, 'Children', {
      roles: [role],
      statements: [
        allow({ actions: ['states:StartExecution'], on: [attrArn] }),
        allow({
          actions: ['states:DescribeExecution', 'states:StopExecution'],
          on: [this.executionArns, this.#executionArn(`${attrName}/${label}:*`)],
        }),
        allow({ actions: ['states:RedriveExecution'], on: [this.#executionArn(`${attrName}/${label}:*`)] }),
      ],
    });
  }

  #publish(): string {
    const version = new CfnStateMachineVersion(this, 'Version', {
      stateMachineArn: this.arn,
      stateMachineRevisionId: this.machine.attrStateMachineRevisionId,
    });
    version.applyRemovalPolicy(RemovalPolicy.RETAIN);
    const alias = new CfnStateMachineAlias(this, 'Live', {
      name: LIVE_ALIAS,
      deploymentPreference: { type: 'ALL_AT_ONCE', stateMachineVersionArn: version.attrArn },
    });
    return alias.attrArn;
  }
}

function functionOf(state: string, { functions, name }: AslStateMachineProps): StageFunction {
  const found = functions.get(state);
  if (found !== undefined) return found;
  throw new Error(
    `the ${name} machine calls ${state}, for which no function is declared; known: ${[...functions.keys()].join(', ')}`,
  );
}

function valueOf(name: string, props: AslStateMachineProps): string {
  if (name !== BUCKET_PLACEHOLDER) return functionOf(name, props).versionArn;
  if (props.map === undefined) throw new Error(`the ${props.name} machine reads a bucket, and none is given to it`);
  return props.map.bucket.name;
}

function mapObjects({ bucket, keyPrefix }: NonNullable<AslStateMachineProps['map']>): readonly PolicyStatement[] {
  return [
    allow({
      actions: ['s3:GetObject', 's3:PutObject', 's3:ListMultipartUploadParts', 's3:AbortMultipartUpload'],
      on: [`${bucket.arn}/${keyPrefix}*`],
    }),
    allow({ actions: ['kms:Decrypt', 'kms:GenerateDataKey'], on: [bucket.keyArn] }),
  ];
}
