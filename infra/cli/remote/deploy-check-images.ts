import type { SandboxSettings } from '#core/sandbox-settings';
import type { StageSettings } from '../../config/settings.ts';
import { clientOptions, type AwsSession } from './aws-session.ts';
import { checked, fail, unverified, type DeployCheck } from './deploy-check.ts';
import { RemoteError } from './remote-error.ts';

const NAME = 'images';
/** What no look at an image tells. */
const UNSEEN = 'that it boots into a desktop is unverified';
const SEE = 'launch one and run `examhall doctor --sandbox <id>`, or run test/live against the stage';
type Image = StageSettings['sandboxes']['images'][string];

/** What families resolve to as the settings say it; nobody is asked. */
export function imagesOfSettings({ images }: StageSettings['sandboxes']): DeployCheck {
  const told = Object.entries(images).map(([family, image]) => `${family} ${wordsOf(image)}`);
  return { name: NAME, ...unverified(`${told.join('; ')}; ${UNSEEN}`, `look at the stage with --stage, then ${SEE}`) };
}

function wordsOf({ parameter, imageId, kind }: Image): string {
  return imageId === undefined
    ? `is what ${String(parameter)} names at each deploy (${kind})`
    : `is ${imageId} (${kind})`;
}

/** Without a session nobody can say what a stage launches. */
export const UNKNOWN_IMAGES: DeployCheck = {
  name: NAME,
  ...unverified('nobody could ask what the stage launches', 'give credentials that may look at the stage'),
};

/** What families of a deployed stage resolve to, and whether EC2 has those images. */
export async function imagesOfStage(stage: string, session: AwsSession): Promise<DeployCheck> {
  const { sandboxSettingsOf } = await import('#cli/cloud/stage-sandboxes');
  let settings: SandboxSettings;
  try {
    settings = await sandboxSettingsOf(stage, session);
  } catch (error) {
    if (!(error instanceof RemoteError)) throw error;
    return { name: NAME, ...unverified(error.message, `allow ssm:GetParameter on it, or deploy stage ${stage} again`) };
  }
  return await checked(NAME, 'ec2:DescribeImages', async () => {
    const { DescribeImagesCommand, EC2Client } = await import('@aws-sdk/client-ec2');
    const client = new EC2Client(clientOptions(session));
    try {
      const ids = [...new Set(Object.values(settings.images).map(({ imageId }) => imageId))];
      // By filter, so that one which is gone is simply absent.
      const { Images = [] } = await client.send(
        new DescribeImagesCommand({ Filters: [{ Name: 'image-id', Values: ids }] }),
      );
      return findingOf(settings, new Map(Images.map(({ ImageId = '', Name = '' }) => [ImageId, Name])));
    } finally {
      client.destroy();
    }
  });
}

function findingOf(settings: SandboxSettings, names: ReadonlyMap<string, string>): Omit<DeployCheck, 'name'> {
  const families = Object.entries(settings.images);
  const gone = families.filter(([, { imageId }]) => !names.has(imageId));
  if (gone.length > 0) {
    const told = gone.map(([family, { imageId }]) => `${family} is ${imageId}, which EC2 does not have`);
    return fail(told.join('; '), 'deploy the stage again, or name another image in sandboxes.images');
  }
  const told = families.map(
    ([family, { imageId, kind }]) => `${family} is ${imageId} (${kind}, ${names.get(imageId) ?? ''})`,
  );
  return unverified(`${told.join('; ')}; ${UNSEEN}`, SEE);
}
