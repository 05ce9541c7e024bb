import { Stack } from 'aws-cdk-lib';
import type { ISubnet, ISecurityGroup } from 'aws-cdk-lib/aws-ec2';
import type { Construct } from 'constructs';
import type { NetworkProfile } from '../config/network-settings.ts';
import { documentName, sandboxSettingsOf, type SandboxPlaces } from '../config/sandbox-variable.ts';
import type { StageSettings } from '../config/settings.ts';
import type { SandboxResources } from './host-resources.ts';
import { imageIdOf, type SandboxMachines } from './sandbox-machines.ts';

export interface SandboxNetwork {
  readonly subnets: readonly ISubnet[];
  readonly securityGroup: ISecurityGroup;
}

interface SandboxResourcesProps {
  readonly settings: StageSettings;
  readonly volumeKeyArn: string;
}

interface LaunchedBy {
  readonly machines: SandboxMachines;
  readonly networks: ReadonlyMap<NetworkProfile, SandboxNetwork>;
}

/** For functions that know of sandboxes and launch none: what changes with each deploy of another stack is left out. */
export function knownSandboxes(scope: Construct, props: SandboxResourcesProps): SandboxResources {
  return resourcesOf(scope, props, new Map());
}

/** For functions that launch sandboxes and drive them. */
export function launchedSandboxes(
  scope: Construct,
  props: SandboxResourcesProps,
  { machines, networks }: LaunchedBy,
): SandboxResources {
  const { settings, volumeKeyArn } = props;
  const places = [...networks].map(([profile, { subnets }]) => {
    const template = machines.templates.get(profile);
    if (template === undefined) throw new Error(`profile ${profile} has no launch template`);
    const named = subnets.map(({ subnetId, availabilityZone }) => ({ id: subnetId, zone: availabilityZone }));
    const { ref: id, attrLatestVersionNumber: version } = template;
    return [profile, { subnets: named, template: { id, version } }] as const;
  });
  const known = resourcesOf(scope, props, new Map(places));
  return {
    ...known,
    launch: {
      stage: settings.stage,
      costCenters: settings.policy.costCenters,
      tags: settings.tags,
      subnetIds: [...networks.values()].flatMap(({ subnets }) => subnets.map(({ subnetId }) => subnetId)),
      securityGroupIds: [...networks.values()].map(({ securityGroup }) => securityGroup.securityGroupId),
      imageIds: [...new Set(imageIdsOf(scope, settings).values())],
      launchTemplateArns: machines.templateArns,
      sandboxRoleArn: machines.role.roleArn,
      instanceProfileArn: machines.instanceProfileArn,
      volumeKeyArn,
    },
  };
}

function resourcesOf(
  scope: Construct,
  { settings, volumeKeyArn }: SandboxResourcesProps,
  networks: SandboxPlaces['networks'],
): SandboxResources {
  const { stage } = settings;
  const places = { networks, imageIds: imageIdsOf(scope, settings), volumeKeyArn };
  return {
    stage,
    settingsJson: Stack.of(scope).toJsonString(sandboxSettingsOf(settings, places)),
    documentNames: [documentName(stage, 'run'), documentName(stage, 'wait')],
  };
}

function imageIdsOf(scope: Construct, { sandboxes }: StageSettings): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(sandboxes.images).map(([family, image]) => [family, imageIdOf(scope, family, image)] as const),
  );
}
