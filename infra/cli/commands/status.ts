import { Command } from 'commander';
import { withHostOptions, wholeNumber, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';
import { allPages } from '#cli/remote/pages';
import { sweepTable, sweepText } from '#cli/remote/sweep-text';
import { widthOf } from '#cli/remote/text-table';

interface StatusOptions extends HostOptions {
  readonly limit: number;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall status --host http://127.0.0.1:7878
  examhall status --stage prod --limit 100
  examhall status sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --stage prod --json`;

/** `examhall status [sweep]` */
export function statusCommand(): Command {
  const command = new Command('status')
    .description('List the sweeps of a host, newest first, or show one with its ledger.')
    .argument('[sweep]', 'sweep id; without it the sweeps are listed')
    .option('--limit <number>', 'how many sweeps to list', wholeNumber(1, 10_000), 20)
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (sweepId: string | undefined, options: StatusOptions) => {
    const client = await openClient(options);
    if (sweepId !== undefined) {
      const sweep = await client.call('getSweep', { params: { sweepId } });
      print(options.json, sweep, () => sweepText(sweep));
      return;
    }
    const sweeps = await allPages(client, async (query) => await client.call('listSweeps', { query }), options.limit);
    print(options.json, { sweeps }, () => sweepTable(sweeps, widthOf()));
  });
}
