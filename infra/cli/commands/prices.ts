import { Command } from 'commander';
import { EXIT } from '#cli/explain-error';
import { refreshPrices, type RefreshOptions } from '#cli/prices/refresh-prices';

const EXAMPLES = `
Examples:
  examhall prices refresh                                  # us-east-1, every price of its sheet anew
  examhall prices refresh --region eu-central-1 --dry-run  # show what a sheet of another region would hold
  examhall prices refresh --type m7i.8xlarge               # one more machine type`;

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

/** `examhall prices` */
export function pricesCommand(): Command {
  const refresh = new Command('refresh')
    .description(
      'Read the price sheet of a region anew from the AWS Price List API, show what changed, and write it whole.',
    )
    .option('--region <region>', 'region whose prices are read', 'us-east-1')
    .option('--type <type>', 'instance type to add to those of the sheet; may be repeated', collect, [])
    .option('--profile <name>', 'profile of the shared AWS files')
    .option('--dry-run', 'show what would change and write nothing')
    .option('--force', 'also take prices that vanished or changed by more than a factor of 5')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES)
    .action(async (options: RefreshOptions) => {
      const isTaken = await refreshPrices(options);
      process.exitCode = isTaken ? EXIT.done : EXIT.badInput;
    });
  return new Command('prices')
    .description('The price sheets that costs are estimated from.')
    .addHelpText('after', EXAMPLES)
    .addCommand(refresh);
}
