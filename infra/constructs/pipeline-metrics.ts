import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats, type IMetric } from 'aws-cdk-lib/aws-cloudwatch';

const FIVE_MINUTES = Duration.minutes(5);

interface Counted {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly period?: Duration;
}

export function counted({ namespace, name, dimensions, period = FIVE_MINUTES }: Counted): Metric {
  return new Metric({ namespace, metricName: name, dimensionsMap: { ...dimensions }, statistic: Stats.SUM, period });
}

/** Executions of machines that came to one of these ends. Units count under their map's label. */
export function executions(machineArns: readonly string[], ends: readonly string[]): IMetric {
  const metrics = machineArns.flatMap((arn) =>
    ends.map((name) => counted({ namespace: 'AWS/States', name, dimensions: { StateMachineArn: arn } })),
  );
  return sumOf(metrics, ends.join(' + '));
}

/** What has no value counts as none. */
export function sumOf(metrics: readonly IMetric[], label: string): IMetric {
  const using = Object.fromEntries(metrics.map((metric, index) => [`m${String(index)}`, metric]));
  const expression = Object.keys(using)
    .map((name) => `FILL(${name}, 0)`)
    .join(' + ');
  return new MathExpression({ expression, usingMetrics: using, label, period: FIVE_MINUTES });
}

export function ofFunction(functionName: string, name: string, minutes = 5): Metric {
  const dimensions = { FunctionName: functionName };
  return counted({ namespace: 'AWS/Lambda', name, dimensions, period: Duration.minutes(minutes) });
}

export function messagesIn(queueName: string): Metric {
  return new Metric({
    namespace: 'AWS/SQS',
    metricName: 'ApproximateNumberOfMessagesVisible',
    dimensionsMap: { QueueName: queueName },
    statistic: Stats.MAXIMUM,
    period: FIVE_MINUTES,
  });
}
