import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { CfnOutput, Stack, type StackProps } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as imagebuilder from 'aws-cdk-lib/aws-imagebuilder';
import { Asset } from 'aws-cdk-lib/aws-s3-assets';
import type { Construct } from 'constructs';
import type { Acknowledgement } from '../config/acknowledgements.ts';
import { IMAGE_KINDS } from '../constructs/image-components.ts';
import { ImagePipeline } from '../constructs/image-pipeline.ts';

export interface ImagesStackProps extends StackProps {
  readonly stage: string;
  /** The boot archive, `boot.tar.gz`. */
  readonly archiveFile: string;
  /** Where images are built; without it in the account's default VPC. The build needs a way out to the internet. */
  readonly place?: { readonly subnetId: string; readonly securityGroupId: string };
  /** `monthly` also builds by itself; `never` builds when somebody starts a pipeline. */
  readonly schedule: 'never' | 'monthly';
}

/** What a machine that builds images is tagged with. */
const IMAGE_BUILD_TAG = 'examhall:image-build';

/** What cdk-nag finds in this stack and stands. */
export const IMAGE_ACKNOWLEDGEMENTS: readonly Acknowledgement[] = [
  {
    path: /^images\/BuildRole\/Resource$/u,
    id: /^AwsSolutions-IAM4\[/u,
    reason: 'the policies that Image Builder asks for by name; its machines hold no answers and meet no agent',
  },
  {
    path: /^images\/BuildRole\/DefaultPolicy\/Resource$/u,
    id: /^AwsSolutions-IAM5\[/u,
    reason: 'reads objects of the CDK asset bucket, where the boot archive lies; nothing there is secret',
  },
];

/**
 * EC2 Image Builder pipelines for the images of sandboxes: those that first-boot scripts make of public images, made once. Deployed
 * only when the settings ask for it; it starts nothing by itself. Unverified: no account has built an image with it.
 */
export class ImagesStack extends Stack {
  constructor(scope: Construct, id: string, props: ImagesStackProps) {
    super(scope, id, props);
    const { stage, archiveFile, place, schedule } = props;
    const asset = new Asset(this, 'BootArchive', { path: archiveFile });
    const archive = {
      s3Url: asset.s3ObjectUrl,
      sha256: createHash('sha256').update(readFileSync(archiveFile)).digest('hex'),
    };
    const infrastructure = this.#infrastructure(stage, asset, place);
    for (const kind of IMAGE_KINDS) {
      const id = kind.platform;
      const { pipeline } = new ImagePipeline(this, id, { stage, kind, archive, infrastructure, schedule });
      new CfnOutput(this, `${id}Pipeline`, {
        value: pipeline.attrArn,
        description: `Start it with: aws imagebuilder start-image-pipeline-execution --image-pipeline-arn <this>`,
      });
    }
  }

  /** Machines that build hold no answers and meet no agent; their role reads the archive, and reports to Image Builder. */
  #infrastructure(
    stage: string,
    asset: Asset,
    place: ImagesStackProps['place'],
  ): imagebuilder.CfnInfrastructureConfiguration {
    const role = new iam.Role(this, 'BuildRole', {
      assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
      description: 'Exam Hall: machines that build images',
      managedPolicies: [
        iam.ManagedPolicy.fromAwsManagedPolicyName('EC2InstanceProfileForImageBuilder'),
        iam.ManagedPolicy.fromAwsManagedPolicyName('AmazonSSMManagedInstanceCore'),
      ],
    });
    asset.grantRead(role);
    const profile = new iam.CfnInstanceProfile(this, 'BuildProfile', { roles: [role.roleName] });
    return new imagebuilder.CfnInfrastructureConfiguration(this, 'Infrastructure', {
      name: `examhall-${stage}-images`,
      description: 'Exam Hall: where images are built',
      instanceProfileName: profile.ref,
      instanceTypes: ['m7i.large', 'm6i.large'],
      instanceMetadataOptions: { httpTokens: 'required', httpPutResponseHopLimit: 1 },
      terminateInstanceOnFailure: true,
      // Not the tag of a stage: the reaper asks EC2 by that, and these are no sandboxes.
      resourceTags: { [IMAGE_BUILD_TAG]: stage },
      ...(place === undefined ? {} : { subnetId: place.subnetId, securityGroupIds: [place.securityGroupId] }),
    });
  }
}
