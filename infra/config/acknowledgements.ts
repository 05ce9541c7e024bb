import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** A finding that stands, and why. */
export interface Acknowledgement {
  /** Of the construct, with `data/AccessLogs` for AccessLogs of the data stack (`shortPath`). */
  readonly path: RegExp;
  /** Rule id, with the finding in brackets where the rule has several: `AwsSolutions-IAM5[Resource::*]`. */
  readonly id: string;
  readonly reason: string;
}

/** Every finding of cdk-nag and of CloudFormation's own rules that stands; a test fails on one that no finding needs. */
export const ACKNOWLEDGEMENTS: readonly Acknowledgement[] = [];

/** `ExamHall-<stage>-data/AccessLogs/Resource` is known as `data/AccessLogs/Resource`. */
export function shortPath(path: string): string {
  return path.replace(/^ExamHall-[a-z0-9-]*-([a-z]+)(?=\/|$)/u, '$1');
}

/** Marks each construct below the scope that an acknowledgement names. */
export function acknowledge(scope: IConstruct, list: readonly Acknowledgement[] = ACKNOWLEDGEMENTS): void {
  for (const construct of scope.node.findAll()) {
    const path = shortPath(construct.node.path);
    for (const { id, reason } of list.filter((each) => each.path.test(path))) {
      Validations.of(construct).acknowledge({ id, reason });
    }
  }
}
