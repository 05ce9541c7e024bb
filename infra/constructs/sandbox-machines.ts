import { Aws } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import * as iam from 'aws-cdk-lib/aws-iam';
import { CfnDocument, ParameterValueType, StringParameter } from 'aws-cdk-lib/aws-ssm';
import { Construct } from 'constructs';
import { guestDocument, type GuestDocumentKind } from '#core/guest-documents';
import { documentName } from '../config/sandbox-variable.ts';
import type { ImageSettings } from '../config/sandboxes-settings.ts';
import type { NetworkProfile } from '../config/network-settings.ts';
import type { StageSettings } from '../config/settings.ts';
import { AGENT_ACTIONS } from './network-endpoints.ts';
import { STAGE_TAG } from './sandbox-tags.ts';

export interface SandboxMachinesProps {
  readonly settings: StageSettings;
  readonly networks: ReadonlyMap<NetworkProfile, { readonly securityGroup: ec2.ISecurityGroup }>;
}

/** What every sandbox on EC2 is launched with and driven by. None of it is a machine yet. */
export class SandboxMachines extends Construct {
  readonly role: iam.Role;
  readonly instanceProfile: iam.CfnInstanceProfile;
  /** By network profile. */
  readonly templates: ReadonlyMap<NetworkProfile, ec2.CfnLaunchTemplate>;
  readonly documents: Readonly<Record<GuestDocumentKind, CfnDocument>>;

  constructor(scope: Construct, id: string, props: SandboxMachinesProps) {
    super(scope, id);
    this.role = this.#role(props.settings.network.needsEc2Messages);
    this.instanceProfile = new iam.CfnInstanceProfile(this, 'Profile', { roles: [this.role.roleName] });
    this.templates = new Map(
      [...props.networks].map(([profile, { securityGroup }]) => [
        profile,
        this.#template(profile, securityGroup, props),
      ]),
    );
    const { stage } = props.settings;
    this.documents = { run: this.#document('run', stage), wait: this.#document('wait', stage) };
  }

  get instanceProfileArn(): string {
    return this.instanceProfile.attrArn;
  }

  /** ARNs of the launch templates: the only way in which sandboxes start. */
  get templateArns(): readonly string[] {
    return [...this.templates.values()].map(
      ({ ref }) => `arn:${Aws.PARTITION}:ec2:${Aws.REGION}:${Aws.ACCOUNT_ID}:launch-template/${ref}`,
    );
  }

  /** SSM messages and nothing else: the managed policy for it can read parameters. */
  #role(needsEc2Messages: boolean): iam.Role {
    const { ssm, ssmmessages, ec2messages } = AGENT_ACTIONS;
    const actions = [...ssm, ...ssmmessages, ...(needsEc2Messages ? ec2messages : [])];
    return new iam.Role(this, 'Role', {
      description: 'Exam Hall: what a sandbox may do, which is to exchange messages with SSM',
      assumedBy: new iam.ServicePrincipal('ec2.amazonaws.com'),
      inlinePolicies: {
        messages: new iam.PolicyDocument({
          statements: [new iam.PolicyStatement({ actions, resources: ['*'] })],
        }),
      },
    });
  }

  /**
   * No key pair, no tags and no volumes of its own (the launch brings them under the names its image has; IAM asks for exactly
   * those tags, and for encryption), and a group at the top level, so that a launch names its subnet and nothing else of the network.
   */
  #template(
    profile: NetworkProfile,
    securityGroup: ec2.ISecurityGroup,
    { settings }: SandboxMachinesProps,
  ): ec2.CfnLaunchTemplate {
    const tags = Object.entries({ ...settings.tags, [STAGE_TAG]: settings.stage, 'examhall:stack': 'pipeline' });
    return new ec2.CfnLaunchTemplate(this, `Template-${profile}`, {
      versionDescription: `Exam Hall: sandboxes of profile ${profile}`,
      tagSpecifications: [{ resourceType: 'launch-template', tags: tags.map(([key, value]) => ({ key, value })) }],
      launchTemplateData: {
        iamInstanceProfile: { arn: this.instanceProfile.attrArn },
        securityGroupIds: [securityGroup.securityGroupId],
        metadataOptions: {
          httpEndpoint: 'enabled',
          httpTokens: 'required',
          httpPutResponseHopLimit: 1,
          httpProtocolIpv6: 'disabled',
          instanceMetadataTags: 'disabled',
        },
        instanceInitiatedShutdownBehavior: 'terminate',
        disableApiTermination: false,
        disableApiStop: false,
        monitoring: { enabled: false },
      },
    });
  }

  /** Named, so that a function of an earlier deploy finds it; a change makes a new version of it. */
  #document(kind: GuestDocumentKind, stage: string): CfnDocument {
    return new CfnDocument(this, `Document-${kind}`, {
      name: documentName(stage, kind),
      documentType: 'Command',
      documentFormat: 'JSON',
      targetType: '/AWS::EC2::Instance',
      updateMethod: 'NewVersion',
      content: guestDocument(kind),
    });
  }
}

/** Id of the image, looked up in the region at each deploy where the settings name a parameter. */
export function imageIdOf(scope: Construct, family: string, { imageId, parameter }: ImageSettings): string {
  if (imageId !== undefined) return imageId;
  if (parameter === undefined) throw new Error(`the image of ${family} has neither a parameter nor an id`);
  return StringParameter.valueForTypedStringParameterV2(scope, parameter, ParameterValueType.AWS_EC2_IMAGE_ID);
}
