import { Aws, Stack } from 'aws-cdk-lib';
import { PolicyDocument, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnScheduleGroup } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { allow } from './grants.ts';

/** The group of one-time schedules that end sandboxes, and the role that Scheduler calls `expire-sandbox` with. */
export class SandboxSchedules extends Construct {
  readonly groupName: string;
  /** Every schedule of the group, and no other. */
  readonly scheduleArns: string;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const group = new CfnScheduleGroup(this, 'Group');
    // The generated name is what the reference gives.
    this.groupName = group.ref;
    this.scheduleArns = this.#arn('schedule', `${this.groupName}/*`);
  }

  /** Only Scheduler, for schedules of this group, may use the role, and only to call that alias. */
  role(expireAliasArn: string): Role {
    return new Role(this, 'Role', {
      description: 'Exam Hall: calls expire-sandbox when the time of a sandbox is over',
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID },
          ArnLike: { 'aws:SourceArn': this.#arn('schedule-group', this.groupName) },
        },
      }),
      inlinePolicies: {
        expire: new PolicyDocument({
          statements: [allow({ actions: ['lambda:InvokeFunction'], on: [expireAliasArn] })],
        }),
      },
    });
  }

  #arn(resource: string, resourceName: string): string {
    return Stack.of(this).formatArn({ service: 'scheduler', resource, resourceName });
  }
}
