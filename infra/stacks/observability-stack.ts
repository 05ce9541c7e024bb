import { Duration, Stack, type StackProps } from 'aws-cdk-lib';
import {
  Alarm,
  AlarmStatusWidget,
  ComparisonOperator,
  Dashboard,
  GraphWidget,
  TreatMissingData,
  type IMetric,
  type Metric,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { FilterPattern, MetricFilter, QueryDefinition, QueryString } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import type { StageSettings } from '../config/settings.ts';
import { ALARM_KINDS, EVENT_ALARMS, SILENCE_ALARMS, type AlarmKind } from '../constructs/alarm-kinds.ts';
import { alarmTopic } from '../constructs/alarm-topic.ts';
import { LOG_QUERIES, queryText, TIMELINE_QUERY } from '../constructs/log-queries.ts';
import { counted, executions, messagesIn, ofFunction, sumOf } from '../constructs/pipeline-metrics.ts';
import type { StageFunction } from '../constructs/stage-function.ts';
import type { ApiStack } from './api-stack.ts';
import type { DataStack } from './data-stack.ts';
import { constructId, type PipelineStack } from './pipeline-stack.ts';

export interface ObservabilityStackProps extends StackProps {
  readonly settings: StageSettings;
  readonly data: Pick<DataStack, 'table'>;
  readonly pipeline: PipelineStack;
  readonly api: ApiStack;
}

interface Watched {
  readonly metric: IMetric;
  /** Raised at this or more, in one period unless told. */
  readonly atLeast?: number;
  readonly periods?: number;
  /** Raised when there was nothing at all. */
  readonly whenNone?: true;
}

const MAP_LABEL = 'RunUnits';
const ERRORS_IN_FIVE_MINUTES = 5;
const THROTTLES_IN_FIVE_MINUTES = 10;
const THROTTLED_PERIODS = 3;

/** What people look at and what wakes them: alarms with their headings in RUNBOOK.md, a dashboard, saved queries. */
export class ObservabilityStack extends Stack {
  readonly alarms: Alarm[] = [];
  readonly #props: ObservabilityStackProps;
  readonly #topic: ITopic | null;
  readonly #functions: ReadonlyMap<string, StageFunction>;

  constructor(scope: Construct, id: string, props: ObservabilityStackProps) {
    super(scope, id, props);
    this.#props = props;
    this.#topic = alarmTopic(this, props.settings.alarms);
    this.#functions = new Map([...props.pipeline.functions, ...props.api.functions]);
    this.#watchExecutions();
    this.#watchFunctions();
    this.#watchEvents();
    this.#watchServices();
    this.#addQueries();
    this.#addDashboard();
  }

  /** Alarms are named after their heading; one of a function adds its name. */
  #alarm(kind: AlarmKind, { metric, atLeast = 1, periods = 1, whenNone }: Watched, name?: string): void {
    const heading = ALARM_KINDS[kind];
    const anchor = heading.toLowerCase().replaceAll(' ', '-');
    const alarm = new Alarm(this, `${constructId(anchor)}${name === undefined ? '' : constructId(name)}`, {
      alarmName: `examhall-${this.#props.settings.stage} ${heading}${name === undefined ? '' : `: ${name}`}`,
      alarmDescription: `What it means and what to do: infra/RUNBOOK.md#${anchor}`,
      metric,
      threshold: atLeast,
      evaluationPeriods: periods,
      comparisonOperator:
        whenNone === true
          ? ComparisonOperator.LESS_THAN_THRESHOLD
          : ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      treatMissingData: whenNone === true ? TreatMissingData.BREACHING : TreatMissingData.NOT_BREACHING,
    });
    if (this.#topic !== null) alarm.addAlarmAction(new SnsAction(this.#topic));
    this.alarms.push(alarm);
  }

  get #machineArns(): readonly string[] {
    const { sweep, grade } = this.#props.pipeline.machines;
    return [sweep.arn, `${sweep.arn}/${MAP_LABEL}`, grade.arn];
  }

  #watchExecutions(): void {
    this.#alarm('executionsFailed', { metric: executions(this.#machineArns, ['ExecutionsFailed']) });
    this.#alarm('executionsStopped', {
      metric: executions(this.#machineArns, ['ExecutionsTimedOut', 'ExecutionsAborted']),
    });
  }

  /** Functions of which one runs at a time queue by design: their silence is watched instead of their throttles. */
  #watchFunctions(): void {
    for (const [
      name,
      {
        function: { functionName },
        declaration,
      },
    ] of this.#functions) {
      this.#alarm(
        'functionErrors',
        { metric: ofFunction(functionName, 'Errors'), atLeast: ERRORS_IN_FIVE_MINUTES },
        name,
      );
      if (declaration.reservedConcurrency === 1) continue;
      const metric = ofFunction(functionName, 'Throttles');
      this.#alarm(
        'functionThrottles',
        { metric, atLeast: THROTTLES_IN_FIVE_MINUTES, periods: THROTTLED_PERIODS },
        name,
      );
    }
    for (const { kind, name, minutes } of SILENCE_ALARMS) {
      const { functionName } = this.#functionNamed(name).function;
      this.#alarm(kind, { metric: ofFunction(functionName, 'Invocations', minutes), whenNone: true });
    }
  }

  #watchEvents(): void {
    for (const { kind, event, functions, perHour } of EVENT_ALARMS) {
      this.#alarm(kind, { metric: this.#lines(event, functions), atLeast: perHour });
    }
  }

  /** Counts lines of the log by their event, and nothing else of them. */
  #lines(event: string, functions: readonly string[]): Metric {
    const metricNamespace = `ExamHall/${this.#props.settings.stage}`;
    for (const name of functions) {
      new MetricFilter(this, constructId(`${name}-${event.replaceAll('.', '-')}`), {
        logGroup: this.#functionNamed(name).logGroup,
        filterPattern: FilterPattern.stringValue('$.event', '=', event),
        metricNamespace,
        metricName: event,
        metricValue: '1',
      });
    }
    return counted({ namespace: metricNamespace, name: event, dimensions: {}, period: Duration.hours(1) });
  }

  #watchServices(): void {
    const { pipeline, data, api } = this.#props;
    this.#alarm('undelivered', { metric: messagesIn(pipeline.undelivered.queue.queueName) });
    this.#alarm('setAside', { metric: messagesIn(pipeline.setAside.queue.queueName) });
    const schedules = { ScheduleGroup: pipeline.resources.schedules.groupName };
    const dropped = { namespace: 'AWS/Scheduler', name: 'InvocationDroppedCount', dimensions: schedules };
    this.#alarm('expiryDropped', { metric: counted(dropped) });
    this.#alarm('apiFailing', { metric: this.#ofApi('5XXError', api) });
    const table = { TableName: data.table.tableName };
    const throttled = ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) =>
      counted({ namespace: 'AWS/DynamoDB', name, dimensions: table }),
    );
    this.#alarm('tableThrottled', { metric: sumOf(throttled, 'throttled requests') });
  }

  #ofApi(name: string, { api }: ApiStack): Metric {
    const dimensions = { ApiName: api.restApiName, Stage: api.deploymentStage.stageName };
    return counted({ namespace: 'AWS/ApiGateway', name, dimensions });
  }

  #functionNamed(name: string): StageFunction {
    const found = this.#functions.get(name);
    if (found === undefined) throw new Error(`an alarm watches ${name}, which is not deployed`);
    return found;
  }

  #addQueries(): void {
    const logGroups = [...this.#functions.values()].map(({ logGroup }) => logGroup);
    const folder = `ExamHall/${this.#props.settings.stage}`;
    const queries = [
      ...LOG_QUERIES.map((query) => ({ name: query.name, text: queryText(query) })),
      { name: 'Timeline of one unit', text: TIMELINE_QUERY },
    ];
    for (const { name, text } of queries) {
      new QueryDefinition(this, constructId(`query-${name.toLowerCase().replaceAll(/[ ,]+/gu, '-')}`), {
        queryDefinitionName: `${folder}/${name}`,
        queryString: new WrittenQuery(text),
        logGroups,
      });
    }
  }

  #addDashboard(): void {
    const { pipeline, api, settings, data } = this.#props;
    const names = [...this.#functions].map(([name, stage]) => ({ name, functionName: stage.function.functionName }));
    const graph = (title: string, left: readonly IMetric[]): GraphWidget =>
      new GraphWidget({ title, left: [...left], width: 12, height: 6 });
    const each = (metric: string): Metric[] =>
      names.map(({ name, functionName }) => ofFunction(functionName, metric).with({ label: name }));
    const ends = [
      'ExecutionsStarted',
      'ExecutionsSucceeded',
      'ExecutionsFailed',
      'ExecutionsTimedOut',
      'ExecutionsAborted',
    ];
    const [sweepArn = '', unitArn = ''] = this.#machineArns;
    const of = (arn: string): Metric[] =>
      ends.map((name) => counted({ namespace: 'AWS/States', name, dimensions: { StateMachineArn: arn } }));
    const table = { TableName: data.table.tableName };
    const capacity = (name: string): Metric => counted({ namespace: 'AWS/DynamoDB', name, dimensions: table });
    new Dashboard(this, 'Dashboard', { dashboardName: `examhall-${settings.stage}` }).addWidgets(
      new AlarmStatusWidget({ title: 'Alarms', alarms: this.alarms, width: 24, height: 6 }),
      graph('Sweeps', of(sweepArn)),
      graph('Units', of(unitArn)),
      graph('Function errors', each('Errors')),
      graph('Function throttles', each('Throttles')),
      graph(
        'API',
        ['Count', '4XXError', '5XXError'].map((name) => this.#ofApi(name, api)),
      ),
      graph('Set aside and undelivered', [
        messagesIn(pipeline.setAside.queue.queueName),
        messagesIn(pipeline.undelivered.queue.queueName),
      ]),
      graph('Table', [capacity('ConsumedReadCapacityUnits'), capacity('ConsumedWriteCapacityUnits')]),
    );
  }
}

/** Text in the language of Logs Insights, taken as it is written. */
class WrittenQuery extends QueryString {
  readonly #text: string;

  constructor(text: string) {
    super();
    this.#text = text;
  }

  override toString(): string {
    return this.#text;
  }
}
