import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';

/**
 * The S3 client of every adapter here: connections are kept, three attempts each, and no checksums but those that an
 * adapter gives, so that signed URLs carry no parameter their user did not ask for.
 */
export function createS3Client(config: S3ClientConfig = {}): S3Client {
  return new S3Client({
    retryMode: 'standard',
    maxAttempts: 3,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    ...config,
  });
}
