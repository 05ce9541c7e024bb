import { Aws } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic, type ITopic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { Construct } from 'constructs';
import type { StageSettings } from '../config/settings.ts';

/** Whom alarms tell: an address, a topic that is there, or nobody. */
export function alarmTopic(scope: Construct, alarms: StageSettings['alarms']): ITopic | null {
  if (alarms.kind === 'none') return null;
  if (alarms.kind === 'topic') return Topic.fromTopicArn(scope, 'Topic', alarms.topicArn);
  const topic = new Topic(scope, 'Topic', { displayName: 'Exam Hall alarms', enforceSSL: true });
  // A policy of its own takes the place of the one that lets the account's own alarms publish.
  topic.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
    }),
  );
  topic.addSubscription(new EmailSubscription(alarms.address));
  return topic;
}
