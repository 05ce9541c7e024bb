import { Aws, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import {
  AccessLogFormat,
  AuthorizationType,
  CfnAccount,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  MethodLoggingLevel,
  Model,
  RequestValidator,
  RestApi,
  type MethodOptions,
} from 'aws-cdk-lib/aws-apigateway';
import { PolicyDocument, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { ParameterTier, StringParameter } from 'aws-cdk-lib/aws-ssm';
import type { Construct } from 'constructs';
import { API_ROUTES, type ApiFunction, type ApiRoute } from '#contracts/api-routes';
import { deploymentParameterName, type DeploymentOutputs } from '#contracts/deployment-outputs';
import { FUNCTIONS, functionNamed } from '#contracts/functions';
import type { StageSettings } from '../config/settings.ts';
import { gatewaySchema, queryNames } from '../constructs/gateway-schema.ts';
import { allow } from '../constructs/grants.ts';
import { addProblemResponses } from '../constructs/problem-responses.ts';
import { knownSandboxes } from '../constructs/sandbox-resources.ts';
import { StageFunction, type IsolatedNetwork } from '../constructs/stage-function.ts';
import { constructId, folderOf, type Deployable, type PipelineStack } from './pipeline-stack.ts';

export interface ApiStackProps extends StackProps {
  readonly settings: StageSettings;
  readonly pipeline: PipelineStack;
  readonly network: IsolatedNetwork;
  readonly deployable: Deployable;
  /** Of sandbox volumes. */
  readonly volumeKeyArn: string;
}

const API_STAGE = 'v1';
/** The gateway's own most. */
const ANSWER_SECONDS = 29;
/** As the managed policy for it has them: API Gateway refuses a role that lacks one. */
const ACCOUNT_LOG_ACTIONS = [
  'logs:CreateLogGroup',
  'logs:CreateLogStream',
  'logs:DescribeLogGroups',
  'logs:DescribeLogStreams',
  'logs:PutLogEvents',
  'logs:GetLogEvents',
  'logs:FilterLogEvents',
];

/** Who asked what and what came of it; no bodies, no queries. */
const ACCESS_LOG = AccessLogFormat.custom(
  JSON.stringify({
    requestId: '$context.requestId',
    at: '$context.requestTime',
    caller: '$context.identity.userArn',
    method: '$context.httpMethod',
    route: '$context.resourcePath',
    status: '$context.status',
    latencyMs: '$context.responseLatency',
    functionStatus: '$context.integration.integrationStatus',
    responseBytes: '$context.responseLength',
    refusal: '$context.error.responseType',
  }),
);

/** The API: every route of the table behind IAM, and the parameter by which the CLI finds the deployment. */
export class ApiStack extends Stack {
  readonly api: RestApi;
  readonly functions: ReadonlyMap<string, StageFunction>;
  readonly outputs: StringParameter;
  readonly #props: ApiStackProps;

  constructor(scope: Construct, id: string, props: ApiStackProps) {
    super(scope, id, props);
    this.#props = props;
    this.functions = this.#makeFunctions();
    this.api = this.#makeApi();
    addProblemResponses(this.api);
    this.#addRoutes();
    this.outputs = this.#writeOutputs();
  }

  #makeFunctions(): ReadonlyMap<string, StageFunction> {
    const { pipeline, network, settings, deployable, volumeKeyArn } = this.#props;
    // Launch templates change with each deploy of their stack, which may not while another one imports them.
    const resources = { ...pipeline.resources, sandboxes: knownSandboxes(this, { settings, volumeKeyArn }) };
    const names = FUNCTIONS.filter(({ trigger }) => trigger.kind === 'api').map(({ name }) => name);
    return new Map(
      names.map((name) => [
        name,
        new StageFunction(this, constructId(name), {
          declaration: functionNamed(name),
          folder: folderOf(name, deployable),
          resources,
          isolated: network,
          logRetentionDays: settings.logRetentionDays,
        }),
      ]),
    );
  }

  #makeApi(): RestApi {
    const { stage, api, logRetentionDays } = this.#props.settings;
    const account = this.#account();
    const accessLog = new LogGroup(this, 'AccessLog', {
      retention: logRetentionDays as RetentionDays,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    const made = new RestApi(this, 'Api', {
      restApiName: `examhall-${stage}`,
      description: 'Exam Hall: starts sweeps and tells what became of them',
      endpointTypes: [EndpointType.REGIONAL],
      cloudWatchRole: false,
      defaultMethodOptions: { authorizationType: AuthorizationType.IAM },
      deployOptions: {
        stageName: API_STAGE,
        accessLogDestination: new LogGroupLogDestination(accessLog),
        accessLogFormat: ACCESS_LOG,
        loggingLevel: MethodLoggingLevel.OFF,
        dataTraceEnabled: false,
        metricsEnabled: true,
        tracingEnabled: true,
        throttlingRateLimit: api.requestsPerSecond,
        throttlingBurstLimit: api.burst,
      },
    });
    made.deploymentStage.node.addDependency(account);
    return made;
  }

  /** One setting of account and region, which other APIs may rely on after this one is gone. */
  #account(): CfnAccount {
    const role = new Role(this, 'AccountRole', {
      description: 'Exam Hall: API Gateway writes access logs, of every API of this account and region',
      assumedBy: new ServicePrincipal('apigateway.amazonaws.com'),
      inlinePolicies: {
        logs: new PolicyDocument({ statements: [allow({ actions: ACCOUNT_LOG_ACTIONS, on: ['*'] })] }),
      },
    });
    role.applyRemovalPolicy(RemovalPolicy.RETAIN);
    const account = new CfnAccount(this, 'Account', { cloudWatchRoleArn: role.roleArn });
    account.applyRemovalPolicy(RemovalPolicy.RETAIN);
    return account;
  }

  #addRoutes(): void {
    const validator = new RequestValidator(this, 'Validator', {
      restApi: this.api,
      validateRequestBody: true,
      validateRequestParameters: true,
    });
    const integrations = new Map(
      [...this.functions].map(([name, { alias }]) => [
        name,
        new LambdaIntegration(alias, { scopePermissionToMethod: false, timeout: Duration.seconds(ANSWER_SECONDS) }),
      ]),
    );
    for (const route of API_ROUTES) {
      const integration = integrations.get(route.function satisfies ApiFunction);
      if (integration === undefined) throw new Error(`no function ${route.function} is declared for ${route.path}`);
      const resource = this.api.root.resourceForPath(route.path);
      resource.addMethod(route.method, integration, this.#methodOptions(route, validator));
    }
  }

  #methodOptions(route: ApiRoute, requestValidator: RequestValidator): MethodOptions {
    const parameters = [
      ...[...route.path.matchAll(/\{(\w+)\}/gu)].map(([, name]) => [`method.request.path.${String(name)}`, true]),
      ...queryNames(route.query).map((name) => [`method.request.querystring.${name}`, false]),
      ...(route.isIdempotent === true ? [['method.request.header.Idempotency-Key', false]] : []),
    ] as const;
    return {
      operationName: route.operationId,
      requestValidator,
      requestParameters: Object.fromEntries(parameters) as Record<string, boolean>,
      ...(route.body === null ? {} : { requestModels: { 'application/json': this.#model(route, route.body) } }),
    };
  }

  #model({ operationId, summary }: ApiRoute, body: NonNullable<ApiRoute['body']>): Model {
    return new Model(this, constructId(`${operationId}-body`), {
      restApi: this.api,
      contentType: 'application/json',
      description: summary,
      schema: gatewaySchema(body),
    });
  }

  #writeOutputs(): StringParameter {
    const { pipeline, settings, deployable } = this.#props;
    const { resources, machines } = pipeline;
    const host = `${this.api.restApiId}.execute-api.${Aws.REGION}.${Aws.URL_SUFFIX}`;
    const outputs: DeploymentOutputs = {
      version: 1,
      stage: settings.stage,
      region: Aws.REGION,
      accountId: Aws.ACCOUNT_ID,
      apiUrl: `https://${host}/${API_STAGE}`,
      tableName: resources.table.name,
      buckets: {
        artifacts: resources.buckets.artifacts.name,
        tasks: resources.buckets.tasks.name,
        references: resources.buckets.references.name,
      },
      eventBusName: resources.bus.name,
      scheduleGroupName: resources.schedules.groupName,
      machines: { sweep: machines.sweep.aliasArn, grade: machines.grade.aliasArn },
      versions: deployable.versions,
    };
    return new StringParameter(this, 'Outputs', {
      parameterName: deploymentParameterName(settings.stage),
      description: 'Exam Hall: where this deployment is and what it consists of',
      stringValue: this.toJsonString(outputs),
      tier: ParameterTier.STANDARD,
    });
  }
}
