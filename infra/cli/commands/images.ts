import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { commandLineError } from '#cli/remote/command-line-error';
import { isConfirmed } from '#cli/remote/confirm';
import { wantedHost, withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { print } from '#cli/remote/open-client';
import { adoptionText, noteInFile } from '#cli/cloud/adoption-text';
import type { ImageWish } from '#cli/cloud/settings-file';
import type { ConfigError } from '#core/located';

interface AdoptOptions extends HostOptions {
  readonly family: string;
  readonly removeReferences?: boolean;
  readonly settings?: string;
  readonly replace?: boolean;
  readonly keepGpu?: boolean;
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
  examhall images adopt ami-0123456789abcdef0 --family ale-ubuntu22 --stage prod --settings prod.json --replace

Starts a machine of the image without a route out and looks through every volume; an image that holds reference.7z, or a volume
that cannot be looked into, is refused. Then a second machine gets runner, agent account and cua-server, and becomes the image.
Both are ended whatever happens; what adoptions left that were killed, machines and images of a day ago, is removed first. Needs the
profiles open and sealed, and your credentials: ec2:RunInstances, TerminateInstances, CreateImage, CreateTags, DeregisterImage,
DeleteSnapshot, Describe*; ssm:SendCommand and GetCommandInvocation; s3:PutObject below boot/ of the tasks bucket. Takes about an
hour, and costs its machine time. Unverified: no account has shown it yet.
With --settings the image is put into that file, which is the one the deployment reads; nothing else of it changes. With --replace
the seats of the family stay, and are told; gpu stays with --keep-gpu alone, since a driver is in an image.
Exit code 0 once the image is made (and written), 1 if it was refused (or the file could not be changed).`;

function adoptCommand(): Command {
  const command = new Command('adopt')
    .description('Scan an existing AMI for answers, and derive an image of ours from it. Unverified.')
    .argument('<ami>', 'id of the image')
    .requiredOption('--family <name>', 'image family that environment files name, such as ale-ubuntu22')
    .option('--remove-references', 'wipe reference material instead of refusing the image')
    .option('--settings <file>', 'settings file of the stage that gets the image; without it the entry is only printed')
    .option('--replace', 'with --settings: let the image take the place of another one of the family')
    .option('--keep-gpu', 'with --replace: the image has the GPU driver that the settings say of the other one')
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
  const wish = await settingsWish(options, stage);
  const question = `Start machines of ${imageId} in stage ${stage} and make an image of family ${options.family}?`;
  if (!(await isConfirmed({ question, yes: options.yes }))) {
    process.stderr.write('nothing was started\n');
    return EXIT.badInput;
  }
  const { adoptForStage } = await import('#cli/cloud/adopt-for-stage');
  const { settings: _, replace: __, keepGpu: ___, removeReferences = false, ...others } = options;
  const adopted = await adoptForStage({ ...others, imageId, stage, removeReferences });
  const told = wish === null ? null : await noteInFile(wish, adopted);
  print(options.json, told === null ? adopted : { ...adopted, settingsFile: told }, () => adoptionText(adopted, told));
  return adopted.state === 'adopted' && told?.isWritten !== false ? EXIT.done : EXIT.notAllCompleted;
}

/** Refuses a file that could not take the image, before an hour of machines. */
async function settingsWish(options: AdoptOptions, stage: string): Promise<ImageWish | null> {
  const { settings, replace = false, keepGpu = false, family } = options;
  if (replace && settings === undefined) throw lonely('--replace', '--settings', 'give --settings <file>');
  if (keepGpu && !replace) throw lonely('--keep-gpu', '--replace', 'give --replace');
  if (settings === undefined) return null;
  const wish = { file: settings, stage, family, replace, keepGpu };
  const { checkSettingsFile } = await import('#cli/cloud/settings-file');
  await checkSettingsFile(wish);
  return wish;
}

function lonely(option: string, needed: string, action: string): ConfigError {
  return commandLineError({
    what: 'an option does not fit',
    got: `${option} without ${needed}`,
    allowed: `${option} with ${needed}`,
    action: `${action}, or leave ${option} out`,
  });
}
