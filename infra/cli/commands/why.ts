import { Command } from 'commander';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';
import { waitSentence } from '#cli/remote/sweep-text';

const EXAMPLES = `
Examples:
  examhall why sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3__oracle__unknown-model__business_finance__form_1040__v0 --stage prod
  examhall why <unit> --host http://127.0.0.1:7878 --json`;

/** `examhall why <unit>` */
export function whyCommand(): Command {
  const command = new Command('why')
    .description('Say in a sentence what a unit waits for, since when, and for how long at the most.')
    .argument('<unit>', 'unit id')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (unitId: string, options: HostOptions & { readonly json?: boolean }) => {
    const client = await openClient(options);
    const unit = await client.call('getUnit', { params: { unitId } });
    const { class: ledgerClass, status, waitsFor } = unit;
    print(options.json, { unitId, class: ledgerClass, status, waitsFor, sentence: waitSentence(unit) }, () =>
      waitSentence(unit),
    );
  });
}
