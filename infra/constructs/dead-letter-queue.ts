import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';

/** The longest that SQS keeps a message: whoever comes back from a holiday still finds it. */
const KEPT_DAYS = 14;

/** A queue that nothing reads but people: a message in it is a fact to look into, and raises an alarm. */
export class DeadLetterQueue extends Construct {
  readonly queue: Queue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.queue = new Queue(this, 'Queue', {
      retentionPeriod: Duration.days(KEPT_DAYS),
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      removalPolicy: RemovalPolicy.DESTROY,
    });
  }
}
