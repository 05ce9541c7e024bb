import { RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import * as kms from 'aws-cdk-lib/aws-kms';
import type * as s3 from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import type { StageSettings } from '../config/settings.ts';
import { AccessLogBucket } from '../constructs/access-log-bucket.ts';
import { DataBucket } from '../constructs/data-bucket.ts';

export type BucketName = 'artifacts' | 'tasks' | 'references';

export interface DataStackProps extends StackProps {
  readonly settings: StageSettings;
}

/** What outlives a deployment: rows, objects and the keys they are encrypted with. Deleting the stack deletes none of it. */
export class DataStack extends Stack {
  readonly table: dynamodb.Table;
  readonly buckets: Readonly<Record<BucketName, s3.Bucket>>;
  readonly keys: Readonly<Record<BucketName, kms.IKey>>;
  /** Of sandbox volumes. */
  readonly volumeKey: kms.IKey;

  constructor(scope: Construct, id: string, { settings, ...props }: DataStackProps) {
    super(scope, id, { ...props, terminationProtection: true });
    this.table = new dynamodb.Table(this, 'Table', {
      partitionKey: { name: 'pk', type: dynamodb.AttributeType.STRING },
      sortKey: { name: 'sk', type: dynamodb.AttributeType.STRING },
      billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
      encryption: dynamodb.TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: true,
      removalPolicy: RemovalPolicy.RETAIN,
    });
    const key = (name: string, description: string, arn: string | null): kms.IKey =>
      arn === null
        ? new kms.Key(this, name, { description, enableKeyRotation: true, removalPolicy: RemovalPolicy.RETAIN })
        : kms.Key.fromKeyArn(this, name, arn);
    const { keys, stage } = settings;
    this.keys = {
      artifacts: key('ArtifactsKey', `Exam Hall ${stage}: records of runs`, keys.artifacts),
      tasks: key('TasksKey', `Exam Hall ${stage}: published tasks and agents`, keys.tasks),
      references: key('ReferencesKey', `Exam Hall ${stage}: hidden references`, keys.references),
    };
    this.volumeKey = key('VolumesKey', `Exam Hall ${stage}: volumes of sandboxes`, keys.volumes);
    const accessLogs = new AccessLogBucket(this, 'AccessLogs', settings.logRetentionDays);
    const bucket = (name: string, of: BucketName): s3.Bucket =>
      new DataBucket(this, name, { key: this.keys[of], accessLogs });
    this.buckets = {
      artifacts: bucket('Artifacts', 'artifacts'),
      tasks: bucket('Tasks', 'tasks'),
      references: bucket('References', 'references'),
    };
  }
}
