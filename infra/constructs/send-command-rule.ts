import { Aws } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { ownedBy } from './sandbox-tags.ts';

export interface SendCommandRuleProps {
  readonly stage: string;
  /** Names of our own SSM documents; AWS's, which run any script, are none of them. */
  readonly documentNames: readonly string[];
}

/** Calls that SSM lets nobody scope to a resource. They tell of commands and sandboxes; none starts anything. */
export const UNSCOPED_COMMAND_ACTIONS = ['ssm:DescribeInstanceInformation', 'ssm:ListCommandInvocations'] as const;

/** What a role needs to drive sandboxes by SSM: our documents, on sandboxes of this stage. Both must be allowed for one command. */
export function sendCommandStatements({ stage, documentNames }: SendCommandRuleProps): readonly iam.PolicyStatement[] {
  return [
    new iam.PolicyStatement({
      sid: 'RunOnlyOwnDocuments',
      actions: ['ssm:SendCommand'],
      resources: documentNames.map(
        (name) => `arn:${Aws.PARTITION}:ssm:${Aws.REGION}:${Aws.ACCOUNT_ID}:document/${name}`,
      ),
    }),
    new iam.PolicyStatement({
      sid: 'RunOnlyOnOwnSandboxes',
      actions: ['ssm:SendCommand'],
      resources: [`arn:${Aws.PARTITION}:ec2:${Aws.REGION}:${Aws.ACCOUNT_ID}:instance/*`],
      conditions: ownedBy(stage, 'ssm:resourceTag'),
    }),
    new iam.PolicyStatement({ sid: 'AskAboutCommands', actions: [...UNSCOPED_COMMAND_ACTIONS], resources: ['*'] }),
  ];
}
