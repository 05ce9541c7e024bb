import { Duration } from 'aws-cdk-lib';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as s3 from 'aws-cdk-lib/aws-s3';
import type { Construct } from 'constructs';
import { GUARDED_BUCKET } from './guarded-bucket.ts';

/** Versions that something newer replaced are kept this long. */
const REPLACED_VERSION_DAYS = 30;
const ABANDONED_UPLOAD_DAYS = 7;

export interface DataBucketProps {
  readonly key: kms.IKey;
  readonly accessLogs: s3.IBucket;
}

/** A bucket for what must not be lost or seen: retained, versioned, encrypted with its key, over TLS only, never public. */
export class DataBucket extends s3.Bucket {
  constructor(scope: Construct, id: string, { key, accessLogs }: DataBucketProps) {
    super(scope, id, {
      ...GUARDED_BUCKET,
      encryption: s3.BucketEncryption.KMS,
      encryptionKey: key,
      bucketKeyEnabled: true,
      serverAccessLogsBucket: accessLogs,
      serverAccessLogsPrefix: `${id.toLowerCase()}/`,
      lifecycleRules: [
        {
          id: 'clean-up',
          abortIncompleteMultipartUploadAfter: Duration.days(ABANDONED_UPLOAD_DAYS),
          noncurrentVersionExpiration: Duration.days(REPLACED_VERSION_DAYS),
          expiredObjectDeleteMarker: true,
        },
      ],
    });
  }
}
