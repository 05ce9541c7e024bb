import { Duration } from 'aws-cdk-lib';
import * as s3 from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { GUARDED_BUCKET } from './guarded-bucket.ts';

/** Who read and wrote the data buckets. Encrypted by S3 itself: it delivers access logs to no bucket with a KMS key. */
export class AccessLogBucket extends s3.Bucket {
  constructor(scope: Construct, id: string, retentionDays: number) {
    super(scope, id, {
      ...GUARDED_BUCKET,
      encryption: s3.BucketEncryption.S3_MANAGED,
      lifecycleRules: [
        {
          id: 'expire',
          expiration: Duration.days(retentionDays),
          noncurrentVersionExpiration: Duration.days(1),
          abortIncompleteMultipartUploadAfter: Duration.days(1),
        },
      ],
    });
  }
}
