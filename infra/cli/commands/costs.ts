import { Command, InvalidArgumentError, Option } from 'commander';
import { commandLineError } from '#cli/remote/command-line-error';
import { costsText } from '#cli/remote/costs-text';
import { withHostOptions, type HostOptions } from '#cli/remote/host-options';
import { openClient, print } from '#cli/remote/open-client';
import { widthOf } from '#cli/remote/text-table';
import type { CostGroup } from '#contracts/api-schemas';
import { costsCsv } from '#core/cost-groups';

const GROUPS = ['sweep', 'agent', 'task', 'owner', 'costCenter', 'blame'] as const satisfies readonly CostGroup[];

interface CostsOptions extends HostOptions {
  readonly by: CostGroup;
  readonly from?: string;
  readonly to?: string;
  readonly sweep?: string;
  readonly csv?: boolean;
  readonly json?: boolean;
}

const EXAMPLES = `
Examples:
  examhall costs --stage prod
  examhall costs --by costCenter --from 2026-01-01 --to 2026-01-31 --csv --stage prod > january.csv
  examhall costs --by blame --sweep sw-01J9Z8Q4T5V6W7X8Y9Z0A1B2C3 --json

Days are those on which attempts closed, in UTC. Unknown parts are counted, never taken for zero.`;

/** `examhall costs` */
export function costsCommand(): Command {
  const command = new Command('costs')
    .description('Add up what attempts cost, by sweep, agent, task, owner, cost center or blame.')
    .addOption(new Option('--by <group>', 'what to add up by').choices(GROUPS).default('sweep'))
    .option(
      '--from <day>',
      'first day, YYYY-MM-DD in UTC; 30 days back unless told, with --sweep the day it was created',
      day,
    )
    .option('--to <day>', 'last day, included; today unless told', day)
    .option('--sweep <id>', 'only this sweep')
    .option('--csv', 'print CSV (RFC 4180)')
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES);
  return withHostOptions(command).action(async (options: CostsOptions) => {
    refuseBoth(options);
    const client = await openClient(options);
    const costs = await client.call('getCosts', {
      query: {
        groupBy: options.by,
        ...(options.from === undefined ? {} : { from: options.from }),
        ...(options.to === undefined ? {} : { to: options.to }),
        ...(options.sweep === undefined ? {} : { sweepId: options.sweep }),
      },
    });
    if (options.csv === true) process.stdout.write(costsCsv(costs));
    else print(options.json, costs, () => costsText(costs, widthOf()));
  });
}

function refuseBoth({ csv, json, from, to }: CostsOptions): void {
  if (csv === true && json === true) {
    throw commandLineError({
      what: 'two forms of output are asked for',
      got: '--csv and --json',
      allowed: 'one of them',
      action: 'leave one out',
    });
  }
  if (from !== undefined && to !== undefined && from > to) {
    throw commandLineError({
      what: 'the days are the wrong way round',
      got: `--from ${from} --to ${to}`,
      allowed: 'a first day not after the last',
      action: 'swap them',
    });
  }
}

function day(text: string): string {
  const at = Date.parse(`${text}T00:00:00Z`);
  if (/^\d{4}-\d\d-\d\d$/u.test(text) && !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)) return text;
  throw new InvalidArgumentError('Allowed: a day as YYYY-MM-DD.');
}
