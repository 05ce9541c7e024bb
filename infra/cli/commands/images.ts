import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { commandLineError } from '#cli/remote/command-line-error';
import { isConfirmed } from '#cli/remote/confirm';
import { wantedHost, withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { print } from '#cli/remote/open-client';
import { plainText } from '#cli/remote/plain-text';
import type { Adopted } from '#cli/cloud/adopt-image';

interface AdoptOptions extends HostOptions {
  readonly family: string;
  readonly removeReferences?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** `examhall images adopt` */
export function imagesCommand(): Command {
  return new Command('images')
    .description('Images that sandboxes in EC2 start from.')
    .addHelpText(
      'after',
      '\nExamples:\n  examhall images adopt ami-0123456789abcdef0 --family ale-ubuntu22 --stage prod\n  examhall images adopt ami-0123456789abcdef0 --family ale-win-server --stage prod --json',
    )
    .addCommand(adoptCommand());
}

const EXAMPLES = `
Examples:
  examhall images adopt ami-0123456789abcdef0 --family ale-ubuntu22 --stage prod
  examhall images adopt ami-0123456789abcdef0 --family ale-win-server --remove-references --yes --stage prod --json

Starts a machine of the image without a route out and looks through every volume; an image that holds reference.7z, or a volume
that cannot be looked into, is refused. Then a second machine gets runner, agent account and cua-server, and becomes the image.
Both are ended whatever happens. Needs the profiles open and sealed, and your credentials: ec2:RunInstances,
TerminateInstances, CreateImage, CreateTags, Describe*; ssm:SendCommand and GetCommandInvocation; s3:PutObject below boot/ of
the tasks bucket. Takes about an hour, and costs its machine time. Unverified: no account has shown it yet.
Exit code 0 once the image is made, 1 if it was refused.`;

function adoptCommand(): Command {
  const command = new Command('adopt')
    .description('Scan an existing AMI for answers, and derive an image of ours from it. Unverified.')
    .argument('<ami>', 'id of the image')
    .requiredOption('--family <name>', 'image family that environment files name, such as ale-ubuntu22')
    .option('--remove-references', 'wipe reference material instead of refusing the image')
    .option('--yes', 'do not ask')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (imageId: string, options: AdoptOptions) => {
    process.exitCode = await adopt(imageId, options);
  });
}

async function adopt(imageId: string, options: AdoptOptions): Promise<number> {
  const { stage } = wantedHost(options, process.env);
  if (!/^ami-[0-9a-f]{8,17}$/u.test(imageId) || stage === undefined) {
    throw commandLineError({
      what: 'it is not said which image is adopted for which stage',
      got: `${JSON.stringify(imageId)}, stage ${JSON.stringify(stage ?? null)}`,
      allowed: 'ami-<hexadecimal digits>, and --stage or EXAMHALL_STAGE',
      action: 'give both',
    });
  }
  const question = `Start machines of ${imageId} in stage ${stage} and make an image of family ${options.family}?`;
  if (!(await isConfirmed({ question, yes: options.yes }))) {
    process.stderr.write('nothing was started\n');
    return EXIT.badInput;
  }
  const { adoptForStage } = await import('#cli/cloud/adopt-for-stage');
  const adopted = await adoptForStage({
    ...options,
    imageId,
    stage,
    removeReferences: options.removeReferences === true,
  });
  print(options.json, adopted, () => textOf(adopted));
  return adopted.state === 'adopted' ? EXIT.done : EXIT.notAllCompleted;
}

function textOf(adopted: Adopted): string {
  if (adopted.state === 'refused') {
    return [
      'refused; no image was made',
      ...adopted.found.map((place) => `  holds ${plainText(place)}`),
      ...adopted.unseen.map((volume) => `  could not be looked into: ${plainText(volume)}`),
      ...(adopted.found.length > 0 && adopted.unseen.length === 0 ? ['--remove-references wipes what was found'] : []),
    ].join('\n');
  }
  const removed = adopted.removed.map((place) => `  wiped ${plainText(place)}`);
  const entry = JSON.stringify(adopted.settings, null, 2);
  return [
    `${adopted.imageId} (${adopted.revision})`,
    ...removed,
    'add this to sandboxes.images of the stage’s settings, and deploy:',
    entry,
  ].join('\n');
}
