/** CDK behaviour that this app is written for; in the app rather than in cdk.json, so that tests and command line synthesise alike. */
export const FEATURE_FLAGS: Readonly<Record<string, boolean | string>> = {
  '@aws-cdk/aws-apigateway:authorizerChangeDeploymentLogicalId': true,
  '@aws-cdk/aws-apigateway:disableCloudWatchRole': true,
  '@aws-cdk/aws-apigateway:logGroupDestinationArnWithoutWildcard': true,
  '@aws-cdk/aws-apigateway:requestValidatorUniqueId': true,
  '@aws-cdk/aws-events:eventsTargetQueueSameAccount': true,
  '@aws-cdk/aws-events:requireEventBusPolicySid': true,
  '@aws-cdk/aws-iam:minimizePolicies': true,
  '@aws-cdk/aws-kms:aliasNameRef': true,
  '@aws-cdk/aws-lambda:recognizeLayerVersion': true,
  '@aws-cdk/aws-s3:createDefaultLoggingPolicy': true,
  '@aws-cdk/aws-s3:publicAccessBlockedByDefault': true,
  '@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy': true,
  '@aws-cdk/aws-sns-subscriptions:restrictSqsDescryption': true,
  '@aws-cdk/aws-stepfunctions:useDistributedMapResultWriterV2': true,
  '@aws-cdk/core:aspectPrioritiesMutating': true,
  '@aws-cdk/core:checkSecretUsage': true,
  '@aws-cdk/core:defaultCrossStackReferences': 'strong',
  '@aws-cdk/core:validateAgainstDefaultRules': true,
  // Needs a function of CDK's own. The rule for launching names our security groups, so that nothing uses the default one.
  '@aws-cdk/aws-ec2:restrictDefaultSecurityGroup': false,
};
