import type { IPolicyValidationContext, PolicyValidationPluginReport } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import type { IConstruct } from 'constructs';

/** A finding that stands, and why. */
export interface Acknowledgement {
  /** Of the construct that the finding names, with `data/AccessLogs/Resource` for one of the data stack (`shortPath`). */
  readonly path: RegExp;
  /** The whole rule id, with the finding in brackets where the rule has several: `AwsSolutions-IAM5[Resource::*]`. */
  readonly id: RegExp;
  readonly reason: string;
}

const ROLES_OF_FUNCTIONS = /^(?:pipeline|api)\/[A-Za-z]+\/Role\/Resource$/u;

const LAUNCH_POLICIES = /^pipeline\/ProvisionSandbox\/(?:Launch|Tag)[A-Za-z]+\/Resource$/u;

/** Every finding of cdk-nag that stands; a test fails on one that no finding needs. */
export const ACKNOWLEDGEMENTS: readonly Acknowledgement[] = [
  {
    path: /^(?:pipeline|api)\/[A-Za-z]+\/Role\/Resource$|^api\/AccountRole\/Resource$/u,
    id: /^AwsSolutions-IAM5\[Resource::\*\]$/u,
    reason:
      'only for actions that IAM knows no resources for: UNSCOPED_ACTIONS in constructs/grants.ts, tested role by role',
  },
  {
    path: ROLES_OF_FUNCTIONS,
    id: /^AwsSolutions-IAM5\[Resource::.*(?:Artifacts|Tasks|References)[0-9A-F]{8}Arn[0-9A-F]{8}\/(?:agents|attempts|attempts\/\*\/guest|boot|grades|runs|solutions|sweeps|tasks)\/\*\]$/u,
    reason: 'objects are named by key prefix, which is the narrowest that is known when the role is made',
  },
  {
    path: ROLES_OF_FUNCTIONS,
    id: /^AwsSolutions-IAM5\[Resource::arn:<AWS::Partition>:scheduler:.*:schedule\/<SchedulesGroup[0-9A-F]{8}>\/\*\]$/u,
    reason: 'one schedule for each sandbox, made while sweeps run: the group is ours and holds nothing else',
  },
  {
    path: new RegExp(`${ROLES_OF_FUNCTIONS.source}|${LAUNCH_POLICIES.source}`, 'u'),
    id: /^AwsSolutions-IAM5\[Resource::arn:<AWS::Partition>:ec2:<AWS::Region>:(?:<AWS::AccountId>:(?:instance|volume|network-interface)|:image)\/\*\]$/u,
    reason:
      'sandboxes have no names before they are launched: conditions ask for our tags and template, or for the owner and tag of an image',
  },
  {
    path: /^pipeline\/(?:Sweep|Grade)Machine\/Role\/Resource$/u,
    id: /^AwsSolutions-IAM5\[Resource::<[A-Za-z]+Function[0-9A-F]{8}\.Arn>:\*\]$/u,
    reason: 'versions of one function: a sweep goes on with the version that it started with',
  },
  {
    path: /^pipeline\/SweepMachine\/Children\/Resource$|^(?:pipeline|api)\/[A-Za-z]+\/Role\/Resource$/u,
    id: /^AwsSolutions-IAM5\[Resource::arn:<AWS::Partition>:states:.*:execution:(?:<(?:Sweep|Grade)Machine[0-9A-F]{8}\.Name>|ExamHall-[a-z0-9-]+:ExportsOutputFnGetAtt(?:Sweep|Grade)Machine[0-9A-F]{8}Name[0-9A-F]{8})(?:\/RunUnits)?:\*\]$/u,
    reason: 'executions of our own two machines, whose names are made when a sweep or a grading starts',
  },
  {
    path: /^pipeline\/(?:Undelivered|SetAside)\/Queue\/Resource$/u,
    id: /^AwsSolutions-SQS3$/u,
    reason: 'is a dead-letter queue; what fills it is set at the triggers, where the rule does not look',
  },
  {
    path: /^api\/Api\/DeploymentStage\.[a-z0-9]+\/Resource$/u,
    id: /^AwsSolutions-APIG3$/u,
    reason:
      "every method asks for a signature of this account and requests are throttled; a firewall in front is the organisation's to add and to pay for",
  },
  {
    path: /^api\/Api\/DeploymentStage\.[a-z0-9]+\/Resource$/u,
    id: /^AwsSolutions-APIG6$/u,
    reason:
      'execution logs would hold request bodies; access logs without bodies are on, and functions log what they decide',
  },
  {
    path: /^api\/Api\/Default\/.*\/(?:DELETE|GET|POST|PUT)\/Resource$/u,
    id: /^AwsSolutions-COG4$/u,
    reason: 'callers are IAM principals and sign their requests (AWS_IAM on every method); there is no user pool',
  },
];

/** `ExamHall-<stage>-data/AccessLogs/Resource` is known as `data/AccessLogs/Resource`. */
export function shortPath(path: string): string {
  return path.replace(/^ExamHall-[a-z0-9-]*-([a-z]+)(?=\/|$)/u, '$1');
}

/**
 * The rules of AWS Solutions, less what the list covers. CDK's own acknowledgements take no pattern, and the ids of these
 * findings hold names of exports that only the synthesised app knows.
 */
export class ReasonedChecks extends AwsSolutionsChecks {
  readonly #list: readonly Acknowledgement[];

  constructor(scope: IConstruct, list: readonly Acknowledgement[]) {
    super(scope);
    this.#list = list;
  }

  override validate(context: IPolicyValidationContext): PolicyValidationPluginReport {
    const violations = super.validate(context).violations.flatMap((violation) => {
      const violatingResources = violation.violatingResources.filter(
        ({ constructPath = '' }) => !this.#covers(violation.ruleName, shortPath(constructPath)),
      );
      return violatingResources.length === 0 ? [] : [{ ...violation, violatingResources }];
    });
    return { success: violations.length === 0, violations };
  }

  #covers(rule: string, construct: string): boolean {
    return this.#list.some(({ path, id }) => path.test(construct) && id.test(rule));
  }
}

/** A finding of cfn-lint that stands, and why. */
export interface LintAcknowledgement {
  readonly rule: string;
  readonly message: RegExp;
  readonly reason: string;
}

/** Every finding of cfn-lint that stands; a test fails on one that no finding needs. */
export const LINT_ACKNOWLEDGEMENTS: readonly LintAcknowledgement[] = [
  {
    rule: 'W3005',
    message: /^'[A-Za-z0-9]+Role[0-9A-F]{8}' dependency already enforced by a 'GetAtt'/u,
    reason: 'CDK names the role beside its policy, which nothing else makes the function wait for',
  },
  {
    rule: 'E3601',
    message:
      /^'\{% \$(?:unit|plan)\.[A-Za-z]+ %\}' is not of type 'number' at 'States\/.*\/(?:TimeoutSeconds|MaxConcurrency)'$/u,
    reason:
      'cfn-lint knows no JSONata here; AWS takes an expression that gives a whole number in TimeoutSeconds, HeartbeatSeconds and MaxConcurrency of JSONata states',
  },
];
