import { Command, Option } from 'commander';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';
import { allPages } from '#cli/remote/pages';
import { unitTable, whyHint } from '#cli/remote/sweep-text';
import { widthOf } from '#cli/remote/text-table';
import { LEDGER_CLASSES, type LedgerClass } from '#core/denominators';

interface UnitsOptions extends HostOptions {
  readonly class?: LedgerClass;
  readonly agent?: string;
  readonly task?: string;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall units sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --stage prod
  examhall units sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --class lost --stage prod
  examhall units sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --agent oracle --task business_finance/form_1040 --json`;

/** `examhall units <sweep>` */
export function unitsCommand(): Command {
  const command = new Command('units')
    .description('List the units of a sweep: class, status, score and attempts.')
    .argument('<sweep>', 'sweep id')
    .addOption(new Option('--class <class>', 'only units of this ledger class').choices(LEDGER_CLASSES))
    .option('--agent <id>', 'only units of this agent')
    .option('--task <path>', 'only units of this task')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (sweepId: string, options: UnitsOptions) => {
    const client = await openClient(options);
    const filter = {
      ...(options.class === undefined ? {} : { class: options.class }),
      ...(options.agent === undefined ? {} : { agentId: options.agent }),
      ...(options.task === undefined ? {} : { taskPath: options.task }),
    };
    const units = await allPages(
      client,
      async (page) => await client.call('listUnits', { params: { sweepId }, query: { ...page, ...filter } }),
    );
    print(
      options.json,
      { sweepId, units },
      () => `${unitTable(units, widthOf())}\n${String(units.length)} units${whyHint(units)}`,
    );
  });
}
