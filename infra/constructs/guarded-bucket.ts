import { RemovalPolicy } from 'aws-cdk-lib';
import * as s3 from 'aws-cdk-lib/aws-s3';

/** What holds for every bucket of ours: retained, versioned, over TLS only, never public, of one owner. */
export const GUARDED_BUCKET = {
  enforceSSL: true,
  minimumTLSVersion: 1.2,
  blockPublicAccess: s3.BlockPublicAccess.BLOCK_ALL,
  objectOwnership: s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
  versioned: true,
  removalPolicy: RemovalPolicy.RETAIN,
} as const satisfies s3.BucketProps;
