import { createHash } from 'node:crypto';
import { Stack } from 'aws-cdk-lib';
import * as imagebuilder from 'aws-cdk-lib/aws-imagebuilder';
import { Construct } from 'constructs';
import { componentDocument, type ArchiveInBucket, type ImageKind } from './image-components.ts';

export interface ImagePipelineProps {
  readonly stage: string;
  readonly kind: ImageKind;
  readonly archive: ArchiveInBucket;
  readonly infrastructure: imagebuilder.CfnInfrastructureConfiguration;
  /** `monthly` also builds by itself; `never` builds when somebody starts it. */
  readonly schedule: 'never' | 'monthly';
}

const TEST_MINUTES = 90;

/** Component, recipe, distribution and pipeline of one image. Recipes cannot be changed: their names say what is in them. */
export class ImagePipeline extends Construct {
  readonly pipeline: imagebuilder.CfnImagePipeline;

  constructor(scope: Construct, id: string, props: ImagePipelineProps) {
    super(scope, id);
    const { stage, kind, archive, infrastructure, schedule } = props;
    const data = JSON.stringify(componentDocument(kind, archive));
    const version = '1.0.0';
    // The archive's address holds tokens; its hash and the document without them say what the recipe is.
    const content = JSON.stringify(componentDocument(kind, { ...archive, s3Url: '' }));
    const hash = createHash('sha256')
      .update(`${content}${kind.parent}${String(kind.volumeGiB)}`)
      .digest('hex')
      .slice(0, 8);
    const name = `examhall-${stage}-${kind.name}`;
    const component = new imagebuilder.CfnComponent(this, 'Component', {
      name: `${name}-${hash}`,
      version,
      platform: kind.platform,
      description: kind.description,
      data,
    });
    const { partition, region } = Stack.of(this);
    const recipe = new imagebuilder.CfnImageRecipe(this, 'Recipe', {
      name: `${name}-${hash}`,
      version,
      description: kind.description,
      parentImage: `arn:${partition}:imagebuilder:${region}:aws:image/${kind.parent}/x.x.x`,
      components: [{ componentArn: component.attrArn }],
      blockDeviceMappings: [
        {
          deviceName: kind.rootDevice,
          ebs: { volumeType: 'gp3', volumeSize: kind.volumeGiB, encrypted: true, deleteOnTermination: true },
        },
      ],
    });
    const distribution = new imagebuilder.CfnDistributionConfiguration(this, 'Distribution', {
      name,
      distributions: [
        {
          region,
          amiDistributionConfiguration: {
            Name: `${name}-{{ imagebuilder:buildDate }}`,
            Description: kind.description,
            AmiTags: { 'examhall:stage': stage, 'examhall:image': kind.family },
          },
        },
      ],
    });
    this.pipeline = new imagebuilder.CfnImagePipeline(this, 'Pipeline', {
      name,
      description: kind.description,
      imageRecipeArn: recipe.attrArn,
      infrastructureConfigurationArn: infrastructure.attrArn,
      distributionConfigurationArn: distribution.attrArn,
      imageTestsConfiguration: { imageTestsEnabled: true, timeoutMinutes: TEST_MINUTES },
      status: 'ENABLED',
      ...(schedule === 'never'
        ? {}
        : {
            schedule: {
              scheduleExpression: 'cron(0 3 1 * ? *)',
              pipelineExecutionStartCondition: 'EXPRESSION_MATCH_AND_DEPENDENCY_UPDATES_AVAILABLE',
            },
          }),
    });
  }
}
