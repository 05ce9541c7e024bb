import path from 'node:path';
import { App, Tags, Validations, type Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import { ACKNOWLEDGEMENTS, ReasonedChecks, type Acknowledgement } from '../config/acknowledgements.ts';
import { FEATURE_FLAGS } from '../config/feature-flags.ts';
import type { StageSettings } from '../config/settings.ts';
import { deployedVersion } from '../constructs/deployed-version.ts';
import { ApiStack } from './api-stack.ts';
import { DataStack } from './data-stack.ts';
import { IMAGE_ACKNOWLEDGEMENTS, ImagesStack } from './images-stack.ts';
import { NetworkStack } from './network-stack.ts';
import { ObservabilityStack } from './observability-stack.ts';
import { folderOf, PipelineStack, type Deployable } from './pipeline-stack.ts';

export interface AppInput {
  readonly settings: StageSettings;
  /** Folder of each function's bundle, by the name of its declaration. */
  readonly functions: ReadonlyMap<string, { readonly folder: string }>;
  /** Where the assembly goes; what the CDK command line asks for when absent. */
  readonly outdir?: string;
  /** False leaves out cdk-nag and CloudFormation's own rules, which take seconds; only tests that look at templates do. */
  readonly isChecked?: boolean;
  /** Findings that stand; those of the repository when absent. */
  readonly acknowledgements?: readonly Acknowledgement[];
}

export interface BuiltApp {
  readonly app: App;
  readonly data: DataStack;
  readonly network: NetworkStack;
  readonly pipeline: PipelineStack;
  readonly api: ApiStack;
  readonly observability: ObservabilityStack;
}

/** The whole deployment of one stage, for no account and no region in particular. Reads nothing but its input. */
export function buildApp({ settings, functions, outdir, isChecked = true, acknowledgements }: AppInput): BuiltApp {
  const app = new App({
    context: FEATURE_FLAGS,
    analyticsReporting: false,
    builtinCloudFormationValidation: isChecked,
    ...(outdir === undefined ? {} : { outdir }),
  });
  const prefix = `ExamHall-${settings.stage}`;
  const data = new DataStack(app, `${prefix}-data`, { settings, description: 'Exam Hall: rows, objects and keys' });
  const network = new NetworkStack(app, `${prefix}-network`, {
    settings,
    buckets: data.buckets,
    description: 'Exam Hall: networks of sandboxes and graders',
  });
  const deployable = { functions, versions: deployedVersion(functions) };
  const pipeline = new PipelineStack(app, `${prefix}-pipeline`, {
    settings,
    data,
    network,
    deployable,
    description: 'Exam Hall: functions, state machines and what starts them',
  });
  const api = new ApiStack(app, `${prefix}-api`, {
    settings,
    pipeline,
    network,
    deployable,
    volumeKeyArn: data.volumeKey.keyArn,
    description: 'Exam Hall: the API behind IAM',
  });
  const observability = new ObservabilityStack(app, `${prefix}-observability`, {
    settings,
    data,
    pipeline,
    api,
    description: 'Exam Hall: alarms, dashboard and saved queries',
  });
  const images = imagesStack(app, settings, deployable);
  tagAll(app, { data, network, pipeline, api, observability, ...(images === null ? {} : { images }) }, settings);
  if (settings.permissionsBoundaryArn !== null) {
    const boundary = iam.ManagedPolicy.fromManagedPolicyArn(data, 'Boundary', settings.permissionsBoundaryArn);
    iam.PermissionsBoundary.of(app).apply(boundary);
  }
  const standing = [...(acknowledgements ?? ACKNOWLEDGEMENTS), ...(images === null ? [] : IMAGE_ACKNOWLEDGEMENTS)];
  if (isChecked) Validations.of(app).addPlugins(new ReasonedChecks(app, standing));
  return { app, data, network, pipeline, api, observability };
}

/** Only for those who build images of their own; it is made of what sandboxes fetch at their first boot. */
function imagesStack(app: App, { stage, imageBuilder }: StageSettings, deployable: Deployable): ImagesStack | null {
  if (!imageBuilder.isOn) return null;
  return new ImagesStack(app, `ExamHall-${stage}-images`, {
    stage,
    archiveFile: path.join(folderOf('provision-sandbox', deployable), 'boot.tar.gz'),
    schedule: imageBuilder.schedule,
    description: 'Exam Hall: pipelines that build images of sandboxes',
  });
}

function tagAll(app: App, stacks: Readonly<Record<string, Stack>>, settings: StageSettings): void {
  for (const [key, value] of Object.entries(settings.tags)) Tags.of(app).add(key, value);
  Tags.of(app).add('examhall:stage', settings.stage);
  for (const [name, stack] of Object.entries(stacks)) Tags.of(stack).add('examhall:stack', name);
}
